// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("REST §2.1, patches")
struct PatchTests {
  private let server: TestServer
  private let client: RawClient
  private static let merge = "application/merge-patch+json"
  private static let operations = "application/json-patch+json"

  init() throws {
    server = try TestServer()
    client = try server.connect()
  }

  private func patch(
    _ type: String?, _ body: String, query: String = "", _ fields: (String, String)...
  ) throws -> HTTPClientResponse {
    try client.request(
      "PATCH", "/properties/a\(query)", fields: fields + (type.map { [("Content-Type", $0)] } ?? []), body: body)
  }

  @Test func `a merge patch changes members, and the rest keeps its digits`() throws {
    try server.store.set("a", #"{"on":true,"level":80.50,"colour":{"r":255,"g":1E2}}"#)
    let response = try patch(Self.merge, #"{"on":null, "colour":{"r": 0.10}}"#)
    #expect(response.status == 204 && response.body.isEmpty)
    #expect(response.value("ETag") == "\"e.2\"" && response.value("Signal-Revision") == "e.2")
    #expect(try server.store.text("a") == #"{"level":80.50,"colour":{"r":0.10,"g":1E2}}"#)
  }

  @Test func `a JSON Patch changes what it names, and parameters of the media type do not matter`() throws {
    try server.store.set("a", #"{"n":9007199254740993,"list":[1,2]}"#)
    let response = try patch(
      Self.operations + ";charset=utf-8",
      #"[{"op":"test","path":"/list/0","value":1.0},{"op":"add","path":"/list/-","value":3}]"#)
    #expect(response.status == 204)
    #expect(try server.store.text("a") == #"{"n":9007199254740993,"list":[1,2,3]}"#)
  }

  @Test func `a merge patch makes what is not there, and a JSON Patch does not`() throws {
    let none = try patch(Self.operations, #"[{"op":"add","path":"","value":1}]"#)
    #expect(none.status == 404 && none.code == "not_found")
    let made = try patch(Self.merge, #"{"x":1,"y":null}"#)
    #expect(made.status == 201 && made.value("Location") == "/properties/a")
    #expect(try server.store.text("a") == #"{"x":1}"#)
  }

  @Test func `a patch that changes nothing is no change, unless that is asked for`() throws {
    try server.store.set("a", #"{"x":1}"#)
    #expect(try patch(Self.merge, #"{"x":1}"#).value("ETag") == "\"e.1\"")
    #expect(try patch(Self.merge, "{}", query: "?always=true").value("ETag") == "\"e.2\"")
  }

  @Test func `a patch has the conditions of PUT, and a time to live`() throws {
    try server.store.set("a", #"{"x":1}"#)
    #expect(try patch(Self.merge, #"{"x":2}"#, ("If-Match", "\"e.9\"")).status == 412)
    #expect(try patch(Self.merge, #"{"x":2}"#, query: "?if=value.x+>+5").status == 412)
    #expect(try patch(Self.merge, #"{"x":2}"#, query: "?if=value.x+==+1&ttl=1m", ("If-Match", "\"e.1\"")).status == 204)
    #expect(server.store.expiringCount == 1)
    #expect(try patch(Self.operations, #"[{"op":"replace","path":"/x","value":3}]"#).status == 204)
    #expect(server.store.expiringCount == 0)
  }

  @Test func `a patch that does not fit names the operation and shows what is there`() throws {
    try server.store.set("a", "[1]")
    let response = try patch(
      Self.operations, #"[{"op":"add","path":"/-","value":2},{"op":"test","path":"/0","value":2}]"#)
    #expect(response.status == 409 && response.code == "patch_conflict")
    #expect(response.value("Signal-Revision") == "e.1")
    let problem = try LiveMessage(response.text)
    #expect(problem.int("operation") == 1)
    #expect(problem.object("current")?.raw("value") == "[1]")
    #expect(server.store.revision == 1)
  }

  @Test(arguments: ["application/json", "text/plain", "application/merge-patch", "merge", nil])
  func `another media type is refused with those that are taken`(type: String?) throws {
    let response = try patch(type, "{}")
    #expect(response.status == 415 && response.code == "unsupported_patch")
    #expect(response.value("Accept-Patch") == "application/merge-patch+json, application/json-patch+json")
    let options = try client.request("OPTIONS", "/properties/a")
    #expect(options.value("Accept-Patch") == "application/merge-patch+json, application/json-patch+json")
    #expect(options.value("Allow")?.contains("PATCH") == true)
  }

  @Test func `the result is held to the limits of a value`() throws {
    var live = LiveConfiguration()
    live.values.bytes = 20
    live.values.depth = 3
    live.limits.patchOperations = 2
    live.limits.patchWork = 20
    let server = try TestServer(live: live)
    try server.store.set("a", #"{"x":[[]]}"#)
    let client = try server.connect()
    func code(_ type: String, _ body: String) throws -> String? {
      try client.request("PATCH", "/properties/a", fields: [("Content-Type", type)], body: body).code
    }
    #expect(try code(Self.merge, #"{"y":"0123456789"}"#) == "body_too_large")
    #expect(try code(Self.operations, #"[{"op":"add","path":"/y","value":"0123456789"}]"#) == "body_too_large")
    #expect(try code(Self.operations, #"[{"op":"add","path":"/x/0/-","value":[]}]"#) == "bad_patch")
    #expect(try code(Self.merge, #"{"x":{"y":{"z":[]}}}"#) == "bad_patch")
    let test = #"{"op":"test","path":"/x","value":[[]]}"#
    #expect(try code(Self.operations, "[\(test),\(test),\(test)]") == "too_many_operations")
    // Elements of different sizes are counted one by one.
    try server.store.set("a", "[[1],2,3,4,5,6,7,8,9]")
    let replace = #"{"op":"replace","path":"/8","value":0}"#
    #expect(try code(Self.operations, #"[{"op":"test","path":"/8","value":9},\#(replace)]"#) == "bad_patch")
    #expect(try server.store.text("a") == "[[1],2,3,4,5,6,7,8,9]")
  }

  @Test func `a patch over the live protocol is either kind`() throws {
    let live = try LiveClient(server)
    #expect(
      try live.ask(#"{"id":1,"type":"patch","path":"a","merge":{"x":1.50}}"#).description == "ok 1 @1 changed")
    #expect(
      try live.ask(#"{"id":2,"type":"patch","path":"a","operations":[{"op":"add","path":"/y","value":[2.0]}]}"#)
        .description == "ok 2 @2 changed")
    #expect(try server.store.text("a") == #"{"x":1.50,"y":[2.0]}"#)
    let conflict = try live.ask(#"{"id":3,"type":"patch","path":"a","operations":[{"op":"remove","path":"/z"}]}"#)
    #expect(conflict.description == "error 3 409 patch_conflict" && conflict.object("error")?.int("operation") == 0)
    #expect(
      try live.ask(#"{"id":4,"type":"patch","path":"a","merge":{"x":2},"if":"value.x == 7"}"#).description
        == "error 4 412 precondition_failed")
    #expect(
      try live.ask(#"{"id":5,"type":"patch","path":"a","merge":{"x":2},"ifMatch":"e.2","ttl":"1m"}"#).string("expires")
        == "2026-01-02T03:05:05.678Z")
  }

  /// Everyone counts in a member of one value, without any condition of its own.
  @Test func `no patch is lost, however many patch one property at once`() throws {
    try server.store.set("a", "{}")
    try concurrently(4) { [server] index in
      let client = try server.connect()
      for count in 1...50 {
        let response = try client.request(
          "PATCH", "/properties/a", fields: [("Content-Type", Self.merge)], body: #"{"m\#(index)":\#(count)}"#)
        #expect(response.status == 204)
      }
    }
    let value = try LiveMessage(server.store.text("a") ?? "")
    #expect((0..<4).map { value.int("m\($0)") } == [50, 50, 50, 50])
  }
}
