// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("§10 Who is there, on connections that last") struct IdentityConnectionTests {
  /// A WebSocket to which the server has said nothing yet.
  private func socket(_ server: TokenServer, query: String = "") throws -> WebSocketClient {
    try WebSocketClient(
      TestTransport.endpoint(port: server.server.port), target: "/events\(query)", tls: TestTransport.trust,
      timeout: LiveClient.patience)
  }

  private func next(_ socket: WebSocketClient) throws -> LiveMessage {
    switch try socket.receive(timeout: LiveClient.patience) {
    case .text(let bytes)?: return try LiveMessage(String(decoding: bytes, as: UTF8.self))
    case .closed(let frame)?: throw LiveClient.Failure.closed(frame)
    case let event?: throw LiveClient.Failure.unexpected(event)
    case nil: throw LiveClient.Failure.silence
    }
  }

  private func awaitClose(_ socket: WebSocketClient) throws -> CloseFrame {
    while true {
      switch try socket.receive(timeout: LiveClient.patience) {
      case .closed(let frame)?: return frame
      case nil: throw LiveClient.Failure.silence
      case _?: continue
      }
    }
  }

  @Test func `a token in the handshake says who is there`() throws {
    let server = try TokenServer { $0.required = true }
    let client = try LiveClient(
      server.server, query: "match=**", fields: TokenServer.fields(server.make("ann")))
    #expect(client.hello.type == "hello")
    #expect(try client.next { $0.type == "live" }.contains { $0.string("path") == "a" })
    #expect(throws: ClientError.self) {
      _ = try LiveClient(server.server, fields: TokenServer.fields("x"))
    }
  }

  @Test func `in a browser it is said first, and the subscription of the URL waits for it`() throws {
    let server = try TokenServer { $0.required = true }
    let token = try server.make("ann", expires: Timestamp(milliseconds: 4_102_444_800_000))
    let socket = try socket(server, query: "?match=**")
    for command in [#""type":"ping""#, #""type":"get","path":"a""#, #""type":"set","path":"a","value":2"#] {
      try socket.send(#"{"id":1,\#(command)}"#)
      let refusal = try next(socket)
      #expect(refusal.type == "error" && refusal.text.contains(#""code":"unauthenticated""#))
    }
    try socket.send(#"{"id":2,"type":"auth","token":"x"}"#)
    #expect(try next(socket).text.contains(#""code":"invalid_token""#))
    try socket.send(#"{"id":3,"type":"auth","token":"\#(token)"}"#)
    #expect(try next(socket).text == #"{"id":3,"type":"ok","auth":{"id":"ann","expires":"2100-01-01T00:00:00.000Z"}}"#)
    #expect(try next(socket).type == "hello")
    let ok = try next(socket)
    #expect(ok.type == "ok" && ok.int("subscription") == 1)
    #expect(try next(socket).string("path") == "a")
    #expect(server.server.store.contents == ["a": "1"])
  }

  @Test func `who says nothing in time is closed with 4401`() throws {
    let server = try TokenServer {
      $0.required = true
      $0.timeout = .milliseconds(50)
    }
    let socket = try socket(server)
    let frame = try awaitClose(socket)
    #expect(frame.code == .unauthenticated && frame.reason == "nobody has said in time who is there")
    // Who has said it stays.
    let client = try LiveClient(server.server, fields: TokenServer.fields(server.make("ann")))
    #expect(try client.next(within: .milliseconds(150)) == nil)
    #expect(try client.ask(#"{"id":1,"type":"ping"}"#).type == "ok")
  }

  @Test func `where it is not required, it can be said at any time`() throws {
    let server = try TokenServer()
    let token = try server.make("ann")
    let client = try LiveClient(server.server)
    #expect(try client.ask(#"{"id":1,"type":"get","path":"a"}"#).type == "ok")
    #expect(
      try client.ask(#"{"id":2,"type":"auth","token":"\#(token)"}"#).text
        == #"{"id":2,"type":"ok","auth":{"id":"ann"}}"#)
    try server.revoke("ann")
    #expect(try client.awaitClose().code == .unauthenticated)
  }

  @Test func `a connection belongs to one identity`() throws {
    let server = try TokenServer()
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    let client = try LiveClient(server.server, fields: TokenServer.fields(ann))
    let refusal = try client.ask(#"{"id":1,"type":"auth","token":"\#(bob)"}"#)
    #expect(refusal.text.contains(#""status":409,"code":"identity_mismatch""#))
    #expect(try client.ask(#"{"id":2,"type":"auth","token":"\#(ann)"}"#).type == "ok")
  }

  @Test(arguments: [
    #"{"id":1,"type":"auth"}"#, #"{"id":1,"type":"auth","token":1}"#, #"{"id":1,"type":"auth","token":"x","y":1}"#,
  ])
  func `a command that is none is refused`(_ text: String) throws {
    let client = try LiveClient(try TokenServer().server)
    #expect(try client.ask(text).text.contains(#""status":400"#))
  }

  @Test func `where there are no tokens, none is accepted`() throws {
    for server in [try TestServer(), try TestServer(authenticator: Authenticator())] {
      let client = try LiveClient(server)
      let refusal = try client.ask(#"{"id":1,"type":"auth","token":"x"}"#)
      #expect(refusal.text.contains(#""code":"invalid_token""#))
    }
  }

  @Test func `a client is reminded, renews, and stays`() throws {
    let server = try TokenServer()
    let client = try LiveClient(
      server.server, fields: TokenServer.fields(server.make("ann", expires: .inSeconds(50))))
    let reminder = try client.next()
    #expect(reminder.type == "authExpires")
    #expect((1...50).contains(try #require(reminder.int("in"))))
    // The new token has replaced the old one, so that this connection ends unless it is renewed by it.
    let other = try LiveClient(server.server, fields: TokenServer.fields(server.make("bob", expires: .inSeconds(3600))))
    let renewed = try server.make("bob", expires: .inSeconds(7200))
    try other.send(#"{"id":1,"type":"auth","token":"\#(renewed)"}"#)
    // Whichever of both the loop has seen first.
    do {
      #expect(try other.next().type == "ok")
    } catch LiveClient.Failure.closed(let frame) {
      #expect(frame.code == .unauthenticated)
    }
  }

  @Test func `a connection ends with its token, and a reminder comes once`() throws {
    let server = try TokenServer()
    let client = try LiveClient(
      server.server, query: "match=**", fields: TokenServer.fields(server.make("ann", expires: .inSeconds(2))))
    var reminders = 0
    do {
      while true { if try client.next().type == "authExpires" { reminders += 1 } }
    } catch LiveClient.Failure.closed(let frame) {
      #expect(frame.code == .unauthenticated && frame.reason == "the token has expired")
    }
    #expect(reminders == 1)
  }

  @Test func `an event stream ends with its token, and the connection goes on`() throws {
    let server = try TokenServer()
    let token = try server.make("ann", expires: .inSeconds(2))
    let stream = try EventStreamClient(server.server, query: "match=**", fields: TokenServer.fields(token))
    #expect(throws: EventStreamClient.Failure.self) {
      while true { _ = try stream.next() }
    }
    #expect(try server.request("GET", "/auth/me", token).code == "invalid_token")
  }

  @Test func `what is revoked ends its connections, and no others`() throws {
    let server = try TokenServer()
    let (ann, bob) = (try server.make("ann"), try server.make("bob"))
    let sockets = try (0..<20).map { index in
      try LiveClient(server.server, fields: TokenServer.fields(index % 2 == 0 ? ann : bob))
    }
    let stream = try EventStreamClient(server.server, query: "match=**", fields: TokenServer.fields(ann))
    try server.revoke("ann")
    for (index, client) in sockets.enumerated() {
      if index % 2 == 0 {
        let frame = try client.awaitClose()
        #expect(frame.code == .unauthenticated && frame.reason == "the token is not accepted any more")
      } else {
        #expect(try client.ask(#"{"id":1,"type":"ping"}"#).type == "ok")
      }
    }
    #expect(throws: EventStreamClient.Failure.self) {
      while true { _ = try stream.next() }
    }
  }

  @Test func `a ticket opens a WebSocket`() throws {
    let server = try TokenServer { $0.required = true }
    let response = try server.request("POST", "/auth/tickets", server.make("ann"))
    let ticket = try #require(LiveMessage(response.text).string("ticket"))
    let client = try LiveClient(server.server, query: "match=**&ticket=\(ticket)")
    #expect(client.hello.type == "hello")
    try server.revoke("ann")
    #expect(try client.awaitClose().code == .unauthenticated)
  }

  @Test func `connections that come and go leave nothing behind`() throws {
    let server = try TokenServer()
    let token = try server.make("ann")
    let kept = try LiveClient(server.server, fields: TokenServer.fields(token))
    for _ in 0..<50 {
      let client = try LiveClient(server.server, fields: TokenServer.fields(token))
      try client.socket.close()
    }
    try server.change { $0.requirements.audience = "x" }
    #expect(try kept.ask(#"{"id":1,"type":"ping"}"#).type == "ok")
    try server.revoke("ann")
    #expect(try kept.awaitClose().code == .unauthenticated)
  }
}
