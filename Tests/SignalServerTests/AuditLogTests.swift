// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Logging
import SignalAccess
import SignalHTTP
import SignalStore
import Synchronization
import Testing

@testable import signal_server

/// Keeps what is logged.
private struct KeptLog: LogHandler {
  final class Lines: Sendable {
    let all = Mutex<[String]>([])
  }

  let lines: Lines
  var metadata: Logger.Metadata = [:]
  var logLevel: Logger.Level = .trace

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) { lines.all.withLock { $0.append("\(event.level) \(event.message)") } }
}

@Suite("The audit log")
struct AuditLogTests {
  private let path = FileManager.default.temporaryDirectory.appending(path: "audit-\(UUID().uuidString)").path
  private let lines = KeptLog.Lines()
  private let log: AuditLog

  init() {
    let lines = lines
    log = AuditLog(Logger(label: "audit") { _ in KeptLog(lines: lines) })
  }

  private func use(_ path: String, _ topics: [AuditTopic] = AuditTopic.allCases) throws {
    log.use(AuditLog.OpenedFile(try AuditFile(path)), topics)
  }

  private func events(_ path: String? = nil) throws -> [String] {
    try String(contentsOfFile: path ?? self.path, encoding: .utf8).split(separator: "\n").map { line in
      let tree = JSONTree(try JSONText(validating: String(line)))
      let name = tree.member("event", of: .root).flatMap { tree.string($0) } ?? ""
      let key = tree.member("key", of: .root).flatMap { tree.string($0) } ?? ""
      let count = tree.member("count", of: .root).flatMap { tree.int64($0) }.map { " \($0)" } ?? ""
      return name + (key.isEmpty ? "" : " \(key)") + count
    }
  }

  private static func identity(_ id: String = "ann") -> Identity {
    Identity(.token, id: id, claims: JSONTree(JSONText(true)))
  }

  @Test func `what is recorded is in the file when the log has been closed, and only the owner can read it`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    try use(path)
    for index in 0..<100 { log.queue.record(AuditEvent(.tokenCreated, key: "t\(index)")) }
    log.close()
    #expect(try events() == (0..<100).map { "token-created t\($0)" })
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    #expect(mode == 0o600)
    #expect(lines.all.withLock { $0 }.isEmpty)
  }

  @Test func `what is not asked for is not recorded`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    #expect(!log.queue.wants(.write))
    log.queue.record(AuditEvent(.tokenCreated, key: "before"))
    try use(path, [.tokens])
    #expect(log.queue.wants(.ticketIssued) && !log.queue.wants(.write))
    log.queue.record(AuditEvent(.write, path: "a"))
    log.queue.record(AuditEvent(.tokenRevoked, key: "t"))
    log.close()
    log.queue.record(AuditEvent(.tokenCreated, key: "after"))
    #expect(try events() == ["token-revoked t"])
  }

  @Test func `a file that others can read is closed to them, and is continued`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    let old = Data("{\"event\":\"old\"}\n".utf8)
    _ = FileManager.default.createFile(atPath: path, contents: old, attributes: [.posixPermissions: 0o644])
    try use(path)
    log.queue.record(AuditEvent(.started))
    log.close()
    #expect(try events() == ["old", "started"])
    #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
  }

  @Test func `a file that was moved keeps what it has, and another one goes on`() throws {
    let moved = path + ".1"
    defer { for name in [path, moved] { try? FileManager.default.removeItem(atPath: name) } }
    try use(path)
    log.queue.record(AuditEvent(.tokenCreated, key: "one"))
    try FileManager.default.moveItem(atPath: path, toPath: moved)
    try use(path)
    log.queue.record(AuditEvent(.tokenCreated, key: "two"))
    log.close()
    #expect(try events(moved) + events() == ["token-created one", "token-created two"])
    #expect(try events().last == "token-created two")
  }

  @Test func `what cannot be a file is refused`() {
    for path in ["/nowhere/at/all", FileManager.default.temporaryDirectory.path] {
      #expect(throws: AuditFile.Failure.self) { try use(path) }
    }
  }

  @Test func `a disk that is full is said once, and what was lost when there is another`() throws {
    defer { try? FileManager.default.removeItem(atPath: path) }
    try use("/dev/full")
    for index in 0..<5 {
      log.queue.record(AuditEvent(.tokenCreated, key: "t\(index)"))
      // Each of them by itself.
      while lines.all.withLock({ $0.isEmpty }) { usleep(1000) }
    }
    try use(path)
    log.queue.record(AuditEvent(.stopped))
    log.close()
    #expect(lines.all.withLock { $0.filter { $0.hasPrefix("error") }.count } == 1)
    #expect(lines.all.withLock { $0.last } == "notice the audit log is written again")
    let events = try events()
    #expect(events.contains("stopped") && events.contains { $0.hasPrefix("dropped ") })
    let lost = events.compactMap { $0.hasPrefix("dropped ") ? Int($0.dropFirst(8)) : nil }.reduce(0, +)
    #expect(lost + events.count { $0.hasPrefix("token-created") } == 5)
  }

  @Test func `a queue that is full drops what is newer, and counts it`() {
    let woken = Atomic(0)
    let queue = AuditQueue { woken.add(1, ordering: .relaxed) }
    queue.want([.tokens])
    for index in 0..<AuditQueue.mostWaiting + 7 { queue.record(AuditEvent(.tokenCreated, key: "\(index)")) }
    let taken = queue.take()
    #expect(taken.events.count == AuditQueue.mostWaiting && taken.dropped == 7)
    #expect(taken.events.last?.key == "\(AuditQueue.mostWaiting - 1)")
    #expect(woken.load(ordering: .relaxed) == 1)
    #expect(queue.take().events.isEmpty)
  }

  @Test func `texts of clients are cut, and cannot break out of a line`() throws {
    let long = String(repeating: "é", count: 2000)
    let event = AuditEvent(
      .refused, identity: Self.identity("a\"\n\u{1B}"), request: "GET /\n{\"event\":\"forged\"}", path: long,
      outcome: "forbidden", subject: "users/{id}/**", key: "k")
    var text: [UInt8] = []
    AuditLine.append(event, to: &text)
    #expect(text.last == UInt8(ascii: "\n") && text.count { $0 == UInt8(ascii: "\n") } == 1 && text.count < 1400)
    #expect(!text.contains { $0 < 0x20 && $0 != UInt8(ascii: "\n") })
    let tree = JSONTree(try JSONText(validating: text))
    #expect(
      tree.keys(of: .root).compactMap { tree.string($0) } == [
        "time", "event", "identity", "request", "path", "outcome", "rule", "key",
      ])
    #expect(tree.member("path", of: .root).flatMap { tree.string($0) }?.hasSuffix("…") == true)
    #expect(tree.member("time", of: .root).flatMap { tree.string($0) } == event.time.description)
  }

  @Test func `events like one that was written are counted, and then said in one line`() {
    var tally = AuditTally()
    let first = AuditEvent(.limitExceeded, identity: Self.identity(), path: "a", outcome: "x", subject: "requests")
    let first2 = tally.isFirst(first)
    #expect(first2)
    for path in ["a", "b", "c"] {
      let again = tally.isFirst(
        AuditEvent(.limitExceeded, identity: Self.identity(), path: path, outcome: "x", subject: "requests"))
      #expect(!again)
    }
    // Somebody else, another limit, another path of a refusal, a write.
    let others = [
      AuditEvent(.limitExceeded, identity: Self.identity("bob"), outcome: "x", subject: "requests"),
      AuditEvent(.limitExceeded, identity: Self.identity(), outcome: "x", subject: "bytes"),
      AuditEvent(.refused, path: "a", outcome: "x"), AuditEvent(.refused, path: "b", outcome: "x"),
      AuditEvent(.write, path: "a"), AuditEvent(.write, path: "a"),
    ]
    for event in others {
      let isFirst = tally.isFirst(event)
      #expect(isFirst)
    }
    let early = tally.take(at: first.time, isEnd: false)
    #expect(early.isEmpty && tally.end == Timestamp(milliseconds: first.time.milliseconds + AuditTally.window))
    let late = Timestamp(milliseconds: first.time.milliseconds + 2 * AuditTally.window)
    let taken = tally.take(at: late, isEnd: false)
    #expect(taken.map(\.count) == [3] && taken.first?.first.subject == "requests")
    #expect(tally.end == nil)
  }

  @Test func `of one sender a few different events are written, and the others counted together`() {
    var tally = AuditTally()
    var written = 0
    for index in 0..<500 {
      let isFirst = tally.isFirst(
        AuditEvent(.refused, identity: Self.identity(), path: "p\(index)", outcome: "forbidden"))
      if isFirst { written += 1 }
    }
    #expect(written == AuditTally.mostOfSender)
    let other = tally.isFirst(AuditEvent(.refused, identity: Self.identity("bob"), path: "p"))
    let another = tally.isFirst(AuditEvent(.authenticationFailed, identity: Self.identity(), outcome: "expired"))
    #expect(other && another)
    let taken = tally.take(at: .now, isEnd: true)
    #expect(taken.map(\.count) == [500 - AuditTally.mostOfSender])
    #expect(taken.first?.first.identity?.id == "ann" && taken.first?.first.path == nil)
    let again = tally.isFirst(AuditEvent(.refused, identity: Self.identity(), path: "p0", outcome: "forbidden"))
    #expect(again && tally.end != nil)
  }

  @Test func `of too many different events those of a kind are counted together`() {
    var tally = AuditTally()
    for index in 0..<AuditTally.most {
      let isFirst = tally.isFirst(AuditEvent(.limitExceeded, identity: Self.identity("i\(index)"), subject: "requests"))
      #expect(isFirst)
    }
    for index in 0..<3 {
      let isFirst = tally.isFirst(AuditEvent(.refused, identity: Self.identity("r\(index)"), path: "a"))
      #expect(!isFirst)
    }
    let more = tally.isFirst(AuditEvent(.limitExceeded, identity: Self.identity("x"), subject: "requests"))
    #expect(!more)
    let taken = tally.take(at: .now, isEnd: true).map { ($0.first.kind.rawValue, $0.count, $0.first.identity == nil) }
    #expect(taken.map(\.0).sorted() == ["limit-exceeded", "refused"] && taken.allSatisfy { $0.2 })
    #expect(taken.map(\.1).sorted() == [1, 3])
  }

  @Test func `what was recorded before another file is used is in the first`() async throws {
    let other = path + ".other"
    defer { for name in [path, other] { try? FileManager.default.removeItem(atPath: name) } }
    try use(path)
    log.queue.record(AuditEvent(.tokenCreated, key: "0"))
    while try events().isEmpty { try await Task.sleep(for: .milliseconds(1)) }
    for index in 1..<200 {
      if index == 150 { try use(other) }
      log.queue.record(AuditEvent(.tokenCreated, key: "\(index)"))
    }
    log.close()
    let (first, second) = (try events(), try events(other))
    #expect(first + second == (0..<200).map { "token-created \($0)" })
    #expect(first.count >= 150)
  }
}
