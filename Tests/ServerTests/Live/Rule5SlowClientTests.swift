// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@Suite("Live protocol §4 rule 5, slow clients")
struct Rule5SlowClientTests {
  /// Small, so that little has to be written before a client is too slow.
  private static var limits: Limits {
    var limits = Limits()
    limits.highWaterMark = 64 << 10
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
    let members = #""match":"**","oldValue":false"#
    let slow = try LiveClient(server, receiveBuffer: 4096)
    _ = try slow.subscribe(members)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(members)
    try write(server, watchedBy: fast)

    // What has waited comes, in order, and then the close.
    var last = 0
    var bytes = 0
    var frame: CloseFrame?
    while frame == nil {
      do {
        let message = try slow.next()
        #expect(message.revision == last + 1)
        last = message.revision
        bytes += message.text.utf8.count
      } catch LiveClient.Failure.closed(let close) {
        frame = close
      }
    }
    #expect(frame?.code == CloseCode(rawValue: 4008))
    // The system's buffers for one connection, the high-water mark and one block, not the 19 MB that were written.
    #expect(bytes < 12 << 20)
    let reason = try #require(frame?.reason)
    let cursor = try #require(Cursor(String(reason.split(separator: " ").last ?? "")))
    #expect(reason.contains("resume from \(cursor)"))
    #expect(Int(cursor.revision.number) == last)

    let resumed = try LiveClient(server)
    let messages = try resumed.subscribe(members + #","since":"\#(cursor)""#)
    #expect(messages.first?.bool("recovered") == true)
    #expect(messages.dropFirst().dropLast().map(\.revision) == Array(last + 1...Self.writes))
  }

  @Test func `a reader of events that never reads is told so in a comment and its stream ends`() throws {
    let server = try TestServer(limits: Self.limits)
    let slow = try EventStreamClient(server, query: "match=**&oldValue=false", receiveBuffer: 4096)
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
    try slow.send(#"{"id":1,"type":"subscribe","match":"**","oldValue":false}"#)
    let fast = try LiveClient(server)
    _ = try fast.subscribe(#""match":"p","oldValue":false"#)
    for number in 1...10 {
      try server.store.set("p", #""\#(number) \#(Self.filler)""#)
      _ = try fast.next()
    }
    #expect(try slow.awaitClose().code == CloseCode(rawValue: 4008))
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
