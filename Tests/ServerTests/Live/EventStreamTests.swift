// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §5, server-sent events")
struct EventStreamTests {
  @Test func `the first event is the ok of the subscription, then snapshot and live`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let stream = try EventStreamClient(server, query: "match=**")
    #expect(stream.response.status == 200)
    #expect(stream.response.value("Content-Type") == "text/event-stream")
    #expect(stream.response.value("Cache-Control") == "no-store")
    #expect(stream.response.value("Transfer-Encoding") == "chunked")
    #expect(try stream.next(3).map(\.description) == ["ok sub=1 @1", "didSet 1 a=1 @1", "live 1 @1 #e.1"])
  }

  @Test func `each event is one block with one line of data`() throws {
    let server = try TestServer()
    let client = try server.connect()
    #expect(try client.http.open("GET", "/events?match=**").status == 200)
    var text = ""
    while !text.contains("live") { text += String(decoding: try #require(try client.http.nextPiece()), as: UTF8.self) }
    try server.store.set("a", #""line\nfeed""#)
    while !text.contains("didSet") || !text.hasSuffix("\n\n") {
      text += String(decoding: try #require(try client.http.nextPiece()), as: UTF8.self)
    }
    let expected = """
      data: {"type":"ok","subscription":1,"revision":0}

      id: e.0
      data: {"type":"live","subscription":1,"revision":0}

      data: {"type":"didSet","subscription":1,"path":"a","value":"line\\nfeed","revision":1,"time":"2026-01-02T03:04:05.678Z"}
      id: e.1


      """
    #expect(text == expected)
  }

  @Test func `the parameters are those of subscribe`() throws {
    let server = try TestServer()
    try server.store.transact(["a/1": "5", "a/2": "15", "b": "25"])
    let stream = try EventStreamClient(
      server, query: "match=a/*&match=c&where=value%20%3e%2010&initial=true&exit=false&oldValue=false")
    #expect(try stream.next(3).map(\.description) == ["ok sub=1 @1", "didSet 1 a/2=15 @1", "live 1 @1 #e.1"])
    try server.store.set("a/2", "3")
    try server.store.set("c", "30")
    try server.store.delete("c")
    #expect(try stream.next(2).map(\.description) == ["didSet 1 c=30 entered @3 #e.3", "didDelete 1 c @4 #e.4"])
  }

  @Test func `since resumes`() throws {
    let server = try TestServer()
    for number in 1...3 { try server.store.set("a", "\(number)") }
    let stream = try EventStreamClient(server, query: "match=a&since=e.1")
    #expect(
      try stream.next(4).map(\.description) == [
        "ok sub=1 @3 recovered", "didSet 1 a=2 was=1 @2 #e.2", "didSet 1 a=3 was=2 @3 #e.3", "live 1 @3 #e.3",
      ])
  }

  @Test func `Last-Event-ID wins over since`() throws {
    let server = try TestServer()
    for number in 1...3 { try server.store.set("a", "\(number)") }
    let stream = try EventStreamClient(server, query: "match=a&since=e.0", fields: [("Last-Event-ID", "e.2")])
    #expect(
      try stream.next(3).map(\.description)
        == ["ok sub=1 @3 recovered", "didSet 1 a=3 was=2 @3 #e.3", "live 1 @3 #e.3"])
  }

  @Test func `a cursor that cannot be served brings reset and the state, none of them with an id before live`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let stream = try EventStreamClient(server, query: "match=a&initial=false", fields: [("Last-Event-ID", "old.9")])
    #expect(
      try stream.next(4).map(\.description)
        == ["ok sub=1 @1 recovered=false", "reset 1 @1 epoch", "didSet 1 a=1 @1", "live 1 @1 #e.1"])
  }

  @Test func `a client of HTTP 1.0 gets the events without chunks until the end of the connection`() throws {
    let server = try TestServer()
    let client = try server.connect(sending: "GET /events?match=** HTTP/1.0\r\n\r\n")
    let begin = try client.receive(upTo: #""type":"live""#)
    try server.store.set("a", "1")
    let text = begin + (try client.receive(upTo: "id: e.1\n\n"))
    let parts = text.split(separator: "\r\n\r\n", maxSplits: 1)
    #expect(parts[0].hasPrefix("HTTP/1.1 200 OK\r\n"))
    #expect(parts[0].contains("\r\nConnection: close"))
    #expect(!parts[0].contains("Transfer-Encoding"))
    #expect(parts[1].hasPrefix(#"data: {"type":"ok""#))
    #expect(parts[1].contains(#""path":"a","value":1"#))
    server.server.shutdown()
    #expect(client.awaitEnd())
  }

  @Test func `HEAD is answered with the head alone, and subscribes to nothing`() throws {
    let server = try TestServer()
    let client = try server.connect()
    for _ in 0..<2 {
      let response = try client.request("HEAD", "/events?match=a")
      #expect(response.status == 200 && response.body.isEmpty && response.values("Connection").isEmpty)
      #expect(response.value("Content-Type") == "text/event-stream" && response.value("Cache-Control") == "no-store")
    }
    #expect(try client.request("GET", "/properties/a?watchers=true").value("Signal-Watchers") == "0")
    #expect(try client.request("HEAD", "/events").status == 400)
    #expect(try client.request("HEAD", "/events?match=a", fields: [("Accept", "text/html")]).status == 406)
    let old = try server.connect(sending: "HEAD /events?match=a HTTP/1.0\r\n\r\n")
    #expect(String(decoding: try old.receiveToEnd(), as: UTF8.self).hasSuffix("\r\nConnection: close\r\n\r\n"))
  }

  @Test func `a stream that the server ends has its last chunk`() throws {
    let server = try TestServer()
    let stream = try EventStreamClient(server, query: "match=**")
    _ = try stream.next(2)
    server.server.shutdown()
    #expect(try stream.rest().last?.comment == "the server shuts down")
  }

  @Test func `streams that clients have left do not disturb those that stay`() throws {
    let server = try TestServer(loops: 1)
    for _ in 0..<50 {
      let stream = try EventStreamClient(server, query: "match=**")
      _ = try stream.next(2)
    }
    let stream = try EventStreamClient(server, query: "match=**")
    _ = try stream.next(2)
    try server.store.set("a", "1")
    #expect(try stream.next().description == "didSet 1 a=1 @1 #e.1")
  }

  @Test func `a quiet stream gets a comment that keeps it alive`() throws {
    var limits = Limits()
    limits.idleTimeout = .milliseconds(60)
    let server = try TestServer(limits: limits)
    let stream = try EventStreamClient(server, query: "match=**")
    _ = try stream.next(2)
    #expect(try stream.next(2).allSatisfy { $0.comment == "still here" })
  }

  @Test func `what a client sends behind its request waits until the stream ends`() throws {
    let server = try TestServer()
    let client = try server.connect(sending: "GET /events?match=** HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\n\r\n")
    #expect(try client.receive(upTo: "\"type\":\"live\"").hasPrefix("HTTP/1.1 200"))
    try client.send(Array("anything".utf8))
    try server.store.set("a", "1")
    #expect(try client.receive(upTo: "didSet").contains("404") == false)
  }

  @Test(arguments: [
    ("", 400, "bad_query"), ("initial=true", 400, "bad_query"), ("match=a//b", 400, "bad_pattern"),
    ("match=a&where=value+%3E", 400, "bad_filter"), ("match=a&since=5", 400, "bad_cursor"),
    ("match=a&exit=maybe", 400, "bad_query"), ("match=a&where=op=='set'&exit=true", 400, "exit_needs_state_filter"),
    ("match=a&wher=true", 400, "unknown_parameter"), ("match=a&initial=true&initial=true", 400, "bad_query"),
  ])
  func `what is wrong with the parameters is an ordinary answer, also before an upgrade`(
    _ query: String, _ status: Int, _ code: String
  ) throws {
    let server = try TestServer()
    let refused = try server.connect().request("GET", "/events?\(query)")
    #expect(refused.status == status)
    #expect(try LiveMessage(refused.text).string("code") == code)
    guard !query.isEmpty else { return }
    do {
      _ = try LiveClient(server, query: query)
      Issue.record("the upgrade was not refused")
    } catch ClientError.upgradeRefused(let response) {
      #expect(response.status == status)
      #expect(try LiveMessage(response.text).string("code") == code)
    }
  }

  @Test func `a Last-Event-ID that is no cursor is refused`() throws {
    let server = try TestServer()
    let client = try server.connect()
    for id in ["7", "e.01", ""] {
      let response = try client.request("GET", "/events?match=a", fields: [("Last-Event-ID", id)])
      #expect(response.status == 400)
      #expect(try LiveMessage(response.text).string("code") == "bad_cursor")
    }
  }
}
