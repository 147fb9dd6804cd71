// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Testing

@Suite("HTTP client")
struct HTTPClientTests {
  @Test func `requests and responses go over one connection until the server ends it`() throws {
    try exchange { peer in
      let first = try peer.read(upTo: "\r\n\r\n")
      #expect(first.hasPrefix("GET /a?b=%20 HTTP/1.1\r\nHost: 127.0.0.1:"))
      #expect(first.contains("\r\nAccept: text/plain\r\n") && !first.contains("Content-Length"))
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
      let second = try peer.read(upTo: "\r\n\r\n21.5")
      #expect(second.hasPrefix("PUT /v HTTP/1.1\r\n") && second.contains("\r\nContent-Length: 4\r\n"))
      try peer.send("HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n")
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      let first = try client.request("GET", "/a?b=%20", fields: [("Accept", "text/plain")])
      #expect(first.status == 200 && first.text == "hi" && client.isReusable)
      let second = try client.request("PUT", "/v", body: Array("21.5".utf8))
      #expect(second.status == 204 && second.body.isEmpty && !client.isReusable)
      #expect(client.awaitEnd())
    }
  }

  @Test func `interim responses are passed over and told`() throws {
    try exchange { peer in
      _ = try peer.read(upTo: "\r\n\r\n")
      try peer.send("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n")
      try peer.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
    } _: { port in
      let response = try HTTPClient(.tcp(host: "localhost", port: port)).request("GET", "/")
      #expect(response.status == 200 && response.interim == [100, 103] && response.values("Link").isEmpty)
    }
  }

  @Test func `bytes can be sent as they are, and responses read one by one`() throws {
    try exchange { peer in
      #expect(try peer.read(count: 6) == Array("raw\r\n!".utf8))
      try peer.send("HTTP/1.1 400 Bad Request\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\n\r\nb")
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      try client.send(Array("raw\r\n!".utf8))
      #expect(try client.receive().text == "a")
      #expect(try client.receive().text == "b")
      #expect(throws: ClientError.closed) { try client.receive() }
    }
  }

  @Test func `the body of a stream comes piece by piece`() throws {
    let go = DispatchSemaphore(value: 0)
    try exchange { peer in
      _ = try peer.read(upTo: "\r\n\r\n")
      try peer.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
      for text in ["data: 1\n\n", "data: 2\n\n"] {
        go.wait()
        try peer.send(String(text.utf8.count, radix: 16) + "\r\n" + text + "\r\n")
      }
      go.wait()
      try peer.send("0\r\n\r\n")
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      let head = try client.open("GET", "/events", fields: [("Accept", "text/event-stream")])
      #expect(head.status == 200 && head.body.isEmpty)
      #expect(throws: ClientError.timedOut) { try client.nextPiece(timeout: .milliseconds(20)) }
      var events = ServerSentEvents()
      for number in 1...2 {
        go.signal()
        var told: [ServerSentEvent] = []
        while told.isEmpty { told = events.receive(try #require(try client.nextPiece())) }
        #expect(told == [ServerSentEvent(id: nil, data: "\(number)")])
      }
      go.signal()
      #expect(try client.nextPiece() == nil)
      #expect(client.isReusable)
    }
  }

  @Test func `an answer that comes before the body is taken is an answer`() throws {
    let done = DispatchSemaphore(value: 0)
    try exchange { peer in
      _ = try peer.read(count: 100)
      try peer.send("HTTP/1.1 413 Content Too Large\r\nContent-Length: 0\r\n\r\n")
      // The rest of the body is never read: the client must not wait for that.
      done.wait()
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      let response = try client.request(
        "PUT", "/", body: [UInt8](repeating: 32, count: 64 << 20), timeout: .seconds(20))
      #expect(response.status == 413 && !client.isReusable)
      done.signal()
    }
  }

  @Test func `a silent server is waited for no longer than was said`() throws {
    let done = DispatchSemaphore(value: 0)
    try exchange { _ in
      done.wait()
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      let start = ContinuousClock.now
      #expect(throws: ClientError.timedOut) { try client.request("GET", "/", timeout: .milliseconds(50)) }
      let waited = start.duration(to: .now)
      #expect(waited >= .milliseconds(50))
      done.signal()
    }
  }

  @Test func `a server that takes nothing is waited for no longer than was said`() throws {
    let done = DispatchSemaphore(value: 0)
    try exchange { _ in
      done.wait()
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      #expect(throws: ClientError.timedOut) {
        try client.send([UInt8](repeating: 0, count: 64 << 20), timeout: .milliseconds(50))
      }
      done.signal()
    }
  }

  @Test func `a server that hangs up without an answer is told as closed`() throws {
    try exchange { peer in
      _ = try peer.read(upTo: "\r\n\r\n")
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      #expect(throws: ClientError.closed) { try client.request("GET", "/") }
      #expect(!client.isReusable)
    }
  }

  @Test func `a reset is told as broken`() throws {
    try exchange { peer in
      _ = try peer.read(upTo: "\r\n\r\n")
      peer.socket.resetAtEnd()
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      #expect(throws: ClientError.broken(code: ECONNRESET)) { try client.request("GET", "/") }
    }
  }

  @Test func `a port without a server is unreachable`() throws {
    let port = try ScriptedServer.deadPort()
    #expect(throws: ClientError.unreachable(.tcp(host: "127.0.0.1", port: port), code: ECONNREFUSED)) {
      try HTTPClient(.tcp(host: "127.0.0.1", port: port))
    }
    #expect(throws: ClientError.self) { try HTTPClient(.tcp(host: "localhost", port: port)) }
  }

  @Test func `a name that cannot be one is not resolved`() {
    let name = String(repeating: "x", count: 300)
    #expect(throws: ClientError.unresolvable(host: name)) { try HTTPClient(.tcp(host: name, port: 1)) }
  }

  @Test func `an address may stand in brackets`() throws {
    try exchange { peer in
      #expect(try peer.read(upTo: "\r\n\r\n").contains("Host: [127.0.0.1]:"))
      try peer.send("HTTP/1.1 204 \r\n\r\n")
    } _: { port in
      let response = try HTTPClient(.tcp(host: "[127.0.0.1]", port: port)).request("GET", "/")
      #expect(response.status == 204)
    }
  }

  @Test(arguments: [
    ("GET /", "/", "A", "b"), ("", "/", "A", "b"), ("GET", "", "A", "b"), ("GET", "/a b", "A", "b"),
    ("GET", "/a\r\nX: y", "A", "b"), ("GET", "/\u{0}", "A", "b"), ("GET", "/", "A b", "c"), ("GET", "/", "", "c"),
    ("GET", "/", "A", "b\r\nC: d"), ("GET", "/", "A", "b\n"), ("GET", "/", "A:", "b"), ("GET", "/", "A", "\u{0}"),
  ])
  func `what would end a line early is not sent`(method: String, target: String, name: String, value: String) throws {
    try exchange { peer in
      let received = try peer.readToEnd()
      #expect(received.isEmpty)
    } _: { port in
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      #expect(throws: ClientError.malformedRequest) { try client.request(method, target, fields: [(name, value)]) }
    }
  }

  @Test func `every error has a line for people`() {
    let response = HTTPClientResponse(status: 403, reason: "Forbidden")
    let errors: [ClientError] = [
      .malformedRequest, .unresolvable(host: "h"), .unreachable(.tcp(host: "h", port: 1), code: ECONNREFUSED),
      .unreachable(.unix(path: "/s"), code: ENOENT), .badPath("/s"), .timedOut,
      .closed, .broken(code: ECONNRESET), .malformedResponse, .responseTooLarge, .upgradeRefused(response),
      .handshakeFailed, .webSocket(.maskedFrame),
    ]
    #expect(Set(errors.map(\.description)).count == errors.count)
    #expect(errors[2].description == "no connection to h port 1: Connection refused")
    #expect(errors[10].description.contains("403"))
  }
}
