// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// What callers with tokens may do over HTTP and WebSockets.
@Suite("Access, by identity") struct AccessIdentityTests {
  private let server: TokenServer
  private let ann: String
  private let bob: String

  init() throws {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(
        admin: "auth.role == 'admin'",
        rules: [
          AccessRule(
            match: "users/{id}/**", conditions: ["read": "auth.sub == id", "write": "auth.sub == id"],
            validate: "value != 911"),
          AccessRule(match: "drop/**", conditions: ["write": "auth != null", "send": "auth != null"]),
          AccessRule(match: "public/**", conditions: ["read": "true", "define": "auth != null"]),
          AccessRule(
            match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"],
            conditions: [
              "read": "auth.sub in members", "set": "auth.sub in members && (!exists || oldValue != 'locked')",
            ]),
        ]))
    server = try TokenServer(live: live)
    ann = try server.make("ann-1", claims: #"{"sub":"ann"}"#)
    bob = try server.make("bob-1", claims: #"{"sub":"bob"}"#)
  }

  private func client(_ token: String) throws -> LiveClient {
    try LiveClient(server.server, fields: TokenServer.fields(token))
  }

  @Test func `each sees and writes what is theirs, and nobody else does`() throws {
    #expect(try server.request("PUT", "/properties/users/ann/x", ann, body: "1").status == 201)
    #expect(try server.request("GET", "/properties/users/ann/x", ann).text == "1")
    #expect(try server.request("GET", "/properties/users/ann/x", bob).status == 403)
    #expect(try server.request("PUT", "/properties/users/ann/x", bob, body: "2").status == 403)
    let unknown = try server.request("GET", "/properties/users/ann/x")
    #expect(unknown.status == 401 && unknown.value("WWW-Authenticate") == #"Bearer realm="signal""#)
    let admin = try server.make("root", claims: #"{"role":"admin"}"#)
    #expect(try server.request("GET", "/properties/users/ann/x", admin).text == "1")
    #expect(try server.request("PUT", "/properties/users/ann/x", ann, body: "911").status == 422)
    #expect(try server.server.store.text("users/ann/x") == "1")
  }

  @Test(arguments: ["GET", "PUT", "DELETE", "PATCH"])
  func `a refusal is the same whether there is something or not`(method: String) throws {
    try server.server.store.set("users/ann/x", "1")
    let fields = method == "PATCH" ? [("Content-Type", "application/merge-patch+json")] : []
    func refusal(_ path: String) throws -> String {
      let body = method == "GET" || method == "DELETE" ? nil : "2"
      let response = try server.request(method, "/properties/\(path)", bob, fields: fields, body: body)
      return "\(response.status) \(response.text.replacing(path, with: ""))"
    }
    let there = try refusal("users/ann/x")
    #expect(there.hasPrefix("403"))
    #expect(try refusal("users/ann/y") == there)
  }

  @Test func `who may write but not read learns nothing by writing`() throws {
    try server.server.store.set("drop/old", "1")
    func put(_ path: String, _ fields: [(String, String)] = [], query: String = "") throws -> HTTPClientResponse {
      try server.request("PUT", "/properties/\(path)\(query)", ann, fields: fields, body: "1")
    }
    for path in ["drop/old", "drop/new"] {
      let response = try put(path)
      #expect(response.status == 204 && response.value("ETag") == nil, "\(path)")
      #expect(try put(path, [("If-None-Match", "*")]).status == 403)
      #expect(try put(path, query: "?if=value+==+1").status == 403)
    }
    for path in ["drop/old", "drop/none"] {
      #expect(try server.request("DELETE", "/properties/\(path)", ann).status == 204)
    }
    let live = try client(ann)
    let fresh = try live.ask(#"{"id":1,"type":"set","path":"drop/a","value":1}"#)
    let again = try live.ask(#"{"id":1,"type":"set","path":"drop/a","value":1}"#)
    #expect(fresh.bool("changed") == true && again.bool("changed") == true)
    // A formula shows what it reads.
    let formula = [("Content-Type", "application/cel")]
    #expect(
      try server.request(
        "PUT", "/properties/public/f", ann, fields: formula, body: #"properties["users/bob/x"]"#
      ).status == 403)
    #expect(
      try server.request(
        "PUT", "/properties/public/f", ann, fields: formula, body: #"properties["public/x"]"#
      ).status == 201)
  }

  @Test func `a list and a subscription to everything show what each may see`() throws {
    try server.server.store.transact(["users/ann/x": "1", "users/bob/x": "2", "public/x": "3", "other": "4"])
    #expect(
      try server.request("GET", "/properties?match=**", ann).text.matches(of: #/"path":"([a-z\/]+)"/#).map { $0.1 }
        == ["public/x", "users/ann/x"])
    #expect(try server.request("GET", "/properties?match=users/**").status == 401)
    let (annSees, bobSees) = (try client(ann), try client(bob))
    #expect(try annSees.subscribe(#""match":"**""#).compactMap { $0.string("path") } == ["public/x", "users/ann/x"])
    #expect(try bobSees.subscribe(#""match":"**""#).compactMap { $0.string("path") } == ["public/x", "users/bob/x"])
    try server.server.store.transact(["users/ann/x": "5", "users/bob/x": "6", "other": "7"])
    #expect(try annSees.settle().compactMap { $0.string("path") } == ["users/ann/x"])
    #expect(try bobSees.settle().compactMap { $0.string("path") } == ["users/bob/x"])
  }

  @Test func `members of a room come and go`() throws {
    try server.server.store.transact(["rooms/1/members": #"["bob"]"#, "rooms/1/topic": "1"])
    let client = try client(ann)
    #expect(try client.subscribe(#""match":"rooms/**""#).compactMap { $0.string("path") } == [])
    #expect(try server.request("PUT", "/properties/rooms/1/topic", ann, body: "2").status == 403)
    try server.server.store.set("rooms/1/members", #"["bob","ann"]"#)
    let anew = try client.next { $0.type == "live" }.drop { $0.type != "reset" }
    #expect(anew.compactMap { $0.string("path") } == ["rooms/1/members", "rooms/1/topic"])
    #expect(try server.request("PUT", "/properties/rooms/1/topic", ann, body: #""locked""#).status == 204)
    #expect(try server.request("PUT", "/properties/rooms/1/topic", ann, body: "3").status == 403)
    _ = try client.settle()
    try server.server.store.set("rooms/1/members", "[]")
    #expect(try client.next { $0.type == "live" }.drop { $0.type != "reset" }.map(\.type) == ["reset", "live"])
    try server.server.store.set("rooms/1/topic", "4")
    #expect(try client.settle().isEmpty)
  }

  @Test func `resuming needs the audience that was told`() throws {
    try server.server.store.transact(["users/ann/x": "1", "public/x": "3"])
    let first = try client(ann).subscribe(#""match":"**""#)
    let audience = try #require(first[0].string("audience"))
    let cursor = "e.\(try #require(first.last?.revision))"
    try server.server.store.set("users/ann/x", "2")
    func resume(_ token: String, _ members: String) throws -> [String] {
      try client(token).subscribe(#""match":"**","since":"\#(cursor)"\#(members)"#).map(\.type)
    }
    #expect(try resume(ann, #","audience":"\#(audience)""#) == ["ok", "didSet", "live"])
    #expect(try resume(ann, "") == ["ok", "reset", "didSet", "didSet", "live"])
    #expect(try resume(bob, #","audience":"\#(audience)""#) == ["ok", "reset", "didSet", "live"])
  }

  @Test func `what a connection leaves for its end is judged`() throws {
    let client = try client(ann)
    func register(_ path: String) throws -> String {
      try client.ask(
        #"{"id":1,"type":"onDisconnect","operations":[{"op":"set","path":"\#(path)","value":1}]}"#
      ).description
    }
    #expect(try register("users/bob/gone") == "error 1 403 forbidden")
    #expect(try register("users/ann/gone") == "ok 1")
  }

  @Test func `a transaction with one refused operation changes nothing`() throws {
    let client = try client(ann)
    let refusal = try client.ask(
      #"{"id":1,"type":"transaction","operations":[{"op":"set","path":"users/ann/a","value":1},{"op":"set","path":"users/bob/a","value":1}]}"#
    )
    #expect(refusal.description == "error 1 403 forbidden" && refusal.text.contains(#""operation":1"#))
    #expect(server.server.store.contents == ["a": "1"])
  }
}
