// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Compression, §2.12")
struct CompressionTests {
  private func limits(_ clients: CompressionPolicy) -> Limits {
    var limits = Limits()
    limits.compression = clients
    return limits
  }

  private func server(_ clients: CompressionPolicy = .all) throws -> TestServer {
    try TestServer(limits: limits(clients))
  }

  private let long = "[" + (0..<200).map { "\"value \($0 % 10)\"" }.joined(separator: ",") + "]"
  private let gzip = [("Accept-Encoding", "gzip, deflate, br")]

  // MARK: HTTP

  @Test func `a value goes out as gzip, with a tag of its own and Vary`() throws {
    let server = try server()
    try server.store.set("a", long)
    let client = try server.connect()
    let plain = try client.request("GET", "/properties/a")
    #expect(plain.text == long && plain.value("Content-Encoding") == nil && plain.value("ETag") == "\"e.1\"")
    #expect(plain.values("Vary") == ["Accept-Encoding"])
    let packed = try client.request("GET", "/properties/a", fields: gzip)
    #expect(packed.value("Content-Encoding") == "gzip" && packed.value("ETag") == "\"e.1-gzip\"")
    #expect(packed.values("Vary") == ["Accept-Encoding"] && packed.body.count < long.utf8.count / 4)
    #expect(gunzipped(packed.body).map { String(decoding: $0, as: UTF8.self) } == long)
    let head = try client.request("HEAD", "/properties/a", fields: gzip)
    #expect(head.fields.filter { $0.name != "Date" } == packed.fields.filter { $0.name != "Date" } && head.body.isEmpty)
  }

  @Test(arguments: [
    ("gzip", true), ("x-gzip", true), ("*", true), ("br, gzip;q=0.5", true), ("identity;q=0.5, gzip;q=0.5", true),
    ("GZIP ; Q=1", true), ("", false), ("identity", false), ("gzip;q=0", false), ("gzip;q=0.000, *", false),
    ("*;q=0", false), ("identity, gzip;q=0.5", false), ("deflate, br", false), ("gzip;q=2", false), ("gzip;x=1", false),
    ("gzip;q=", false), ("gzip;", false),
  ]) func `Accept-Encoding decides`(field: String, isGzip: Bool) throws {
    let server = try server()
    try server.store.set("a", long)
    let response = try server.connect().request("GET", "/properties/a", fields: [("Accept-Encoding", field)])
    #expect((response.value("Content-Encoding") == "gzip") == isGzip && response.status == 200)
  }

  @Test func `conditions take both tags, and 304 has the one that was named`() throws {
    let server = try server()
    try server.store.set("a", long)
    let client = try server.connect()
    for tag in ["\"e.1\"", "\"e.1-gzip\"", "W/\"e.1-gzip\""] {
      let response = try client.request("GET", "/properties/a", fields: gzip + [("If-None-Match", tag)])
      #expect(response.status == 304 && response.values("Vary") == ["Accept-Encoding"])
      #expect(response.value("ETag") == (tag.hasPrefix("W/") ? String(tag.dropFirst(2)) : tag))
    }
    #expect(
      try client.request("GET", "/properties/a", fields: gzip + [("If-None-Match", "\"e.9-gzip\"")]).status == 200)
    #expect(try client.request("GET", "/properties/a", fields: [("If-Match", "\"e.1-gzip\"")]).status == 200)
    let stale = try client.request("PUT", "/properties/a", fields: [("If-Match", "\"e.9-gzip\"")], body: "1")
    #expect(stale.status == 412)
    let other = try client.request("PUT", "/properties/a", fields: [("If-Match", "\"e.1-br\"")], body: "1")
    #expect(other.status == 412)
    let written = try client.request("PUT", "/properties/a", fields: [("If-Match", "\"e.1-gzip\"")], body: "1")
    #expect(written.status == 204)
  }

  @Test func `lists and descriptions are gzip, what is short or refused is not`() throws {
    let server = try server()
    for number in 0..<50 { try server.store.set("list/\(number)", "{\"number\":\(number)}") }
    let client = try server.connect()
    for target in ["/properties", "/openapi.yaml"] {
      let plain = try client.request("GET", target)
      let packed = try client.request("GET", target, fields: gzip)
      #expect(packed.value("Content-Encoding") == "gzip" && packed.values("Vary").contains("Accept-Encoding"))
      #expect(gunzipped(packed.body) == plain.body)
    }
    for target in ["/properties/list/1", "/properties/none", "/health/live"] {
      #expect(try client.request("GET", target, fields: gzip).value("Content-Encoding") == nil)
    }
  }

  @Test func `nothing is compressed by default, nor varies`() throws {
    let server = try TestServer()
    try server.store.set("a", long)
    let response = try server.connect().request("GET", "/properties/a", fields: gzip)
    #expect(response.text == long && response.value("Vary") == nil && response.value("ETag") == "\"e.1\"")
  }

  @Test func `an application's response is left as it is`() throws {
    let text = [UInt8](repeating: 65, count: 5000)
    let server = try ApplicationServer(limits: limits(.all)) { _, _ in .response(HTTPResponse(.ok, body: text)) }
    let response = try server.connect().request("GET", "/", fields: gzip)
    #expect(response.body == text && response.value("Content-Encoding") == nil)
  }

  // MARK: WebSocket

  private func handshake(_ server: TestServer, _ offer: String?) throws -> (RawClient, HTTPClientResponse) {
    let client = try server.connect()
    try client.send(request(offer))
    return (client, try client.receive())
  }

  private func request(_ offer: String?) -> String {
    """
    GET /events?match=a&initial=false HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r
    Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r
    \(offer.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? "")\r\n
    """
  }

  @Test func `an offer is answered, and with off it is declined`() throws {
    let offer = "permessage-deflate; server_max_window_bits=10; client_max_window_bits"
    #expect(
      try handshake(server(), offer).1.value("Sec-WebSocket-Extensions")
        == "permessage-deflate; client_no_context_takeover; server_max_window_bits=10")
    #expect(try handshake(server(.public), offer).1.value("Sec-WebSocket-Extensions") != nil)
    for (server, offer) in [(try server(.off), offer), (try server(), "permessage-deflate; x"), (try server(), nil)] {
      let response = try handshake(server, offer).1
      #expect(response.status == 101 && response.value("Sec-WebSocket-Extensions") == nil)
    }
  }

  @Test func `an offer that violates the syntax is refused, and the connection goes on`() throws {
    for server in [try server(), try server(.off)] {
      let (client, response) = try handshake(server, "permessage-deflate; =")
      #expect(response.status == 400 && response.code == "bad_handshake")
      #expect(client.isAlive())
    }
  }

  /// A client that has read the response to its handshake, and nothing behind it.
  private func live(_ server: TestServer, _ offer: String?) throws -> DeflateClient {
    let client = try server.connect()
    try client.send(request(offer))
    let live = DeflateClient(client)
    #expect(try live.head().hasPrefix("HTTP/1.1 101 "))
    return live
  }

  // MARK: Who gets it

  @Test(arguments: [CompressionPolicy.public, .all])
  func `public compresses nothing for those who are known, from the moment they are`(policy: CompressionPolicy) throws {
    let server = try TokenServer(limits: limits(policy))
    try server.server.store.set("long", long)
    let token = try server.make("ann")
    for (known, isGzip) in [(nil, true), (token, policy == .all)] {
      for target in ["/properties/long", "/properties/long?until=true&wait=1s", "/properties"] {
        let response = try server.request("GET", target, known, fields: gzip)
        #expect((response.value("Content-Encoding") == "gzip") == isGzip, "\(target)")
        #expect(response.values("Vary").contains("Accept-Encoding"))
      }
    }
    let client = try live(server.server, "permessage-deflate")
    let command = #"{"id":1,"type":"get","path":"long"}"#
    try client.send(command)
    _ = try client.next { $0.contains("\"id\":1") }
    #expect(client.compressed > 0)
    try client.send(#"{"id":2,"type":"auth","token":"\#(token)"}"#)
    _ = try client.next { $0.contains("\"id\":2") }
    let before = client.compressed
    try client.send(command)
    try server.server.store.set("a", long)
    _ = try client.next { $0.contains("didSet") }
    #expect((client.compressed > before) == (policy == .all))
  }

  @Test func `clients get what was set, compressed or not, and commands are read compressed`() throws {
    let server = try TestServer(limits: limits(.all), loops: 1)
    let clients = try [nil, "permessage-deflate", "permessage-deflate; server_no_context_takeover"].map { offer in
      try live(server, offer)
    }
    let others = try (0..<2).map { _ in try live(server, "permessage-deflate") }
    for client in clients + others { _ = try client.next { $0.contains("\"live\"") } }
    for number in 1...50 {
      let command =
        #"{"id":\#(number),"type":"set","path":"a","value":{"n":\#(number),"text":"\#(number) words and words"}}"#
      try clients[1].send(command)
    }
    var events: [[String]] = []
    for client in clients + others {
      events.append(try client.next { $0.contains("\"n\":50,") }.filter { $0.contains("didSet") })
    }
    #expect(events[0].count == 50)
    for other in events.dropFirst() { #expect(other == events[0]) }
    #expect(clients[0].compressed == 0 && clients.dropFirst().allSatisfy { $0.compressed > 40 })
    // Those that share a window take fewer bytes than those that have each message by itself.
    #expect(others[0].bytes < clients[2].bytes * 2 / 3 && clients[2].bytes < clients[0].bytes)
  }

  @Test func `a bomb and a damaged message close the connection, and the next client is served`() throws {
    let server = try server()
    let bomb = deflated([UInt8](repeating: 32, count: 4 << 20), level: 9)
    for (payload, code) in [(bomb, UInt16(1009)), ([0xFF, 0xFF, 0x00], 1007)] {
      let (client, _) = try handshake(server, "permessage-deflate")
      var frame: [UInt8] = []
      FrameWriter.append(.text, payload, mask: .random(), to: &frame)
      frame[0] |= FrameWriter.compressedBit
      try client.send(frame)
      let received = try client.receiveToEnd()
      let close = try #require(received.indices.dropLast(3).last { received[$0] == 0x88 })
      #expect(UInt16(received[close + 2]) << 8 | UInt16(received[close + 3]) == code)
      #expect(try server.connect().isAlive())
    }
  }

  @Test func `many bombs in one piece do not keep others waiting for all of them`() throws {
    let server = try TestServer(limits: limits(.all), loops: 1)
    // Each stays below the limit: none is refused, all are no commands.
    let bomb = deflated([UInt8](repeating: 32, count: 256 << 10), level: 9)
    var frame: [UInt8] = []
    FrameWriter.append(.text, bomb, mask: .random(), to: &frame)
    frame[0] |= FrameWriter.compressedBit
    let reader = try live(server, "permessage-deflate")
    try reader.client.send(Array([[UInt8]](repeating: frame, count: 40).joined()))
    #expect(try server.connect().isAlive())
    // Each is answered in its time.
    var errors = 0
    while errors < 40 {
      errors += try reader.next { $0.contains("bad_message") || $0.contains("error") }.count { $0.contains("error") }
    }
  }
}

/// A client of the live protocol with permessage-deflate, that decompresses with what came before.
private final class DeflateClient {
  let client: RawClient
  private let inflater = ContextInflater()
  private var input: [UInt8] = []
  /// Frames that were compressed, and the bytes of all.
  private(set) var compressed = 0
  private(set) var bytes = 0

  init(_ client: RawClient) { self.client = client }

  func send(_ text: String) throws {
    var frame: [UInt8] = []
    FrameWriter.append(.text, deflated(Array(text.utf8)), mask: .random(), to: &frame)
    frame[0] |= FrameWriter.compressedBit
    try client.send(frame)
  }

  /// The head of the response to the handshake.
  func head() throws -> String {
    while true {
      if let end = input.indices.dropLast(3).first(where: { input[$0...].starts(with: [13, 10, 13, 10]) }) {
        defer { input.removeFirst(end + 4) }
        return String(decoding: input[..<end], as: UTF8.self)
      }
      try receive()
    }
  }

  private func receive() throws {
    guard let piece = try client.receive(within: LiveClient.patience), !piece.isEmpty else {
      throw LiveClient.Failure.silence
    }
    input += piece
  }

  /// The messages up to the first for which the condition holds, that one included.
  func next(upTo isLast: (String) -> Bool) throws -> [String] {
    var messages: [String] = []
    while true {
      while let message = try take() {
        messages.append(message)
        if isLast(message) { return messages }
      }
      try receive()
    }
  }

  private func take() throws -> String? {
    guard input.count >= 2 else { return nil }
    var head = 2
    var length = Int(input[1])
    if length == 126 {
      head = 4
      guard input.count >= head else { return nil }
      length = Int(input[2]) << 8 | Int(input[3])
    }
    guard input.count >= head + length else { return nil }
    var payload = Array(input[head..<head + length])
    let isCompressed = input[0] & 0x40 != 0
    bytes += head + length
    input.removeFirst(head + length)
    if isCompressed {
      compressed += 1
      payload = try #require(inflater.inflate(payload))
    }
    return String(decoding: payload, as: UTF8.self)
  }
}
