// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport

/// One transcript at work: a server of its own, and the clients that the transcript names.
final class Conversation {
  struct Fault: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
  }

  private static let epoch = "x7k2m9qd"

  private let server: TokenServer
  /// What the names of tokens in a transcript stand for.
  private let tokens: [(name: String, text: String)]
  private var sockets: [String: WebSocketClient] = [:]
  private var streams: [String: EventStreamClient] = [:]
  /// The answer to the last request.
  private var answer: HTTPClientResponse?

  init() throws {
    guard let epoch = Epoch(Self.epoch) else { throw Fault("no epoch") }
    server = try TokenServer(store: PropertyStore(epoch: epoch), hosts: [])
    tokens = [
      ("$annsToken", try server.make("ann", claims: #"{"role":"cook"}"#)),
      ("$bobsToken", try server.make("bob", expires: .inSeconds(50))),
    ]
  }

  /// A text of a transcript with something in place of what may be anything.
  static func filled(_ text: String) -> String {
    text.replacing("$epoch", with: epoch).replacing("\"$time\"", with: "\"2026-01-02T03:04:05.678Z\"")
      .replacing("\"limits\":\"$any\"", with: "\"limits\":{}").replacing("\"in\":\"$any\"", with: "\"in\":1")
  }

  /// A text of the server with what is another one each time named as in a transcript.
  private static func plain(_ text: String) -> String {
    text.replacing(epoch, with: "$epoch")
      .replacing(/"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z"/, with: "\"$time\"")
      .replacing(/"(title|detail|text)":"(?:[^"\\]|\\.)*"/) { "\"\($0.1)\":\"$any\"" }
      .replacing(/"limits":\{[^}]*\}/, with: "\"limits\":\"$any\"")
      .replacing(/"cost":[0-9]+/, with: "\"cost\":\"$any\"").replacing(/"in":[0-9]+/, with: "\"in\":\"$any\"")
      .replacing(/"ticket":"[^"]*"/, with: "\"ticket\":\"$any\"")
  }

  private func socket(_ client: String) throws -> WebSocketClient {
    guard let socket = sockets[client] else { throw Fault("\(client) has no WebSocket") }
    return socket
  }

  private func expect(_ text: String, _ expected: String) throws {
    if Self.plain(text) != expected { throw Fault("\(Self.plain(text)), not \(expected)") }
  }

  func take(_ line: Transcript.Line) throws {
    func real(_ text: String) -> String {
      tokens.reduce(text.replacing("$epoch", with: Self.epoch)) { $0.replacing($1.name, with: $1.text) }
    }
    switch line.step {
    case .open(let target):
      sockets[line.client] = try WebSocketClient(
        TestTransport.endpoint(port: server.server.port), target: real(target), tls: TestTransport.trust,
        timeout: LiveClient.patience)
    case .stream(let target, let fields):
      streams[line.client] = try EventStreamClient(
        server.server, query: real(String(target.dropFirst("/events?".count))), fields: fields.map { ($0, real($1)) })
    case .send(let text): try socket(line.client).send(real(text), timeout: LiveClient.patience)
    case .close: try socket(line.client).send(raw: [0x88, 0x82, 0, 0, 0, 0, 0x03, 0xE8])
    case .drop:
      sockets[line.client] = nil
      streams[line.client] = nil
    case .request(let method, let target, let fields, let body):
      answer = try server.server.connect().request(
        method, real(target), fields: fields.map { ($0, real($1)) }, body: body.map(real))
    case .message(let events): try hear(line.client, events)
    case .event(let text, let id, let name): try hear(line.client, text, id, name)
    case .closed(let code): try hearClose(line.client, code)
    case .answer(let status, let fields, let body): try judge(status, fields, body)
    }
  }

  private func hear(_ client: String, _ events: [String]) throws {
    if streams[client] != nil {
      for event in events { try hear(client, event, nil, nil) }
      return
    }
    guard case .text(let bytes)? = try socket(client).receive(timeout: LiveClient.patience) else {
      throw Fault("\(client) has got no message: \(events)")
    }
    let told = String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
    try expect(told.joined(separator: "\n"), events.joined(separator: "\n"))
  }

  private func hear(_ client: String, _ text: String, _ id: String?, _ name: String?) throws {
    guard let block = try streams[client]?.next() else { throw Fault("\(client) has no stream") }
    try expect(block.message?.text ?? "", text)
    try expect(block.id ?? "", id ?? "")
    try expect(block.name ?? "", name ?? "")
  }

  private func hearClose(_ client: String, _ code: Int) throws {
    guard case .closed(let frame)? = try socket(client).receive(timeout: LiveClient.patience),
      frame.code?.rawValue == UInt16(code)
    else { throw Fault("\(client) was not closed with \(code)") }
    sockets[client] = nil
  }

  private func judge(_ status: Int, _ fields: [(String, String)], _ body: String) throws {
    guard let answer else { throw Fault("nothing was asked") }
    self.answer = nil
    if answer.status != status { throw Fault("\(answer.status) \(answer.text), not \(status)") }
    for (name, value) in fields {
      guard let told = answer.value(name) else { throw Fault("no \(name)") }
      if !value.hasSuffix("$time") { try expect(told, value) }
    }
    if body == "$any" { return }
    try expect(answer.text.hasSuffix("\n") ? String(answer.text.dropLast()) : answer.text, body)
  }

  /// Nothing more comes to anyone who is still there.
  func end() throws {
    for (client, socket) in sockets {
      // Of two replies the second comes behind all that has happened before the first.
      for id in [9_000_001, 9_000_002] {
        try socket.send(#"{"id":\#(id),"type":"ping"}"#, timeout: LiveClient.patience)
        guard case .text(let bytes)? = try socket.receive(timeout: LiveClient.patience) else { throw Fault("no reply") }
        let text = String(decoding: bytes, as: UTF8.self)
        if try LiveMessage(text).int("id") != id { throw Fault("\(client) has got more: \(text)") }
      }
    }
  }
}
