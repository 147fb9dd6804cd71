// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §3.3 and §3.5, bytes of events and batches")
struct FrameTests {
  @Test func `an event with old value and time is these 150 bytes`() throws {
    let server = try TestServer()
    try server.store.set("sensors/kitchen/temperature", "20.9")
    for number in 2...1041 { try server.store.set("count", "\(number)") }
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":["sensors/*/temperature"],"initial":false"#)
    _ = try client.subscribe(#""match":["sensors/*/temperature"],"initial":false,"fields":["path","value"]"#, id: 2)
    try server.store.set("sensors/kitchen/temperature", "22.5")
    let texts = try client.next(2).map(\.text).sorted { $0.utf8.count > $1.utf8.count }
    #expect(
      texts == [
        """
        {"type":"didSet","subscription":1,"path":"sensors/kitchen/temperature","value":22.5,"oldValue":20.9,\
        "revision":1042,"time":"2026-01-02T03:04:05.678Z"}
        """, #"{"type":"didSet","subscription":2,"path":"sensors/kitchen/temperature","value":22.5}"#,
      ])
    #expect(texts.map(\.utf8.count) == [150, 84])
  }

  /// What other implementations of JSON round, and this one does not.
  private static let numbers = [
    "9007199254740993", "123456789012345678901234567890", "-0", "21.50", "1e400",
    "0.1000000000000000055511151231257827",
    "1.0E+2",
  ]

  @Test(arguments: [true, false])
  func `numbers keep their digits from the one who sets them to the one who watches`(isBatched: Bool) throws {
    let server = try TestServer()
    let client = try LiveClient(server, query: isBatched ? "batch=true" : "")
    _ = try client.subscribe(#""match":"**""#)
    let stream = try EventStreamClient(server, query: "match=**&pointer=/0")
    _ = try stream.next(2)
    let writer = try server.connect()
    for number in Self.numbers {
      #expect(try writer.request("PUT", "/properties/n", body: "[\(number)]").status < 300)
      #expect(try client.next().raw("value") == "[\(number)]")
      #expect(try stream.next().message?.raw("value") == number)
    }
  }

  @Test func `a batch is several events with line feeds between them, all that came at once`() throws {
    let server = try TestServer(loops: 1)
    let client = try WebSocketClient(
      TestTransport.endpoint(port: server.port), target: "/events?match=**&batch=true", tls: TestTransport.trust)
    func next() throws -> [String] {
      guard case .text(let bytes)? = try client.receive(timeout: LiveClient.patience) else { return [] }
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map {
        String($0)
      }
    }
    #expect(try next().count == 1)
    #expect(try next().count == 1)
    #expect(try next().count == 1)
    try server.store.transact(["a": #""line\nfeed""#, "b": "[ 1,\n2 ]", "c": "3"])
    let lines = try next()
    #expect(
      lines.map { try? LiveMessage($0).description } == [
        #"didSet 1 a="line\nfeed" @1 more"#, "didSet 1 b=[1,2] @1 more", "didSet 1 c=3 @1",
      ])
  }

  @Test func `hello turns it on for the subscriptions behind it`() throws {
    let server = try TestServer(loops: 1)
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"a/*""#)
    #expect(try client.ask(#"{"id":2,"type":"hello","batch":true}"#).text == #"{"id":2,"type":"ok","batch":true}"#)
    _ = try client.subscribe(#""match":"b/*""#, id: 3)
    try server.store.transact(["a/1": "1", "a/2": "1", "b/1": "1", "b/2": "1"])
    var singles = 0
    var batches = 0
    while singles < 2 || batches < 1 {
      guard case .text(let bytes)? = try client.socket.receive(timeout: LiveClient.patience) else { break }
      if bytes.contains(0x0A) { batches += 1 } else { singles += 1 }
    }
    #expect(singles == 2 && batches == 1)
    #expect(try client.ask(#"{"id":4,"type":"hello"}"#).raw("batch") == "true")
    #expect(try client.ask(#"{"id":5,"type":"hello","batch":false}"#).raw("batch") == "false")
  }

  @Test func `a batch that is long is cut between events`() throws {
    let server = try TestServer()
    for number in 0..<40 { try server.store.set("p/\(number)", #""\#(String(repeating: "x", count: 4000))""#) }
    let client = try WebSocketClient(
      TestTransport.endpoint(port: server.port), target: "/events?match=**&batch=true", tls: TestTransport.trust)
    var lines: [LiveMessage] = []
    var longest = 0
    while lines.last?.type != "live" {
      guard case .text(let bytes)? = try client.receive(timeout: LiveClient.patience) else { break }
      longest = max(longest, bytes.count)
      lines += try String(decoding: bytes, as: UTF8.self).split(separator: "\n").map { try LiveMessage(String($0)) }
    }
    #expect(lines.count == 43)
    #expect(longest < 56 << 10)
  }
}
