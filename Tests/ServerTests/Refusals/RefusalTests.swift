// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

/// Everything that is refused, in one table, against one server: a refusal that harmed it would show in the rows after.
@Suite("Refusals")
struct RefusalTests {
  static let table = Refusal.messages9112 + Refusal.requests + Refusal.handshakes + Refusal.webSocket + Refusal.live

  /// Small limits, so that a row that exceeds one is short; `a`, `b` and `c` are there, and there is no room for more.
  private static let server: TestServer = {
    var limits = Limits()
    limits.http.headBytes = 4096
    limits.http.targetBytes = 2048
    limits.http.fields = 20
    limits.http.bodyBytes = 8192
    limits.webSocket.messageBytes = 4096
    var live = LiveConfiguration(hosts: ["x", "server.example"], origins: ["https://listed.example"])
    live.values.bytes = 2048
    live.limits.subscriptionsPerConnection = 1
    live.limits.patternsPerSubscription = 4
    live.limits.listLimit = 50
    live.expressions.bytes = 256
    do {
      let storeLimits = StoreLimits(properties: 3, transactionOperations: 4, formulaInputs: 2, ttlLimit: .seconds(3600))
      let store = PropertyStore.forTests(limits: storeLimits)
      store.setQuotas([try Quota("a", bytes: 1000)])
      try store.transact(["a": "1", "b": #"{"x":[1,2]}"#, "c": "true"])
      return try TestServer(store: store, live: live, limits: limits)
    } catch {
      fatalError("no server for the refusals: \(error)")
    }
  }()

  private let server = Self.server

  @Test func `the table has a row for every rule once`() {
    let rules = Self.table.map(\.rule)
    #expect(Set(rules).count == rules.count)
    #expect(rules.count >= 130)
  }

  @Test(arguments: table)
  func `what is refused is answered, harms nobody and changes nothing`(_ refusal: Refusal) throws {
    // With TLS that is right.
    if TestTransport.isSecured, refusal.rule.hasSuffix("without TLS") { return }
    let before = server.store.contents
    let revision = server.store.revision
    switch refusal.deed {
    case .bytes(let bytes): try checkHTTP(refusal, "", bytes)
    case .request(let method, let target, let fields, let body):
      let host = fields.contains { $0.hasPrefix("Host:") } ? [] : ["Host: server.example"]
      let length = body.isEmpty && method != "PUT" && method != "POST" ? [] : ["Content-Length: \(body.utf8.count)"]
      let lines = ["\(method) \(target) HTTP/1.1"] + host + fields + length
      try checkHTTP(refusal, method, Array((lines.joined(separator: "\r\n") + "\r\n\r\n" + body).utf8))
    case .handshake(let target, let fields):
      var right = [
        "Host": "server.example", "Upgrade": "websocket", "Connection": "Upgrade", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
      ]
      for field in fields { right[String(field.prefix { $0 != ":" })] = nil }
      let lines = ["GET \(target) HTTP/1.1"] + right.map { "\($0): \($1)" } + fields.filter { !$0.hasSuffix(": -") }
      try checkHTTP(refusal, "GET", Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8))
    case .message(let text): try checkLive(refusal, text)
    case .frames(let bytes): try checkFrames(refusal, bytes)
    }
    // The server serves the next client, and nothing has changed.
    #expect(try server.connect().request("GET", "/properties/a").text == "1")
    #expect(server.store.contents == before)
    #expect(server.store.revision == revision)
  }

  private func checkHTTP(_ refusal: Refusal, _ method: String, _ bytes: [UInt8]) throws {
    guard case .status(let status, let code) = refusal.answer else {
      Issue.record("no answer over HTTP")
      return
    }
    let client = try server.connect()
    try client.send(bytes)
    let response = try client.receive(answering: method)
    #expect(response.status == status)
    #expect((response.value("Connection") == "close") == !refusal.lives)
    #expect(response.value("Date") != nil)
    if method != "HEAD" {
      let problem = try LiveMessage(response.text)
      #expect(response.value("Content-Type") == "application/problem+json")
      #expect(problem.string("code") == code)
      #expect(problem.int("status") == status)
      #expect(problem.string("type") == "about:blank")
      #expect(problem.string("title")?.isEmpty == false)
      #expect(problem.string("detail")?.isEmpty == false)
      #expect(problem.bool("temporary") == [503, 507].contains(status))
      if status == 405 { #expect(response.value("Allow")?.isEmpty == false) }
      if code == "unsupported_encoding" { #expect(response.value("Accept-Encoding") == "identity") }
    }
    if refusal.lives { #expect(client.isAlive()) } else { #expect(client.awaitEnd()) }
  }

  private func checkLive(_ refusal: Refusal, _ text: String) throws {
    guard case .error(let status, let code, let hasID) = refusal.answer else {
      Issue.record("no error")
      return
    }
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a","initial":false"#)
    let reply = try client.ask(text)
    #expect(reply.description == (hasID ? "error 1 \(status) \(code)" : "error \(status) \(code)"))
    #expect(reply.object("error")?.string("title")?.isEmpty == false)
    #expect(reply.object("error")?.string("detail")?.isEmpty == false)
    #expect(reply.object("error")?.bool("temporary") == (status == 507))
    #expect(try client.ask(#"{"id":2,"type":"ping"}"#).type == "ok")
    #expect(try client.settle().isEmpty)
  }

  private func checkFrames(_ refusal: Refusal, _ bytes: [UInt8]) throws {
    guard case .close(let code) = refusal.answer else {
      Issue.record("no close")
      return
    }
    let client = try LiveClient(server)
    try client.socket.send(raw: bytes)
    let frame = try client.awaitClose()
    #expect(frame.code?.rawValue == code)
    #expect(!frame.reason.isEmpty)
    #expect(client.socket.awaitEnd())
  }
}
