// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// A server with rules.
private func server(_ rules: AccessRule...) throws -> TestServer {
  var live = LiveConfiguration()
  live.policy = try AccessPolicy(AccessRules(rules: rules))
  return try TestServer(live: live)
}

@Suite("Access, watching") struct AccessWatchingTests {
  private let open = AccessRule(match: "a/**", conditions: ["read": "value.open", "write": "true"])

  @Test func `a snapshot leaves out what is not visible`() throws {
    let server = try server(open)
    try server.store.transact(["a/1": #"{"open":true}"#, "a/2": #"{"open":false}"#, "b": #"{"open":true}"#])
    let client = try LiveClient(server)
    let messages = try client.subscribe(#""match":"**""#)
    #expect(messages.map(\.type) == ["ok", "didSet", "live"])
    #expect(messages[1].string("path") == "a/1")
  }

  @Test func `what becomes visible enters without a value before, and what becomes invisible exits without one`() throws
  {
    let server = try server(open)
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    try server.store.set("a/1", #"{"open":false,"n":1}"#)
    try server.store.set("a/1", #"{"open":true,"n":2}"#)
    try server.store.set("a/1", #"{"open":true,"n":3}"#)
    try server.store.set("a/1", #"{"open":false,"n":4}"#)
    try server.store.delete("a/1")
    try server.store.set("a/2", #"{"open":true,"n":5}"#)
    try server.store.delete("a/2")
    let texts = try client.settle().map(\.text)
    #expect(texts.count == 5)
    #expect(texts[0].contains(#""type":"didSet""#) && texts[0].contains(#""entered":true"#))
    #expect(texts[0].contains(#""n":2"#) && !texts[0].contains("oldValue"))
    #expect(texts[1].contains(#""n":3"#) && texts[1].contains("oldValue") && !texts[1].contains("entered"))
    #expect(texts[2].contains(#""type":"didExit""#) && texts[2].contains(#""reason":"access""#))
    #expect(!texts[2].contains(#""n":4"#) && !texts[2].contains(#""value""#))
    #expect(texts[3].contains(#""n":5"#) && !texts[3].contains("entered"))
    #expect(texts[4].contains("didDelete"))
  }

  @Test(arguments: [
    #""match":"**","pointer":"/n""#, #""match":"**","mode":"latest""#, #""match":"**","where":"value.n > 0""#,
    #""match":"**","where":"value.n > 0 && op == 'set'""#, #""match":"**","maxRate":"1000/s""#,
    #""match":"**","deadband":0.5,"pointer":"/n""#,
  ])
  func `no way of delivery shows what is hidden`(options: String) throws {
    let server = try server(open)
    try server.store.set("a/1", #"{"open":false,"n":911}"#)
    try server.store.set("a/2", #"{"open":true,"n":1}"#)
    let client = try LiveClient(server)
    var texts = try client.subscribe(options).map(\.text)
    for number in [912, 913] {
      try server.store.set("a/1", #"{"open":false,"n":\#(number)}"#)
      try server.store.set("a/2", #"{"open":true,"n":2}"#)
      texts += try client.settle().map(\.text)
      try server.store.set("a/2", #"{"open":false,"n":\#(number)}"#)
      texts += try client.settle().map(\.text)
    }
    #expect(!texts.contains { $0.contains("91") }, "\(texts)")
  }

  @Test func `resuming shows no more than watching`() throws {
    let server = try server(open)
    let client = try LiveClient(server)
    try server.store.set("a/1", #"{"open":false,"n":911}"#)
    try server.store.set("a/1", #"{"open":true,"n":2}"#)
    let texts = try client.subscribe(#""match":"**","since":"e.0""#).map(\.text)
    #expect(!texts.contains { $0.contains("911") }, "\(texts)")
    #expect(texts.contains { $0.contains(#""n":2"#) })
  }

  @Test func `nothing visible is refused, in the same words whatever is there`() throws {
    let server = try server(open)
    try server.store.set("b", "1")
    let client = try LiveClient(server)
    #expect(try client.subscribe(#""match":"b""#).map(\.description) == ["error 1 403 forbidden"])
    let there = try client.ask(#"{"id":1,"type":"get","path":"b"}"#)
    #expect(there.description == "error 1 403 forbidden")
    let missing = try client.ask(#"{"id":1,"type":"get","path":"c"}"#)
    #expect(there.text.replacing("\"b\\\"", with: "\"c\\\"") == missing.text)
  }

  @Test func `messages of signals are judged one by one`() throws {
    let server = try server(
      AccessRule(
        match: "s/**", conditions: ["listen": "message.open".replacing("message", with: "value"), "send": "true"]))
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"subscribe","signals":"**"}"#)
    _ = try client.next { $0.type == "live" }
    _ = try client.ask(#"{"id":2,"type":"send","path":"s/1","message":{"open":false,"n":911}}"#)
    _ = try client.ask(#"{"id":2,"type":"send","path":"s/1","message":{"open":true,"n":2}}"#)
    let texts = try client.settle().map(\.text)
    #expect(texts.count == 1 && texts[0].contains(#""n":2"#))
    #expect(try client.ask(#"{"id":3,"type":"send","path":"t","message":1}"#).description == "error 3 403 forbidden")
  }

  @Test func `a property decides about messages, however many commits there have been`() throws {
    let server = try server(
      AccessRule(
        match: "rooms/{room}/**", with: ["state": "rooms/{room}/state"],
        conditions: ["listen": "state == 'open'", "send": "true"]))
    for number in 1...10 { try server.store.set("count", "\(number)") }
    try server.store.transact(["rooms/1/state": #""open""#, "rooms/2/state": #""closed""#])
    let client = try LiveClient(server)
    try client.send(#"{"id":1,"type":"subscribe","signals":"rooms/**"}"#)
    _ = try client.next { $0.type == "live" }
    for room in [2, 1] { _ = try client.ask(#"{"id":2,"type":"send","path":"rooms/\#(room)/s","message":\#(room)}"#) }
    #expect(try client.settle().compactMap { $0.string("path") } == ["rooms/1/s"])
  }

  @Test func `who may see a property by a commit is not told what it held before`() throws {
    let server = try server(
      AccessRule(
        match: "rooms/{room}/**", with: ["state": "rooms/{room}/state"], conditions: ["read": "state == 'open'"]),
      AccessRule(match: "other", conditions: ["read": "true"]))
    try server.store.transact(["rooms/1/state": #""closed""#, "rooms/1/topic": "911"])
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    try server.store.transact(["rooms/1/state": #""open""#, "rooms/1/topic": "1"])
    let messages = try client.next { $0.type == "live" }
    #expect(messages.map(\.type) == ["reset", "didSet", "didSet", "live"])
    #expect(!messages.contains { $0.text.contains("911") || $0.text.contains("closed") }, "\(messages.map(\.text))")
  }

  @Test func `a property that decides lets subscriptions begin anew when it changes`() throws {
    let server = try server(
      AccessRule(
        match: "rooms/{room}/**", with: ["state": "rooms/{room}/state"],
        conditions: ["read": "state == 'open' && path != 'rooms/' + room + '/state'"]))
    try server.store.transact(["rooms/1/topic": "1", "rooms/2/topic": "2", "rooms/2/state": #""open""#])
    let client = try LiveClient(server)
    let first = try client.subscribe(#""match":"**""#)
    #expect(first.compactMap { $0.string("path") } == ["rooms/2/topic"])
    try server.store.set("rooms/1/state", #""open""#)
    let second = try client.next { $0.type == "live" }
    #expect(second.first?.type == "reset" && second.first?.string("reason") == "access")
    #expect(second.compactMap { $0.string("path") } == ["rooms/1/topic", "rooms/2/topic"])
    try server.store.set("rooms/2/state", #""closed""#)
    #expect(try client.next { $0.type == "live" }.compactMap { $0.string("path") } == ["rooms/1/topic"])
    try server.store.set("rooms/2/topic", "911")
    try server.store.set("rooms/1/topic", "3")
    #expect(try client.settle().compactMap { $0.string("path") } == ["rooms/1/topic"])
  }

  @Test func `other rules count at once`() throws {
    let server = try server(open)
    try server.store.transact(["a/1": #"{"open":true}"#, "b": "1"])
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    var live = LiveConfiguration(hosts: ["*"])
    live.policy = try AccessPolicy(AccessRules(rules: [AccessRule(match: "b", conditions: ["read": "true"])]))
    try server.server.reload(server.server.configuration, live: live)
    let messages = try client.next { $0.type == "live" }
    #expect(messages.map(\.type) == ["reset", "didSet", "live"] && messages[1].string("path") == "b")
    #expect(try client.ask(#"{"id":1,"type":"get","path":"a/1"}"#).description == "error 1 403 forbidden")
    #expect(try client.ask(#"{"id":1,"type":"set","path":"a/1","value":1}"#).description == "error 1 403 forbidden")
  }

  @Test func `a reset says for whom a client can resume`() throws {
    let server = try server(open)
    try server.store.transact(["a/1": #"{"open":true}"#, "b": "1"])
    let client = try LiveClient(server)
    let first = try client.subscribe(#""match":"**""#)[0].string("audience")
    func allow(_ pattern: String) throws {
      var live = LiveConfiguration(hosts: ["*"])
      live.policy = try AccessPolicy(AccessRules(rules: [AccessRule(match: pattern, conditions: ["read": "true"])]))
      try server.server.reload(server.server.configuration, live: live)
    }
    try allow("c/**")
    let reset = try #require(try client.next { $0.type == "live" }.first { $0.type == "reset" })
    let second = try #require(reset.string("audience"))
    #expect(second != first)
    // Who has been told of nothing since must not pass for one who knows what the first saw.
    func types(_ audience: String, _ pattern: String) throws -> [String] {
      let cursor = "\(client.hello.string("epoch") ?? "").\(reset.revision)"
      let again = try LiveClient(server)
      let members = #""match":"\#(pattern)","since":"\#(cursor)","audience":"\#(audience)""#
      return try again.subscribe(members).map(\.type)
    }
    #expect(try types(second, "**") == ["ok", "live"])
    try allow("b")
    #expect(try types(second, "**") == ["ok", "reset", "didSet", "live"])
  }
}

@Suite("Access, writing around the rules") struct AccessWritingTests {
  @Test func `who may not delete sets nothing that ends by itself`() throws {
    let server = try server(
      AccessRule(match: "a/*", conditions: ["get": "true", "set": "true", "delete": "path == 'a/2'"]))
    try server.store.set("a/1", "1")
    let client = try server.connect()
    #expect(try client.request("DELETE", "/properties/a/1").status == 403)
    #expect(try client.request("PUT", "/properties/a/1?ttl=1h", body: "2").status == 403)
    let merge = [("Content-Type", "application/merge-patch+json")]
    #expect(try client.request("PATCH", "/properties/a/1?ttl=1h", fields: merge, body: "2").status == 403)
    #expect(try client.request("PUT", "/properties/a/2?ttl=1h", body: "2").status == 201)
    let live = try LiveClient(server)
    func set(_ path: String) throws -> String {
      try live.ask(#"{"id":1,"type":"set","path":"\#(path)","value":3,"hold":true}"#).description
    }
    #expect(try set("a/1") == "error 1 403 forbidden" && set("a/3") == "error 1 403 forbidden")
    #expect(try set("a/2").hasPrefix("ok"))
    #expect(try client.request("PUT", "/properties/a/1", body: "4").status == 204)
    #expect(server.store.contents == ["a/1": "4", "a/2": "3"])
  }

  @Test func `whoever may delete what is its own may hold it`() throws {
    let server = try server(
      AccessRule(
        match: "locks/*", conditions: ["get": "true", "set": "!exists || oldValue == 1", "delete": "oldValue == 1"]))
    let live = try LiveClient(server)
    func set(_ value: Int) throws -> String {
      try live.ask(#"{"id":1,"type":"set","path":"locks/a","value":\#(value),"hold":true}"#).description
    }
    #expect(try set(2) == "error 1 403 forbidden")
    #expect(try set(1).hasPrefix("ok"))
    #expect(try set(2) == "error 1 403 forbidden")
  }

  @Test func `a timer sends only what could be sent`() throws {
    let server = try server(
      AccessRule(match: "s/*", conditions: ["send": "value == 'ok'", "timer": "true"]),
      AccessRule(match: "t", conditions: ["timer": "true"]))
    let client = try server.connect()
    func set(_ path: String, _ message: String) throws -> Int {
      try client.request("PUT", "/timers/\(path)", body: #"{"after":"1h","message":\#(message)}"#).status
    }
    #expect(try set("s/1", #""ok""#) == 201 && set("s/1", #""bad""#) == 403 && set("t", "1") == 403)
    #expect(try client.request("GET", "/timers/s/1").text.contains(#""ok""#))
    #expect(try client.request("DELETE", "/timers/s/1").status == 204)
  }

  @Test func `a patch of what may not be read is refused, whatever is there`() throws {
    let server = try server(AccessRule(match: "a/*", conditions: ["read": "value.open", "write": "true"]))
    try server.store.set("a/1", #"{"secret":42}"#)
    let client = try server.connect()
    let merge = [("Content-Type", "application/merge-patch+json")]
    let there = try client.request("PATCH", "/properties/a/1", fields: merge, body: #"{"open":true}"#)
    let missing = try client.request("PATCH", "/properties/a/2", fields: merge, body: #"{"open":true}"#)
    #expect(there.status == 403 && there.text.replacing("a/1", with: "a/2") == missing.text)
    #expect(server.store.contents == ["a/1": #"{"secret":42}"#])
    #expect(try client.request("PUT", "/properties/a/1", body: #"{"open":true}"#).status == 204)
    #expect(try client.request("PATCH", "/properties/a/1", fields: merge, body: #"{"n":1}"#).status == 204)
  }
}

@Suite("Access, what is told at one time") struct AccessAtOnceTests {
  /// A room of which its members may know everything, on a server with tokens.
  private func room(_ conditions: [String: String]) throws -> TokenServer {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(
        rules: [
          AccessRule(match: "rooms/{room}/**", with: ["members": "rooms/{room}/members"], conditions: conditions)
        ]))
    let server = try TokenServer(live: live)
    try server.server.store.transact(["rooms/1/members": #"["ann"]"#, "rooms/1/topic": "1"])
    return server
  }

  @Test func `the history of a property is for whom other properties allow it now`() throws {
    let server = try room(["read": "auth.id in members"])
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    // Whoever may ask is told that there is none here.
    #expect(try server.request("GET", "/history/rooms/1/topic", ann).code == "no_history")
    #expect(try server.request("GET", "/history/rooms/1/topic", bob).code == "forbidden")
    #expect(try server.request("GET", "/history/rooms/1/topic").code == "unauthenticated")
    try server.server.store.set("rooms/1/members", #"["bob"]"#)
    #expect(try server.request("GET", "/history/rooms/1/topic", ann).code == "forbidden")
    #expect(try server.request("GET", "/history/rooms/1/topic", bob).code == "no_history")
    // What was there before might not be for them.
    let valued = try room(["read": "auth.id in members && value == 1"])
    let token = try valued.make("ann")
    #expect(try valued.request("GET", "/properties/rooms/1/topic", token).text == "1")
    #expect(try valued.request("GET", "/history/rooms/1/topic", token).code == "forbidden")
  }

  @Test func `numbers of watchers are for whom other properties allow it now, subscriptions to demand for nobody`()
    throws
  {
    let server = try room(["read": "true", "demand": "auth.id in members"])
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    let target = "/properties/rooms/1/topic?watchers=true"
    #expect(try server.request("GET", target, ann).value("Signal-Watchers") == "0")
    #expect(try server.request("GET", target, bob).code == "forbidden")
    #expect(try server.request("GET", target).code == "unauthenticated")
    let client = try LiveClient(server.server)
    #expect(try client.ask(#"{"id":1,"type":"auth","token":"\#(ann)"}"#).type == "ok")
    let found = try client.ask(#"{"id":2,"type":"get","path":"rooms/1/topic","watchers":true}"#)
    #expect(found.int("watchers") == 0)
    #expect(
      try client.ask(#"{"id":3,"type":"subscribe","demand":"rooms/1/topic"}"#).text.contains(#""code":"forbidden""#))
    try server.server.store.set("rooms/1/members", "[]")
    #expect(
      try client.ask(#"{"id":4,"type":"get","path":"rooms/1/topic","watchers":true}"#).text
        .contains(#""code":"forbidden""#))
    #expect(try server.request("GET", target, ann).code == "forbidden")
  }

  @Test func `who waits is told what other properties allow it when the answer comes`() throws {
    let server = try room(["read": "auth.id in members"])
    let token = try server.make("ann")
    for members in [#"["ann","bob"]"#, #"["bob"]"#] {
      let waiting = try server.server.connect(
        sending: "GET /properties/rooms/1/topic?until=value==2&wait=1m HTTP/1.1\r\nHost: x\r\n"
          + "Authorization: Bearer \(token)\r\n\r\n")
      try eventually { server.server.store.commits.observerCount == 1 }
      try server.server.store.set("rooms/1/members", members)
      try server.server.store.set("rooms/1/topic", "2")
      #expect(try waiting.receive().status == (members.contains("ann") ? 200 : 403))
      try eventually { server.server.store.commits.observerCount == 0 }
      try server.server.store.set("rooms/1/topic", "1")
    }
    #expect(
      try server.request("GET", "/properties/rooms/1/topic?until=value==2&wait=1m", token).code == "forbidden")
  }
}
