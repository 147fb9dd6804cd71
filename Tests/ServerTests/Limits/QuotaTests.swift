// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// What may be beneath some paths (`docs/protocol.md` §8).
@Suite("§8 Quotas") struct QuotaRefusalTests {
  private let server: TestServer

  init() throws {
    server = try TestServer()
    server.store.setQuotas([try Quota("rooms/{room}/**", properties: 2, bytes: 10)])
    try server.store.transact(["rooms/r1/a": "1", "rooms/r1/b": "22", "x": "1"])
  }

  private static let problem =
    #""quota":{"match":"rooms/{room}/**","captures":{"room":"r1"},"of":"properties","allowed":2,"used":2}"#

  @Test func `a write too many is 507 and says which quota, for what, and how much there is`() throws {
    let client = try server.connect()
    let response = try client.request("PUT", "/properties/rooms/r1/c", body: "1")
    #expect(response.status == 507 && response.code == "quota_exceeded")
    #expect(
      response.text.contains(
        #"The quota \"rooms/{room}/**\" admits 2 properties for room \"r1\": there are 2, and 1 more would be too many."#
      ))
    #expect(response.text.contains(Self.problem) && response.text.contains(#""temporary":true"#))
    #expect(try client.request("GET", "/properties/rooms/r1/c").status == 404)
    #expect(try client.request("PUT", "/properties/rooms/r2/c", body: "1").status == 201)
    #expect(try client.request("PUT", "/properties/rooms/r1/b", body: "1").status == 204)
    let patch = try client.request(
      "PATCH", "/properties/rooms/r1/a", fields: [("Content-Type", "application/merge-patch+json")],
      body: #"{"name":"long"}"#)
    #expect(patch.status == 507 && patch.text.contains(#""of":"bytes","allowed":10,"used":2"#))
    #expect(try client.request("DELETE", "/properties/rooms/r1/b").status == 204)
    #expect(try client.request("PUT", "/properties/rooms/r1/c", body: "1").status == 201)
  }

  @Test func `a transaction that exceeds one changes nothing, and names the operation`() throws {
    let before = server.store.contents
    let response = try server.connect().request(
      "POST", "/transactions",
      body:
        #"{"operations":[{"op":"set","path":"x","value":2},{"op":"set","path":"rooms/r1/c","value":1}]}"#)
    #expect(response.status == 507 && response.code == "quota_exceeded" && response.text.contains(#""operation":1"#))
    #expect(server.store.contents == before)
  }

  @Test func `commands of the live protocol are refused alike`() throws {
    let client = try LiveClient(server)
    for command in [
      #"{"id":1,"type":"set","path":"rooms/r1/c","value":1}"#,
      #"{"id":1,"type":"set","path":"rooms/r1/c","value":1,"hold":true}"#,
    ] {
      try client.send(command)
      let error = try client.next()
      #expect(error.type == "error" && error.object("error")?.string("code") == "quota_exceeded")
      #expect(error.text.contains(Self.problem))
    }
  }

  @Test func `how much there is is told to those only who may read all of it`() throws {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(rules: [
        AccessRule(match: "rooms/{room}/**", conditions: ["set": "auth != null", "get": "auth.id == 'reader'"]),
        AccessRule(match: "rooms/{room}/own/{id}", conditions: ["read": "auth.id == id"]),
      ]))
    let tokens = try TokenServer(live: live)
    let store = tokens.server.store
    try store.transact(["rooms/r1/a": "1", "rooms/r1/own/writer": "1"])
    store.setQuotas([try Quota("rooms/{room}/**", properties: 2), try Quota("rooms/{room}/own/{id}", bytes: 5)])
    let (reader, writer) = (try tokens.make("reader"), try tokens.make("writer"))
    func put(_ path: String, _ token: String, _ body: String = "1") throws -> HTTPClientResponse {
      try tokens.request("PUT", "/properties/\(path)", token, body: body)
    }
    #expect(try put("rooms/r1/c", reader).text.contains(#""allowed":2,"used":2"#))
    let hidden = try put("rooms/r1/c", writer)
    #expect(hidden.status == 507 && hidden.text.contains(#""captures":{"room":"r1"},"of":"properties","allowed":2}"#))
    #expect(hidden.text.contains(#"admits 2 properties for room \"r1\", and there would be more."#))
    #expect(!hidden.text.contains("used") && !hidden.text.contains("there are"))
    // What is its own it may read as a whole.
    #expect(try put("rooms/r1/own/writer", writer, "123456").text.contains(#""allowed":5,"used":1"#))
    // Explaining says nothing of quotas.
    let explained = try tokens.request(
      "POST", "/access/explain", writer, body: #"{"operation":"set","path":"rooms/r1/c","value":1}"#)
    #expect(explained.status == 200 && explained.text.contains(#""allowed":true"#))
    #expect(!explained.text.contains("quota"))
  }
}
