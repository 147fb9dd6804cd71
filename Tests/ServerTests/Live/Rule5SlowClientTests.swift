// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 5, slow clients that want everything")
struct Rule5SlowClientTests {
  /// Small, so that little has to be written before a client is too slow.
  private static var limits: Limits {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
    // Shorter than a slow client needs for what waits before the close frame: its time begins behind that.
    limits.closeTimeout = .milliseconds(20)
    return limits
  }
  private static let filler = String(repeating: "x", count: 64_000)
  /// 19 MB: more than the system takes for a client that does not read.
  private static let writes = 300

  /// Writes to `p` as fast as a client that reads can follow, so that only the one that does not is too slow.
  private func write(_ server: TestServer, watchedBy fast: LiveClient) throws {
    for number in 1...Self.writes {
      try server.store.set("p", #""\#(number) \#(Self.filler)""#)
      #expect(try fast.next().revision == number)
    }
  }

  @Test func `one that never reads is closed with 4008 and the others are not disturbed`() throws {
    let server = try TestServer(limits: Self.limits)
    let members = #""match":"**","oldValue":false,"delivery":{"mode":"all"}"#
    let slow = try LiveClient(server, receiveBuffer: 4096)
    _ = try slow.subscribe(members)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(members)
    try write(server, watchedBy: fast)

    // What has waited comes, in order, and then the close.
    let (messages, reason) = try readToTheEnd(slow)
    let last = messages.count
    #expect(messages.map(\.revision) == Array(1...max(1, last)))
    // The system's buffers for one connection, the high-water mark and one block, not the 19 MB that were written.
    #expect(messages.map(\.text.utf8.count).reduce(0, +) < 12 << 20)
    #expect(reason == "too slow, resume from e.\(last)")

    let missed = try LiveClient(server).subscribe(members + #","since":"e.\#(last)""#)
    #expect(missed.first?.bool("recovered") == true)
    #expect(missed.dropFirst().dropLast().map(\.revision) == Array(last + 1...Self.writes))
  }

  /// What a client gets that begins to read only now, and the reason of the 4008 at the end.
  private func readToTheEnd(_ client: LiveClient) throws -> (messages: [LiveMessage], reason: String) {
    var messages: [LiveMessage] = []
    while true {
      do {
        messages.append(try client.next())
      } catch LiveClient.Failure.closed(let frame) {
        #expect(frame.code == CloseCode(rawValue: 4008))
        return (messages, frame.reason)
      }
    }
  }

  @Test func `one that is too slow for what it missed resumes where that was cut off`() throws {
    let server = try TestServer(limits: Self.limits)
    for number in 1...Self.writes { try server.store.set("p", #""\#(number) \#(Self.filler)""#) }
    let slow = try LiveClient(server, receiveBuffer: 4096)
    // The second is served from the past only when the first has its own; `live` it has been for long.
    try slow.send(#"{"id":1,"type":"subscribe","match":"none"}"#)
    try slow.send(#"{"id":2,"type":"subscribe","match":"**","oldValue":false,"since":"e.0","delivery":{"mode":"all"}}"#)
    #expect(
      try slow.next(3).map(\.description) == [
        "ok 1 sub=1 @300", "live 1 @300", #"ok 2 sub=2 @300 recovered delivery={"mode":"all"}"#,
      ])
    let fast = try LiveClient(server)
    _ = try fast.subscribe(#""match":"**","initial":false,"oldValue":false"#)
    for number in 1...10 {
      try server.store.set("q", #""\#(number) \#(Self.filler)""#)
      _ = try fast.next()
    }
    let (messages, reason) = try readToTheEnd(slow)
    #expect(messages.map(\.revision) == Array(1...messages.count))
    #expect(messages.count < Self.writes)
    #expect(reason == "too slow, resume from e.\(messages.count)")
  }

  @Test func `a reader of events that never reads is told so in a comment and its stream ends`() throws {
    let server = try TestServer(limits: Self.limits)
    let slow = try EventStreamClient(server, query: "match=**&oldValue=false&mode=all", receiveBuffer: 4096)
    _ = try slow.next(2)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(#""match":"**","oldValue":false"#)
    try write(server, watchedBy: fast)

    let blocks = try slow.rest()
    let events = blocks.compactMap(\.message)
    let last = events.last?.revision ?? 0
    #expect(events.map(\.revision) == Array(1...max(1, last)))
    #expect(last < Self.writes)
    #expect(blocks.last?.comment?.contains("resume from e.\(last)") == true)
    // What a browser does then.
    let again = try EventStreamClient(
      server, query: "match=**&oldValue=false", fields: [("Last-Event-ID", "e.\(last)")])
    let missed = try again.next { $0.message?.type == "live" }
    #expect(missed.compactMap { $0.message?.revision }.dropFirst().dropLast() == Array(last + 1...Self.writes)[...])
  }

  @Test func `what changes while a snapshot waits to be taken counts`() throws {
    let server = try TestServer(limits: Self.limits)
    for number in 0..<200 { try server.store.set("s/\(number)", #""\#(Self.filler)""#) }
    let slow = try LiveClient(server, receiveBuffer: 4096)
    try slow.send(#"{"id":1,"type":"subscribe","match":"**","oldValue":false,"delivery":{"mode":"all"}}"#)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(#""match":"p","oldValue":false"#)
    for number in 1...10 {
      try server.store.set("p", #""\#(number) \#(Self.filler)""#)
      _ = try fast.next()
    }
    let (messages, reason) = try readToTheEnd(slow)
    #expect(messages.dropFirst().allSatisfy { $0.type == "didSet" && $0.revision <= 200 })
    #expect(messages.count < 200)
    #expect(reason == "too slow for a snapshot, subscribe anew")
  }

  @Test func `a client that reads gets all, however much it is`() throws {
    let server = try TestServer(limits: Self.limits)
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","oldValue":false"#)
    try write(server, watchedBy: client)
    #expect(try client.settle().isEmpty)
  }

  @Test func `one burst above the high-water mark is no reason when the client reads`() throws {
    var limits = Limits()
    limits.highWaterMark = 1 << 10
    let server = try TestServer(limits: limits)
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**""#)
    let operations = try (0..<50).map { number in
      PropertyStore.Operation.set(try PropertyPath("p/\(number)"), try .init(validating: "[\(number)]"))
    }
    try server.store.transact(operations)
    #expect(try client.next(50).map(\.revision) == Array(repeating: 1, count: 50))
  }
}
