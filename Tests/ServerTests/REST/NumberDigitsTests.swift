// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// One writer must not store what keeps every reader from reading a list.
@Suite("§8, digits of a number")
struct NumberDigitsTests {
  private static let most = String(repeating: "7", count: 1000)
  private let server: TestServer
  private let client: RawClient

  init() throws {
    server = try TestServer()
    try server.store.set("a", #"{"x":1}"#)
    client = try server.connect()
  }

  /// Every way for a value or a message to come in over HTTP: what stands around the number.
  static let requests: [(method: String, target: String, type: String, before: String, after: String)] = [
    ("PUT", "/properties/a", "application/json", "", ""),
    ("PUT", "/properties/b", "application/json", #"{"x":[-0."#, "]}"),
    ("PATCH", "/properties/a", "application/merge-patch+json", #"{"x":"#, "}"),
    ("PATCH", "/properties/a", "application/json-patch+json", #"[{"op":"add","path":"/y","value":"#, "}]"),
    ("POST", "/transactions", "application/json", #"{"operations":[{"op":"set","path":"a","value":"#, "}]}"),
    ("POST", "/signals/s", "application/json", "", ""),
    ("PUT", "/timers/t", "application/json", #"{"after":"1h","message":"#, "}"),
  ]

  @Test(arguments: requests)
  func `a body may have a number of a thousand digits, and none of one more`(
    method: String, target: String, type: String, before: String, after: String
  ) throws {
    let fields = [("Content-Type", type)]
    // The zero before a point is a digit, too.
    let digits = before.hasSuffix("0.") ? Self.most.dropLast() : Self.most[...]
    let contents = server.store.contents
    let refused = try client.request(method, target, fields: fields, body: "\(before)\(digits)7\(after)")
    #expect(refused.status == 400 && refused.code == "bad_json")
    #expect(try LiveMessage(refused.text).int("position") == before.utf8.count + digits.utf8.count)
    #expect(server.store.contents == contents && server.store.revision == 1)
    #expect(try client.request("GET", "/timers/t").status == 404)
    let taken = try client.request(method, target, fields: fields, body: "\(before)\(digits)\(after)")
    #expect([200, 201, 204].contains(taken.status), "\(taken.text)")
  }

  @Test(arguments: [
    #"{"id":1,"type":"set","path":"a","value":"#, #"{"id":1,"type":"patch","path":"a","merge":{"x":"#,
    #"{"id":1,"type":"send","path":"s","message":"#,
    #"{"id":1,"type":"onDisconnect","operations":[{"op":"set","path":"b","value":"#,
    #"{"id":1,"type":"transaction","operations":[{"op":"set","path":"a","value":"#,
  ])
  func `a command may have a number of a thousand digits, and none of one more`(before: String) throws {
    let after = String(before.reversed().compactMap { ["{": "}" as Character, "[": "]"][$0] })
    let live = try LiveClient(server)
    let refused = try live.ask("\(before)\(Self.most)7\(after)")
    #expect(refused.object("error")?.string("code") == "bad_json")
    #expect(refused.object("error")?.int("position") == before.utf8.count + 1000)
    #expect(server.store.revision == 1)
    #expect(try live.ask("\(before)\(Self.most)\(after)").type == "ok")
  }

  @Test func `the limit is the operator's`() throws {
    let server = try TestServer(live: LiveConfiguration(values: JSONLimits(digits: 30)))
    let client = try server.connect()
    let live = try LiveClient(server)
    let thirty = Self.most.prefix(30)
    #expect(try client.request("PUT", "/properties/a", body: "\(thirty)").status == 201)
    #expect(try client.request("PUT", "/properties/a", body: "1\(thirty)").code == "bad_json")
    let long = "[{\"op\":\"replace\",\"path\":\"\",\"value\":\(thirty)1}]"
    let patch = [("Content-Type", "application/json-patch+json")]
    #expect(try client.request("PATCH", "/properties/a", fields: patch, body: long).code == "bad_json")
    #expect(
      try live.ask(#"{"id":1,"type":"set","path":"a","value":1e\#(thirty)}"#).object("error")?.string("code")
        == "bad_json"
    )
    #expect(server.store.contents == ["a": "\(thirty)"])
  }

  @Test func `what is computed stays below it, and an exponent may be any`() throws {
    let computed = [("Content-Type", "application/cel")]
    for (path, formula) in [("f", "1.0 / 3.0"), ("g", "-9223372036854775807 - 1"), ("h", "-1.7976931348623157e+308")] {
      #expect(try client.request("PUT", "/properties/\(path)", fields: computed, body: formula).status == 201)
      let digits = try (server.store.text(path) ?? "").filter(\.isNumber).count
      #expect(digits > 15 && digits <= 20)
    }
    #expect(try client.request("PUT", "/properties/e", body: "1e999999").status == 201)
    #expect(try client.request("GET", "/properties/e").text == "1e999999")
  }
}
