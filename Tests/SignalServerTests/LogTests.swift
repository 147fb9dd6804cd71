// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Logging
import SignalHTTP
import Synchronization
import Testing

@testable import signal_server

@Suite("The log is written in the background")
struct LogWriterTests {
  @Test func `who logs does not wait for the reader, and what is dropped is counted and told`() throws {
    let pipe = Pipe()
    let descriptor = pipe.fileHandleForWriting.fileDescriptor
    let writer = LogWriter(descriptor: descriptor)
    let handler = LineLogHandler(.json, LogLevel(.info), writer)
    // More than the pipe holds and more than may wait: without a reader this would never end.
    let line = String(repeating: "x", count: 100)
    let count = 3 * LogWriter.mostLines
    for number in 0..<count { writer.put(.line("\(number) \(line)"), as: handler) }
    #expect(writer.dropped > 0)
    // With a reader everything else arrives in order, and behind it how much is missing.
    let reading = Reading(pipe.fileHandleForReading)
    while !writer.flush() {}
    writer.put(.line("last"), as: handler)
    while !writer.flush() {}
    try pipe.fileHandleForWriting.close()
    let lines = reading.end().split(separator: "\n")
    let numbers = lines.compactMap { $0.split(separator: " ").first.flatMap { Int($0) } }
    let told = lines.filter { $0.contains("lines of the log were dropped here") }
    #expect(lines.last == "last")
    let written = lines.filter { $0.hasSuffix(line) }.count
    #expect(written + writer.dropped == count)
    // In the format of the others.
    let counts = try told.map { line in
      let tree = JSONTree(try JSONText(validating: String(line)))
      return try #require(tree.member("dropped", of: .root).flatMap { tree.int64($0) })
    }
    #expect(counts.reduce(0, +) == Int64(writer.dropped))
    #expect(numbers.first == 0)
  }

  /// Reads on a thread of its own.
  private final class Reading: Sendable {
    private let text = Mutex("")
    private let isOver = DispatchSemaphore(value: 0)

    init(_ handle: FileHandle) {
      let thread = Thread { [self] in
        let bytes = handle.readDataToEndOfFile()
        text.withLock { $0 = String(decoding: bytes, as: UTF8.self) }
        isOver.signal()
      }
      thread.start()
    }

    func end() -> String {
      isOver.wait()
      return text.withLock { $0 }
    }
  }
}

@Suite("Refused connections in the log")
struct RefusedConnectionLogTests {
  /// Keeps the lines that it is given.
  private struct Kept: LogHandler {
    final class Lines: Sendable {
      let all = Mutex<[String]>([])
    }

    let lines: Lines
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.info

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let fields = (event.metadata ?? [:]).map { "\($0.key)=\($0.value)" }.sorted().joined(separator: " ")
      lines.all.withLock { $0.append("\(event.level) \(event.message) \(fields)") }
    }
  }

  @Test func `each has a reason, and of too many in a second the number is told`() {
    let lines = Kept.Lines()
    let start = ContinuousClock.now
    let passed = Mutex(Duration.zero)
    let log = RefusalLog(Logger(label: "test") { _ in Kept(lines: lines) }) { start + passed.withLock { $0 } }
    for _ in 0..<RefusalLog.mostLines + 5 { log.write(ServerEvent(.turnedAway(reason: "full"))) }
    #expect(lines.all.withLock { $0.count } == RefusalLog.mostLines)
    #expect(lines.all.withLock { $0.first } == "notice connection turned away reason=full")
    passed.withLock { $0 = .seconds(1) }
    log.write(ServerEvent(.handshakeFailed(reason: "no cipher in common")))
    #expect(
      lines.all.withLock { $0.suffix(2) } == [
        "notice more connections were refused count=5", "notice no TLS reason=no cipher in common",
      ])
  }
}

@Suite("The log of requests")
struct RequestLogTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"

  /// What a server logs of requests: one that succeeds, one that does not, one with a ticket, and one that cannot be read.
  private func lines(_ arguments: [String]) throws -> [String] {
    let server = try RunningServer(["--log-level", "error"] + arguments)
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
    let fields = [("traceparent", "00-\(Self.trace)-00f067aa0ba902b7-01")]
    _ = try client.request("PUT", "/properties/a?ttl=60s", fields: fields, body: Array("\"canary1\"".utf8))
    _ = try client.request("GET", "/properties/b%20c", fields: [("traceparent", "00-\(Self.trace)-0-01")])
    _ = try client.request("GET", "/events?match=**&ticket=canary2&token=canary3", fields: [("Cookie", "canary4")])
    try client.send(Array("GET / canary5 HTTP/1.1\r\n\r\n".utf8), timeout: .seconds(30))
    _ = try? client.receive(answering: "GET", timeout: .seconds(30))
    let end = server.stop()
    #expect(!end.errors.contains("canary"), "\(end.errors)")
    return end.errors.split(separator: "\n").map(String.init).filter { $0.contains(" request ") || $0.hasPrefix("{") }
  }

  @Test func `by default there is none`() throws {
    #expect(try lines([]).isEmpty)
  }

  @Test func `errors are those refused`() throws {
    let lines = try lines(["--log-requests", "errors"])
    #expect(lines.contains { $0.contains(" method=GET path=/properties/b%20c status=404 code=not_found bytes=") })
    #expect(lines.contains { $0.contains(" path=/events status=") })
    #expect(lines.contains { $0.contains(" status=400 code=bad_request") && !$0.contains("method=") })
    // The parent is too short, so that there is no trace.
    #expect(!lines.contains { $0.contains("trace=") } && !lines.contains { $0.contains("status=201") })
  }

  @Test func `all are objects for machines`() throws {
    let lines = try lines(["--log-requests", "all", "--log-format", "json"])
    let objects = try lines.map { Members(tree: JSONTree(try JSONText(validating: $0)), node: .root) }
    let put = try #require(objects.first { $0.string("method") == "PUT" })
    #expect(put.string("path") == "/properties/a" && put.string("trace") == Self.trace)
    #expect(put.string("parent") == "00f067aa0ba902b7" && put.string("message") == "request")
    let line = try #require(lines.first { $0.contains("PUT") })
    #expect(line.contains(#""status":201,"#) && line.contains(/"duration":0\.[0-9]{6}[,}]/), "\(line)")
    #expect(line.contains(/"bytes":[1-9][0-9]*[,}]/))
  }

  @Test func `of those that succeed one in so many is logged, and each error`() throws {
    let server = try RunningServer([
      "--log-level", "error", "--log-requests", "all", "--log-sample", "5", "--loops", "1",
    ])
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
    for _ in 0..<20 { _ = try client.request("GET", "/health/live") }
    for _ in 0..<3 { _ = try client.request("GET", "/properties/no") }
    let lines = server.stop().errors.split(separator: "\n")
    #expect(lines.filter { $0.contains("path=/health/live") }.count == 4)
    #expect(lines.filter { $0.contains("status=404") }.count == 3)
  }
}
