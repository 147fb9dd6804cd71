// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// Reads what a ``SnapshotWriter`` has written, part by part.
struct SnapshotReader {
  private let key: ChainKey
  private var link = ChainLink.none
  private var part: UInt64 = 0
  private var isComplete = false
  private var position: LogPosition?
  private var time = Timestamp(milliseconds: .min)
  private var message: (number: UInt64, time: Timestamp) = (0, Timestamp(milliseconds: .min))
  private var properties: [StoredValue] = []
  private var signals: [SignalMessage] = []
  private var timers: [StoredTimer] = []
  private var lastOperations: [Holder: JSONText] = [:]

  init(key: ChainKey) { self.key = key }

  /// Takes the next part.
  mutating func take(_ bytes: [UInt8]) throws(LogEntryError) {
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    guard !isComplete, let tree = LogRecord.tree(of: bytes[..<end]), tree.kind(of: tree.root) == .object else {
      throw LogEntryError()
    }
    let head = EntryReader(tree: tree)
    guard head.member("kind").flatMap({ tree.string($0) }) == "snapshot", try head.number("v") <= LogRecord.version,
      try head.number("part") == part, head.member("prev").flatMap({ tree.string($0) }) == link.text
    else { throw LogEntryError() }
    isComplete = head.member("complete").flatMap { tree.bool($0) } ?? false
    var lines = bytes[min(end + 1, bytes.count)...].split(separator: UInt8(ascii: "\n"))[...]
    if part == 0 {
      guard let first = lines.popFirst() else { throw LogEntryError() }
      try takeState(first)
    }
    for line in lines { try take(line) }
    link = key.link(after: link, bytes)
    part += 1
  }

  /// What was read, and where the log is then; nil while parts are missing.
  ///
  /// - Parameter limits: Of the replica's history, which begins here.
  func result(limits: StoreLimits) -> (Replica, LogPosition)? {
    guard isComplete, let position, let epoch = position.epoch else { return nil }
    let kept = KeptSignals(number: message.number, time: message.time, messages: signals)
    let replica = Replica(
      epoch: epoch, revision: position.revision, time: time, properties: properties, signals: kept, timers: timers,
      lastOperations: lastOperations, limits: limits)
    return (replica, position)
  }

  private mutating func takeState(_ line: ArraySlice<UInt8>) throws(LogEntryError) {
    guard let tree = LogRecord.tree(of: line), tree.kind(of: tree.root) == .object else { throw LogEntryError() }
    let reader = EntryReader(tree: tree)
    func text(_ name: String) -> String? { reader.member(name).flatMap { tree.string($0) } }
    func time(_ name: String) -> Timestamp? {
      reader.member(name).flatMap { tree.int64($0) }.map { Timestamp(milliseconds: $0) }
    }
    guard let leader = text("leader"), let link = text("link").flatMap({ ChainLink($0) }),
      let epoch = text("epoch").flatMap({ Epoch($0) })
    else { throw LogEntryError() }
    position = LogPosition(
      sequence: try reader.number("sequence"), term: try reader.number("term"), leader: leader,
      number: try reader.number("n"), revision: Revision(try reader.number("revision")), link: link, epoch: epoch,
      entries: try reader.number("entries"))
    self.time = time("at") ?? self.time
    message = (try reader.number("message"), time("messageAt") ?? message.time)
  }

  private mutating func take(_ line: ArraySlice<UInt8>) throws(LogEntryError) {
    guard let tree = LogRecord.tree(of: line), tree.kind(of: tree.root) == .object else { throw LogEntryError() }
    let reader = EntryReader(tree: tree)
    guard let path = reader.member("p") else {
      switch try LogEntry(line).content {
      case .other(.signal(let message, _)): signals.append(message)
      case .other(.timer(let timer)): timers.append(timer)
      case .other(.lastOperations(let holder, let operations?)): lastOperations[holder] = operations
      case .other, .commit, .renewal: throw LogEntryError()
      }
      return
    }
    guard let value = reader.member("value"), let time = reader.member("at").flatMap({ tree.int64($0) }) else {
      throw LogEntryError()
    }
    properties.append(
      LogEntry.property(
        try reader.path(path), tree.text(of: value), Revision(try reader.number("revision")),
        Timestamp(milliseconds: time), try reader.extra(tree.root)))
  }
}
