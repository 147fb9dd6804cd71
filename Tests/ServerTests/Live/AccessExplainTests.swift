// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// `POST /access/explain`: what is decided, told to those who may know it.
@Suite("Access, explaining over HTTP (§10.6)") struct AccessExplainTests {
  private let server: TokenServer
  private let ann: String
  private let admin: String

  init() throws {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(
        admin: "auth.role == 'admin'",
        rules: [
          AccessRule(match: "users/{id}/**", conditions: ["read": "auth.sub == id", "write": "auth.sub == id"]),
          AccessRule(match: "drop/**", conditions: ["set": "!exists", "send": "true"]),
          AccessRule(
            match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"],
            conditions: ["read": "auth.sub in members", "set": "auth.sub in members"]),
          AccessRule(match: "here", conditions: ["get": "request.tls || request.origin == 'https://app.example'"]),
        ]))
    server = try TokenServer(live: live)
    ann = try server.make("ann-1", claims: #"{"sub":"ann"}"#)
    admin = try server.make("root", claims: #"{"role":"admin"}"#)
    try server.server.store.transact([
      "users/bob/x": "911", "drop/1": "911", "rooms/1/members": #"["bob"]"#, "rooms/2/members": #"["ann"]"#,
      "rooms/1/topic": "911",
    ])
  }

  private func explain(_ body: String, _ token: String?) throws -> LiveMessage {
    let response = try server.request("POST", "/access/explain", token, body: body)
    #expect(response.status == 200 && response.value("Content-Type") == "application/json", "\(response.text)")
    return try LiveMessage(response.text)
  }

  @Test func `administrators are told everything about everybody`() throws {
    let answer = try explain(
      #"{"as":{"sub":"ann"},"operation":"set","path":"users/bob/x","value":1}"#, admin)
    #expect(
      answer.text == """
        {"allowed":false,"reason":"No rule allows it.","entries":[{"rule":1,"match":"users/{id}/**","captures":{"id":"bob"},\
        "condition":"write","because":"auth.sub == id","result":"nothing","values":{"auth.sub":"ann","id":"bob"}}]}
        """)
    let room = try explain(#"{"as":{"sub":"bob"},"operation":"get","path":"rooms/1/topic"}"#, admin)
    #expect(room.bool("allowed") == true && room.text.contains(#""members":["bob"]"#))
    let unknown = try explain(#"{"as":null,"operation":"get","path":"rooms/1/topic"}"#, admin)
    #expect(unknown.bool("allowed") == false && unknown.text.contains(#""failure":""#))
    let own = try explain(#"{"operation":"define","path":"x"}"#, admin)
    #expect(
      own.text == #"{"allowed":true,"reason":"Administrators may do everything.","administrator":true,"entries":[]}"#)
    // The server that decides is the one that explains: as ann, and as the request would be.
    for (path, status) in [
      ("users/ann/x", 404), ("users/bob/x", 403), ("rooms/1/topic", 403), ("rooms/2/members", 200),
    ] {
      let told = try explain(#"{"as":{"sub":"ann"},"operation":"get","path":"\#(path)"}"#, admin)
      #expect(told.bool("allowed") == (status != 403), "\(path)")
      #expect(try server.request("GET", "/properties/\(path)", ann).status == status)
    }
  }

  @Test func `another request can be assumed`() throws {
    func told(_ request: String) throws -> Bool? {
      try explain(#"{"as":null,"operation":"get","path":"here","request":\#(request)}"#, admin).bool("allowed")
    }
    #expect(try told(#"{"tls":true}"#) == true)
    #expect(try told(#"{"origin":"https://app.example","ip":"10.0.0.1"}"#) == true)
    #expect(try told(#"{"origin":"https://evil.example"}"#) == false)
  }

  @Test func `others are told about themselves alone`() throws {
    let answer = try explain(#"{"operation":"get","path":"users/bob/x"}"#, ann)
    #expect(answer.bool("allowed") == false && answer.text.contains(#""values":{"auth.sub":"ann","id":"bob"}"#))
    // Strangers need not know what the rules are.
    #expect(
      try explain(#"{"operation":"get","path":"users/bob/x"}"#, nil).text
        == #"{"allowed":false,"reason":"No rule allows it.","entries":[]}"#)
    #expect(
      try explain(#"{"operation":"watch","path":"**"}"#, nil).text
        == #"{"allowed":false,"reason":"Nothing of it is visible.","visible":"none","entries":[]}"#)
    for body in [
      #"{"as":{"sub":"bob"},"operation":"get","path":"a"}"#, #"{"as":null,"operation":"get","path":"a"}"#,
      #"{"as":{"sub":"ann"},"operation":"get","path":"a"}"#, #"{"request":{},"operation":"get","path":"a"}"#,
    ] {
      let refused = try server.request("POST", "/access/explain", ann, body: body)
      #expect(refused.status == 403 && refused.code == "forbidden", "\(body)")
      let unknown = try server.request("POST", "/access/explain", body: body)
      #expect(unknown.status == 401 && unknown.code == "unauthenticated", "\(body)")
    }
  }

  @Test func `what the caller may not get is not told, nor whether there is something`() throws {
    for operation in ["get", "list", "watch", "delete", "define", "timer"] {
      for path in ["users/bob/", "rooms/1/", "drop/"] {
        let there = try explain(#"{"operation":"\#(operation)","path":"\#(path)x"}"#, ann).text
        let missing = try explain(#"{"operation":"\#(operation)","path":"\#(path)y"}"#, ann).text
        #expect(there.replacing("x\"", with: "y\"") == missing)
      }
    }
    // Setting it would tell, and leave a trace; this leaves none.
    let drop = try explain(#"{"operation":"set","path":"drop/1","value":1}"#, ann)
    #expect(drop.raw("allowed") == "null" && drop.text.contains(#""result":"unknown""#))
    #expect(drop.text.contains(#""withheld":["exists"]"#))
    let free = try explain(#"{"operation":"set","path":"drop/2","value":1}"#, ann)
    #expect(free.text.replacing("drop/2", with: "drop/1") == drop.text)
    // Who decides about a room is told to its members.
    let room = try explain(#"{"operation":"set","path":"rooms/1/topic","value":1}"#, ann)
    #expect(room.raw("allowed") == "null" && room.text.contains(#""withheld":["members"]"#))
    #expect(!room.text.contains("bob") && !room.text.contains("911"))
    let own = try explain(#"{"operation":"set","path":"rooms/2/topic","value":1}"#, ann)
    #expect(own.bool("allowed") == true && own.text.contains(#""members":["ann"]"#))
    #expect(server.server.store.contents.count == 6)
  }

  @Test func `a pattern is visible, in part, or not at all`() throws {
    func told(_ path: String, _ token: String?, _ more: String = "") throws -> LiveMessage {
      try explain(#"{"operation":"watch","path":"\#(path)"\#(more)}"#, token)
    }
    #expect(try told("users/ann/**", ann).string("visible") == "all")
    let users = try told("users/**", ann)
    #expect(users.string("visible") == "some" && users.raw("patterns") == #"["users/ann/**"]"#)
    #expect(users.bool("allowed") == true)
    let none = try told("users/bob/**", ann)
    #expect(none.string("visible") == "none" && none.bool("allowed") == false)
    // What decides about a room may not be told to others than administrators.
    #expect(try told("rooms/1/**", ann).string("visible") == "some")
    #expect(try told("rooms/1/**", admin, #","as":{"sub":"ann"}"#).string("visible") == "none")
    #expect(try told("rooms/2/**", admin, #","as":{"sub":"ann"}"#).string("visible") == "all")
  }

  @Test func `without rules everything is allowed`() throws {
    let response = try TestServer().connect().request(
      "POST", "/access/explain", body: #"{"as":{"sub":"x"},"operation":"get","path":"a"}"#)
    #expect(response.status == 200)
    #expect(try LiveMessage(response.text).bool("allowed") == true)
  }
}
