// SPDX-License-Identifier: MIT
import Dispatch
import Glibc
import SignalHTTP
import SignalStore
import Synchronization

/// Writes the lines of the log in the background: who logs, which may be a loop with all its connections, never waits for
/// whoever reads them.
///
/// When they are not read as fast as they come, the newest are dropped and counted, and a line says so as soon as there is
/// room again.
final class LogWriter: Sendable {
  /// Lines that wait at most.
  static let mostLines = 8192
  /// Bytes of lines that one call writes, but for the last line.
  private static let writtenBytes = 64 << 10

  /// What is written: a line, or what becomes one when it is written.
  enum Item: Sendable {
    case line(String)
    case request(AnsweredRequest, at: Timestamp)
  }

  private struct State {
    var items: [(item: Item, handler: LineLogHandler)] = []
    /// Items that are being written and count as waiting.
    var taken = 0
    /// Items dropped since the last line about that.
    var dropped = 0
    /// Writes the line about them.
    var dropping: LineLogHandler?
    var isWriting = false
  }

  /// The standard error of the process.
  static let standard = LogWriter(descriptor: STDERR_FILENO)

  private let descriptor: Int32
  private let state = Mutex(State())
  private let droppedLines = Atomic<Int>(0)
  private let queue = DispatchQueue(label: "signal.log")

  /// - Parameter descriptor: Stays open as long as there is something to write.
  init(descriptor: Int32) { self.descriptor = descriptor }

  /// Lines that have been dropped so far.
  var dropped: Int { droppedLines.load(ordering: .relaxed) }

  /// Writes an item soon, as the handler has it, or drops it when too many wait.
  func put(_ item: Item, as handler: LineLogHandler) {
    let mustBegin = state.withLock { state in
      guard state.items.count + state.taken < Self.mostLines else {
        state.dropped += 1
        state.dropping = handler
        droppedLines.add(1, ordering: .relaxed)
        return false
      }
      state.items.append((item, handler))
      defer { state.isWriting = true }
      return !state.isWriting
    }
    if mustBegin { queue.async { self.write() } }
  }

  /// Waits until what has been put before is written, but not for long: nobody may be reading.
  ///
  /// - Returns: Whether it is written.
  @discardableResult
  func flush() -> Bool {
    let isDone = DispatchSemaphore(value: 0)
    queue.async { isDone.signal() }
    return isDone.wait(timeout: .now() + .seconds(1)) == .success
  }

  private func write() {
    while true {
      let (items, dropped, dropping) = state.withLock { state in
        var items: [(item: Item, handler: LineLogHandler)] = []
        swap(&items, &state.items)
        state.taken = items.count
        defer { (state.dropped, state.dropping) = (0, nil) }
        if items.isEmpty, state.dropped == 0 { state.isWriting = false }
        return (items, state.dropped, state.dropping)
      }
      if items.isEmpty, dropped == 0 { return }
      var bytes: [UInt8] = []
      for (item, handler) in items {
        bytes += handler.line(item).utf8
        bytes.append(UInt8(ascii: "\n"))
        guard bytes.count >= Self.writtenBytes else { continue }
        Terminal.write(bytes, to: descriptor)
        bytes.removeAll(keepingCapacity: true)
      }
      if let dropping {
        bytes += dropping.line(dropped: dropped, time: Timestamp.now.description).utf8
        bytes.append(UInt8(ascii: "\n"))
      }
      Terminal.write(bytes, to: descriptor)
      state.withLock { $0.taken = 0 }
    }
  }
}

extension LineLogHandler {
  /// The line of an item without its end.
  fileprivate func line(_ item: LogWriter.Item) -> String {
    switch item {
    case .line(let line): line
    case .request(let request, let time): line(time: time.description, request: request)
    }
  }
}
