// SPDX-License-Identifier: MIT
import Dispatch
import Logging
import SignalHTTP
import SignalJournal
import SignalStore
import Synchronization

/// Writes the events of a server to its audit log, on a thread of its own.
final class AuditLog: Sendable {
  /// How long nothing is tried after a failure, in milliseconds.
  static let pause: Int64 = 1000
  /// The number of bytes that are written at a time, about.
  fileprivate static let bytesAtATime = 64 << 10

  /// Where events are recorded; they are wanted when a file is used.
  let queue: AuditQueue

  /// What the thread is asked for.
  private struct Orders {
    /// A file to be used instead of the present one, for the events from this one on.
    var file: OpenedFile?
    var first = 0
    var endsFile = false
    var isEnding = false
  }

  /// A file that is handed to the thread.
  final class OpenedFile: Sendable {
    private let file: Mutex<AuditFile?>

    /// - Parameter file: One that was opened before anything else was changed.
    init(_ file: consuming AuditFile) { self.file = Mutex(file) }

    func take() -> AuditFile? { file.withLock { $0.take() } }
  }

  private let orders = Mutex(Orders())
  private let signal: DispatchSemaphore
  private let thread = WorkerThread()
  private let isBegun = Atomic(false)
  private let logger: Logger

  init(_ logger: Logger) {
    self.logger = logger
    let signal = DispatchSemaphore(value: 0)
    self.signal = signal
    queue = AuditQueue { signal.signal() }
  }

  /// Writes to a file from now on what is of these topics; to none when there is no file.
  func use(_ file: OpenedFile?, _ topics: [AuditTopic]) {
    orders.withLock { orders in
      orders.file = file
      orders.first = queue.count
      orders.endsFile = file == nil
    }
    if file != nil, !isBegun.exchange(true, ordering: .acquiringAndReleasing) { thread.start { [self] in run() } }
    signal.signal()
    queue.want(file == nil ? [] : topics)
  }

  /// Writes what was recorded before, and ends.
  func close() {
    queue.want([])
    orders.withLock { $0.isEnding = true }
    signal.signal()
    thread.join()
  }

  // MARK: Thread

  private func run() {
    var writer = AuditWriter(logger)
    while true {
      if let deadline = writer.deadline {
        _ = signal.wait(
          timeout: .now() + .milliseconds(Int(max(1, deadline.milliseconds - Timestamp.now.milliseconds))))
      } else {
        signal.wait()
      }
      let (opened, next, endsFile, isEnding) = orders.withLock { orders in
        defer { (orders.file, orders.endsFile) = (nil, false) }
        return (orders.file, orders.first, orders.endsFile, orders.isEnding)
      }
      let (first, events, dropped) = queue.take()
      if let file = opened?.take() {
        // Where nothing can be written, the new file has what is left.
        let old = writer.isWriting ? events.prefix(max(0, next - first)) : []
        writer.write(old, dropped: 0, isEnd: false)
        writer.use(file)
        writer.write(events.dropFirst(old.count), dropped: dropped, isEnd: isEnding)
      } else {
        writer.write(events[...], dropped: dropped, isEnd: isEnding || endsFile)
      }
      if isEnding { return }
      if endsFile, opened == nil { writer.useNothing() }
    }
  }
}

/// What the thread of an audit log writes with.
private struct AuditWriter: ~Copyable {
  private var file: AuditFile? = nil
  private var tally = AuditTally()
  /// How many events are missing in the file since it was last written to, and why.
  private var missing = (count: 0, reason: "")
  /// Whether the last attempt has failed.
  private var hasFailed = false
  /// When the next one may be made; nil for at once.
  private var retry: Timestamp?
  private let logger: Logger

  init(_ logger: Logger) { self.logger = logger }

  /// When there is something to do though nothing is recorded.
  var deadline: Timestamp? {
    let times = [tally.end, missing.count > 0 ? retry ?? .now : nil].compactMap(\.self)
    return times.min()
  }

  /// Whether there is a file, and it takes what is written.
  var isWriting: Bool { file != nil && !hasFailed }

  mutating func use(_ file: consuming AuditFile) {
    self.file = consume file
    retry = nil
  }

  mutating func useNothing() { file = nil }

  /// Writes events, and those counted whose time is over.
  mutating func write(_ events: ArraySlice<AuditEvent>, dropped: Int, isEnd: Bool) {
    var lines: [UInt8] = []
    for event in events where tally.isFirst(event) {
      AuditLine.append(event, to: &lines)
      if lines.count >= AuditLog.bytesAtATime { append(&lines) }
    }
    for (first, last, count) in tally.take(at: .now, isEnd: isEnd) {
      AuditLine.append(count, like: first, until: last, to: &lines)
    }
    if !lines.isEmpty { append(&lines) }
    if dropped > 0 { missing = (missing.count + dropped, Self.slow) }
    if missing.count > 0 { append(&lines) }
    if isEnd { file?.sync() }
  }

  private static let slow = "the log was slower than the server"
  private static let failed = "the log could not be written"

  /// Appends lines to the file, behind a word about those that are missing.
  private mutating func append(_ lines: inout [UInt8]) {
    defer { lines.removeAll(keepingCapacity: true) }
    let count = lines.count { $0 == UInt8(ascii: "\n") }
    if let retry, Timestamp.now < retry { return miss(count) }
    var all: [UInt8] = []
    if missing.count > 0 { AuditLine.append(dropped: missing.count, because: missing.reason, at: .now, to: &all) }
    let isWord = !all.isEmpty
    all += lines
    guard let (left, failure) = file?.append(all) else {
      missing.count = 0
      if hasFailed { logger.notice("the audit log is written again") }
      (hasFailed, retry) = (false, nil)
      return
    }
    if !hasFailed {
      logger.error(
        "the audit log cannot be written: what happens meanwhile is missing in it",
        metadata: ["reason": "\(failure.reason)"])
    }
    hasFailed = true
    retry = Timestamp(milliseconds: Timestamp.now.milliseconds + AuditLog.pause)
    let lost = all.suffix(left).count { $0 == UInt8(ascii: "\n") }
    // The word about the missing ones comes first: it is lost only together with all.
    if isWord, lost == count + 1 { return miss(count) }
    missing.count = 0
    miss(lost)
  }

  private mutating func miss(_ count: Int) {
    missing.count += count
    if count > 0 { missing.reason = Self.failed }
  }
}
