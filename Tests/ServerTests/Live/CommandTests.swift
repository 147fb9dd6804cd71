// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §3, commands and replies")
struct CommandTests {
  private let time = "2026-01-02T03:04:05.678Z"

  @Test func `the hello names epoch, revision and limits`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    #expect(
      try LiveClient(server).hello.text == """
        {"type":"hello","epoch":"e","revision":1,"limits":{"messageBytes":1114112,"subscriptions":128,"patterns":32,\
        "filterBytes":4096,"backlogBytes":1048576,"conflatedBytes":8388608}}
        """)
  }

  @Test func `the messages are as the document writes them`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    #expect(
      try client.ask(#"{"id":0,"type":"set","path":"a b/ü","value": {"n": 21.50} }"#).text
        == #"{"id":0,"type":"ok","revision":1,"changed":true}"#)
    #expect(
      try client.ask(#"{"id":9007199254740991,"type":"get","path":"a b/ü"}"#).text
        == #"{"id":9007199254740991,"type":"ok","path":"a b/ü","value":{"n":21.50},"revision":1,"time":"\#(time)"}"#)
    #expect(
      try client.subscribe(#""match":["**"],"where":"has(value.n)""#).map(\.text) == [
        #"{"id":1,"type":"ok","subscription":1,"revision":1}"#,
        #"{"type":"didSet","subscription":1,"path":"a b/ü","value":{"n":21.50},"revision":1,"time":"\#(time)"}"#,
        #"{"type":"live","subscription":1,"revision":1}"#,
      ])
    try server.store.set("a b/ü", #"{"n":1}"#)
    try server.store.transact(["x": #"{"n":2}"#, "a b/ü": "3"])
    try server.store.set("x", #"{"n":4}"#)
    try server.store.delete("x")
    #expect(
      try client.next(5).map(\.text) == [
        """
        {"type":"didSet","subscription":1,"path":"a b/ü","value":{"n":1},"oldValue":{"n":21.50},"revision":2,\
        "time":"\(time)"}
        """,
        """
        {"type":"didSet","subscription":1,"path":"x","value":{"n":2},"entered":true,"revision":3,"time":"\(time)",\
        "more":true}
        """,
        """
        {"type":"didExit","subscription":1,"path":"a b/ü","value":3,"oldValue":{"n":1},"op":"set","revision":3,\
        "time":"\(time)"}
        """,
        """
        {"type":"didSet","subscription":1,"path":"x","value":{"n":4},"oldValue":{"n":2},"revision":4,"time":"\(time)"}
        """,
        """
        {"type":"didExit","subscription":1,"path":"x","oldValue":{"n":4},"op":"delete","revision":5,"time":"\(time)"}
        """,
      ])
    #expect(try client.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).text == #"{"id":3,"type":"ok"}"#)
    #expect(
      try client.ask(#"{"id":5,"type":"delete","path":"a b/ü"}"#).text
        == #"{"id":5,"type":"ok","revision":6,"changed":true}"#)
    #expect(try client.ask(#"{"id":7,"type":"ping"}"#).text == #"{"id":7,"type":"ok","revision":6}"#)
  }

  @Test func `an error has the members of a problem but its type`() throws {
    let client = try LiveClient(try TestServer())
    let reply = try client.ask(#"{"id":3,"type":"subscribe","match":"a","where":"value >"}"#)
    #expect(reply.names == ["id", "type", "error"])
    let error = try #require(reply.object("error"))
    #expect(error.names == ["status", "code", "title", "detail", "position", "temporary"])
    #expect(error.int("position") == 7)
    #expect(error.bool("temporary") == false)
  }

  // MARK: Subscriptions

  @Test func `a subscription gets the smallest number that is not in use`() throws {
    let client = try LiveClient(try TestServer())
    func subscribe() throws -> Int? { try client.subscribe(#""match":"a""#)[0].int("subscription") }
    func unsubscribe(_ number: Int) throws {
      #expect(try client.ask(#"{"id":0,"type":"unsubscribe","subscription":\#(number)}"#).description == "ok 0")
    }
    #expect(try (0..<4).map { _ in try subscribe() } == [1, 2, 3, 4])
    try unsubscribe(3)
    try unsubscribe(1)
    #expect(try (0..<3).map { _ in try subscribe() } == [1, 3, 5])
  }

  @Test func `each subscription gets its own events`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a""#)
    _ = try client.subscribe(#""match":"b""#, id: 2)
    _ = try client.subscribe(#""match":["a","b"],"oldValue":false"#, id: 3)
    try server.store.set("a", "1")
    try server.store.set("b", "2")
    let events = try client.settle()
    #expect(
      Set(events.map(\.description))
        == ["didSet 1 a=1 @1", "didSet 2 b=2 @2", "didSet 3 a=1 @1", "didSet 3 b=2 @2"])
    #expect(events.count == 4)
  }

  @Test func `after the reply to unsubscribe no event comes`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    try server.store.set("a", "1")
    try client.send(#"{"id":2,"type":"unsubscribe","subscription":1}"#)
    _ = try client.next { $0.int("id") == 2 }
    try server.store.set("a", "2")
    #expect(try client.settle().isEmpty)
    #expect(
      try client.ask(#"{"id":3,"type":"unsubscribe","subscription":1}"#).description
        == "error 3 404 no_such_subscription")
  }

  @Test func `unsubscribing in the middle of a snapshot ends it`() throws {
    let server = try TestServer()
    let filler = String(repeating: "x", count: 60_000)
    for number in 0..<200 { try server.store.set("p/\(number)", #""\#(filler)""#) }
    let client = try LiveClient(server, receiveBuffer: 4096)
    try client.send(#"{"id":1,"type":"subscribe","match":"**"}"#)
    try client.send(#"{"id":2,"type":"unsubscribe","subscription":1}"#)
    let messages = try client.next { $0.int("id") == 2 }
    #expect(messages.count < 200)
    #expect(try client.settle().isEmpty)
    #expect(try client.subscribe(#""match":"p/7""#).count == 3)
  }

  @Test func `a subscription in the URL is confirmed without an id`() throws {
    let server = try TestServer()
    try server.store.set("kitchen/t", "1")
    try server.store.set("attic/t", "2")
    let client = try LiveClient(server, query: "match=kitchen/**&match=hall/*&where=value+%3E%200&oldValue=false")
    #expect(
      try client.next(3).map(\.description) == ["ok sub=1 @2", "didSet 1 kitchen/t=1 @1", "live 1 @2"])
    #expect(try client.subscribe(#""match":"x""#)[0].description == "ok 1 sub=2 @2")
    try server.store.set("kitchen/t", "3")
    #expect(try client.next().description == "didSet 1 kitchen/t=3 @3")
  }

  @Test func `since in the URL resumes`() throws {
    let server = try TestServer()
    for number in 1...3 { try server.store.set("a", "\(number)") }
    let client = try LiveClient(server, query: "match=a&since=e.2&initial=false")
    #expect(
      try client.next(3).map(\.description) == ["ok sub=1 @3 recovered", "didSet 1 a=3 was=2 @3", "live 1 @3"])
  }

  @Test func `as many subscriptions as allowed, and no more`() throws {
    var live = LiveConfiguration()
    live.limits.subscriptionsPerConnection = 3
    let server = try TestServer(live: live)
    let client = try LiveClient(server)
    for id in 1...3 { #expect(try client.subscribe(#""match":"a""#, id: id).last?.type == "live") }
    #expect(try client.subscribe(#""match":"a""#, id: 4)[0].description == "error 4 400 too_many_subscriptions")
    _ = try client.ask(#"{"id":5,"type":"unsubscribe","subscription":2}"#)
    #expect(try client.subscribe(#""match":"a""#, id: 6)[0].description == "ok 6 sub=2 @0")
  }

  // MARK: Writing

  @Test func `a client's own events come after the reply`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    // All in one go: the replies keep the order of the commands, and each comes before the event of its command.
    for id in 1...20 { try client.send(#"{"id":\#(id),"type":"set","path":"a","value":\#(id)}"#) }
    let messages = try client.next(40)
    #expect(messages.compactMap { $0.int("id") } == Array(1...20))
    #expect(messages.filter { $0.type == "didSet" }.map(\.revision) == Array(1...20))
    for id in 1...20 {
      let reply = messages.firstIndex { $0.int("id") == id }
      let event = messages.firstIndex { $0.type == "didSet" && $0.revision == id }
      #expect(try #require(reply) < #require(event))
    }
  }

  @Test func `set and delete say whether something has changed`() throws {
    let client = try LiveClient(try TestServer())
    let commands =
      [
        #"{"id":1,"type":"set","path":"a","value":1}"#: "ok 1 @1 changed",
        #"{"id":2,"type":"set","path":"a","value": 1 }"#: "ok 2 @1 changed=false",
        #"{"id":3,"type":"set","path":"a","value":1,"always":true}"#: "ok 3 @2 changed",
        #"{"id":4,"type":"set","path":"a","value":1,"always":false}"#: "ok 4 @2 changed=false",
        #"{"id":5,"type":"delete","path":"a"}"#: "ok 5 @3 changed",
        #"{"id":6,"type":"delete","path":"a"}"#: "error 6 404 not_found",
        #"{"id":7,"type":"get","path":"a"}"#: "error 7 404 not_found",
        #"{"id":8,"type":"ping"}"#: "ok 8 @3",
      ] as KeyValuePairs
    for (command, reply) in commands { #expect(try client.ask(command).description == reply) }
  }

  @Test func `a condition that fails changes nothing and tells what is there`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try LiveClient(server)
    let commands =
      [
        #"{"id":1,"type":"set","path":"a","value":2,"ifNoneMatch":"*"}"#: "error 1 412 precondition_failed",
        #"{"id":2,"type":"set","path":"a","value":2,"ifMatch":"e.0"}"#: "error 2 412 precondition_failed",
        #"{"id":3,"type":"set","path":"a","value":2,"ifMatch":"f.1"}"#: "error 3 412 precondition_failed",
        #"{"id":4,"type":"delete","path":"a","ifMatch":"e.7"}"#: "error 4 412 precondition_failed",
      ] as KeyValuePairs
    for (command, expected) in commands {
      let reply = try client.ask(command)
      #expect(reply.description == expected)
      #expect(reply.object("error")?.raw("current") == #"{"value":1,"revision":1,"time":"\#(time)"}"#)
      #expect(reply.object("error")?.raw("operation") == nil)
    }
    let absent = try client.ask(#"{"id":5,"type":"set","path":"b","value":2,"ifMatch":"e.1"}"#)
    #expect(absent.object("error")?.raw("current") == "null")
    #expect(server.store.contents == ["a": "1"])
    #expect(
      try client.ask(#"{"id":6,"type":"set","path":"a","value":2,"ifMatch":"e.1"}"#).description == "ok 6 @2 changed")
    #expect(
      try client.ask(#"{"id":7,"type":"set","path":"b","value":3,"ifNoneMatch":"*"}"#).description == "ok 7 @3 changed")
    #expect(try client.ask(#"{"id":8,"type":"delete","path":"a","ifMatch":"e.2"}"#).description == "ok 8 @4 changed")
  }

  @Test(arguments: [
    "1e400", "9007199254740993", "21.50", "-0.0", #"{"b":1,"a":2,"b":3}"#, #""\u00e9\/""#, "[]", "null",
  ])
  func `a value keeps its bytes through the live protocol`(_ value: String) throws {
    let client = try LiveClient(try TestServer())
    _ = try client.subscribe(#""match":"**""#)
    _ = try client.ask(#"{"id":1,"type":"set","path":"a","value": \#(value) }"#)
    #expect(try client.next().raw("value") == value)
    #expect(try client.ask(#"{"id":2,"type":"get","path":"a"}"#).raw("value") == value)
  }

  // MARK: Messages

  @Test func `text that is no command gets an error, with the id if one could be read, and the connection lives`()
    throws
  {
    let client = try LiveClient(try TestServer())
    let refusals =
      [
        "": "error 400 bad_json",
        "{": "error 400 bad_json",
        "[]": "error 400 bad_message",
        "17": "error 400 bad_message",
        "{}": "error 400 bad_message",
        #"{"type":"ping"}"#: "error 400 bad_message",
        #"{"id":1}"#: "error 1 400 bad_message",
        #"{"id":-1,"type":"ping"}"#: "error 400 bad_message",
        #"{"id":1.5,"type":"ping"}"#: "error 400 bad_message",
        #"{"id":9007199254740992,"type":"ping"}"#: "error 400 bad_message",
        #"{"id":"1","type":"ping"}"#: "error 400 bad_message",
        #"{"id":1,"type":7}"#: "error 1 400 bad_message",
        #"{"id":1,"type":"jump"}"#: "error 1 400 unknown_type",
        #"{"id":1,"type":"ping","path":"a"}"#: "error 1 400 unknown_member",
        #"{"id":1,"type":"subscribe","match":"a","exits":true}"#: "error 1 400 unknown_member",
      ] as KeyValuePairs
    for (message, reply) in refusals { #expect(try client.ask(message).description == reply, "\(message)") }
    #expect(try client.ask(#"{"id":2,"type":"ping"}"#).description == "ok 2 @0")
  }

  @Test func `a message with a great many members is refused as quickly as it came`() throws {
    let client = try LiveClient(try TestServer())
    let members = (0..<90_000).map { #""m\#($0)":0"# }.joined(separator: ",")
    let start = ContinuousClock.now
    #expect(try client.ask(#"{"id":1,"type":"ping",\#(members)}"#).description == "error 1 400 unknown_member")
    #expect(ContinuousClock.now - start < .seconds(30))
  }

  @Test func `of several members of one name the last counts`() throws {
    let client = try LiveClient(try TestServer())
    #expect(try client.ask(#"{"id":1,"type":"jump","id":2,"type":"ping"}"#).description == "ok 2 @0")
  }

  @Test func `the subprotocol is chosen when it is offered and not missed when none is`() throws {
    let server = try TestServer()
    func subprotocol(_ offered: [String]) throws -> String? {
      try WebSocketClient(
        TestTransport.endpoint(port: server.port), target: "/events", tls: TestTransport.trust, subprotocols: offered
      )
      .subprotocol
    }
    #expect(try subprotocol(["other", "signal.v1.json"]) == "signal.v1.json")
    #expect(try subprotocol(["other"]) == nil)
    #expect(try subprotocol([]) == nil)
  }

  @Test func `commands that arrive with the handshake are carried out`() throws {
    let server = try TestServer()
    let client = try server.connect()
    var frames: [UInt8] = []
    for id in 1...3 {
      FrameWriter.append(.text, Array(#"{"id":\#(id),"type":"ping"}"#.utf8), mask: .random(), to: &frames)
    }
    try client.send(
      Array(
        """
        GET /events HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n
        """.utf8) + frames)
    let received = try client.receive(upTo: #"{"id":3,"type":"ok","revision":0}"#)
    #expect(received.hasPrefix("HTTP/1.1 101 "))
    #expect(received.contains(#"{"type":"hello","#))
    for id in 1...3 { #expect(received.contains(#"{"id":\#(id),"type":"ok","revision":0}"#)) }
  }

  @Test(arguments: [
    (#"{"id":7,"type":"set","path":"a","value":\#(String(repeating: "1", count: 1001))}"#, 7),
    (#"{"type":"set","path":"a","value":\#(String(repeating: "[", count: 400)),"id":8}"#, nil),
    (#"{"type":"set","path":"a","value":\#("[400]".nested(400)),"id":8}"#, 8),
    (#"{"id":9,"type":"set","path":"a","value":{"b":"}\\"","c":tru}}"#, 9),
    (#"{"id":"x","type":"set","path":"a","value":tru}"#, nil),
    (#"{"value":{"id":3},"type":[tru]}"#, nil),
  ])
  func `a message that cannot be read is refused with its id`(text: String, id: Int?) throws {
    let client = try LiveClient(TestServer())
    let reply = try client.ask(text)
    #expect(reply.type == "error" && reply.int("id") == id)
    #expect(reply.text.contains(#""code":"bad_json""#))
    #expect(try client.ask(#"{"id":1,"type":"ping"}"#).type == "ok")
  }

  @Test(arguments: [
    (#""type":"set","path":"a/\ud800","value":1"#, "bad_path"), (#""type":"get","path":"\udc00a""#, "bad_path"),
    (#""type":"send","path":"a/\ud800b","message":1"#, "bad_path"),
    (#""type":"subscribe","match":["a","b/\ud800\ud801"]"#, "bad_pattern"),
    (#""type":"transaction","operations":[{"op":"set","path":"\udfff","value":1}]"#, "bad_path"),
  ])
  func `half of a surrogate pair is in no path`(command: String, code: String) throws {
    let client = try LiveClient(TestServer())
    #expect(try client.ask(#"{"id":1,\#(command)}"#).text.contains("\"code\":\"\(code)\""))
    // A whole one is, and stays what it is in values.
    #expect(try client.ask(#"{"id":2,"type":"set","path":"a/\ud83d\ude00","value":"\ud800"}"#).type == "ok")
    #expect(try client.ask(#"{"id":3,"type":"get","path":"a/😀"}"#).raw("value") == #""\ud800""#)
  }
}

extension String {
  /// In so many arrays.
  fileprivate func nested(_ depth: Int) -> String {
    String(repeating: "[", count: depth) + self + String(repeating: "]", count: depth)
  }
}
