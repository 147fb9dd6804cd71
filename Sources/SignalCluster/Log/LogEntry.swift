// SPDX-License-Identifier: MIT

internal import JSON
package import SignalStore

/// An entry of the log, as an ``EntryWriter`` has written it.
package struct LogEntry: Sendable {
  enum Content: Sendable {
    case commit(time: Timestamp, changes: [Part])
    /// The property keeps its value, and has another lease or fails for another reason.
    case renewal(PropertyPath, Extra)
    case other(Record)
  }

  /// A change, before its revision is known.
  enum Part: Sendable {
    case set(PropertyPath, JSONText, Extra)
    case end(PropertyPath, Change.Operation, isCorrection: Bool)
  }

  /// What a property has beside its value.
  struct Extra: Sendable {
    var lease: Lease?
    var computation: Computation?
    /// Whether the formula is that which the property has already, and why its value is null.
    var keepsFormula = false
    var error: String?
    var isCorrection = false
  }

  let content: Content
  /// The forwarded operation that has made it; nil for none.
  package let operation: String?

  /// The record of the store that has written it, given its replica at that time; nil when the two do not fit.
  package func record(in replica: borrowing Replica) -> Record? {
    switch content {
    case .other(let record): return record
    case .renewal(let path, let extra):
      guard let old = replica.value(at: path), let extra = extra.completed(by: old) else { return nil }
      return .amendment(Self.property(old.path, old.value, old.revision, old.time, extra))
    case .commit(let time, let parts):
      let revision = Revision(replica.revision.number + 1)
      var changes: [WrittenCommit.Change] = []
      changes.reserveCapacity(parts.count)
      for part in parts {
        switch part {
        case .set(let path, let value, let written):
          let old = written.keepsFormula ? replica.value(at: path) : nil
          guard let extra = written.completed(by: old) else { return nil }
          changes.append(
            .set(Self.property(path, value, revision, time, extra), isCorrection: extra.isCorrection))
        case .end(let path, let operation, let isCorrection):
          changes.append(.end(path, operation, isCorrection: isCorrection))
        }
      }
      return WrittenRecord.commit(WrittenCommit(revision: revision, time: time, changes: changes)).record(in: replica)
    }
  }

  static func property(
    _ path: PropertyPath, _ value: JSONText, _ revision: Revision, _ time: Timestamp, _ extra: Extra
  ) -> StoredValue {
    if let computation = extra.computation {
      return StoredValue(path: path, value: value, revision: revision, time: time, computation: computation)
    }
    return StoredValue(path: path, value: value, revision: revision, time: time, lease: extra.lease)
  }
}

extension LogEntry.Extra {
  /// With the formula that the property has already, where that is meant; nil when it has none.
  fileprivate func completed(by old: StoredValue?) -> Self? {
    guard keepsFormula else { return self }
    guard let formula = old?.computation?.formula else { return nil }
    var completed = self
    completed.computation = Computation(formula, error: error)
    return completed
  }
}

/// Entries of a log cannot be read.
package struct LogEntryError: Error, Equatable {}

// MARK: - Reading

extension LogEntry {
  /// Reads a line; what it holds is not trusted.
  package init(_ line: ArraySlice<UInt8>) throws(LogEntryError) {
    guard let tree = LogRecord.tree(of: line), tree.kind(of: tree.root) == .object else { throw LogEntryError() }
    let reader = EntryReader(tree: tree)
    operation = reader.member("op").flatMap { tree.string($0) }
    if let changes = reader.member("c") {
      guard tree.kind(of: changes) == .array, tree.count(of: changes) > 0 else { throw LogEntryError() }
      let time = try reader.time("time")
      var parts: [Part] = []
      parts.reserveCapacity(tree.count(of: changes))
      for node in tree.elements(of: changes) { parts.append(try reader.change(node)) }
      content = .commit(time: time, changes: parts)
    } else if let path = reader.member("renew") {
      content = .renewal(try reader.path(path), try reader.extra(tree.root))
    } else if let path = reader.member("signal") {
      let isKept = reader.member("kept").flatMap { tree.bool($0) } ?? false
      content = .other(.signal(try reader.message(path), isKept: isKept))
    } else if let path = reader.member("fired") {
      content = .other(.timerFired(try reader.message(path), count: Int(try reader.number("count"))))
    } else if let path = reader.member("timer") {
      if reader.member("removed") != nil {
        content = .other(.timerRemoved(try reader.path(path)))
      } else {
        content = .other(.timer(try reader.timer(path)))
      }
    } else if reader.member("will") != nil {
      guard let operations = reader.member("operations") else { throw LogEntryError() }
      let text = tree.kind(of: operations) == .null ? nil : tree.text(of: operations)
      content = .other(.lastOperations(Holder(number: try reader.number("will")), text))
    } else {
      throw LogEntryError()
    }
  }
}

/// Reads the parts of an entry.
struct EntryReader {
  let tree: JSONTree

  /// Numbers are below it, so that adding to one cannot overflow.
  private static let numberLimit: UInt64 = 1 << 62
  private static let secondsLimit: Int64 = 1_000_000 * 366 * 86_400
  static let paths = PathLimits(depth: .max, segmentBytes: .max, bytes: .max)

  func member(_ name: String) -> JSONTree.Node? { tree.member(name, of: tree.root) }

  func number(_ name: String) throws(LogEntryError) -> UInt64 {
    guard let number = member(name).flatMap({ tree.uint64($0) }), number < Self.numberLimit else {
      throw LogEntryError()
    }
    return number
  }

  func time(_ name: String) throws(LogEntryError) -> Timestamp {
    guard let time = member(name).flatMap({ tree.string($0) }).flatMap({ Timestamp($0) }) else {
      throw LogEntryError()
    }
    return time
  }

  func path(_ node: JSONTree.Node) throws(LogEntryError) -> PropertyPath {
    guard let text = tree.string(node), let path = try? PropertyPath(text, limits: Self.paths) else {
      throw LogEntryError()
    }
    return path
  }

  func change(_ node: JSONTree.Node) throws(LogEntryError) -> LogEntry.Part {
    guard tree.kind(of: node) == .array else { throw LogEntryError() }
    var children = tree.elements(of: node)
    guard let verb = children.next().flatMap({ tree.string($0) }), let pathNode = children.next() else {
      throw LogEntryError()
    }
    let path = try path(pathNode)
    func end(_ operation: Change.Operation) throws(LogEntryError) -> LogEntry.Part {
      let extra = try children.next().map { (node) throws(LogEntryError) in try self.extra(node) }
      return .end(path, operation, isCorrection: extra?.isCorrection ?? false)
    }
    switch verb {
    case "set":
      guard let value = children.next() else { throw LogEntryError() }
      let text = tree.text(of: value)
      guard let extra = children.next() else { return .set(path, text, LogEntry.Extra()) }
      return .set(path, text, try self.extra(extra))
    case "delete": return try end(.delete)
    case "expire": return try end(.expire)
    case "release": return try end(.release)
    default: throw LogEntryError()
    }
  }

  func extra(_ node: JSONTree.Node) throws(LogEntryError) -> LogEntry.Extra {
    guard tree.kind(of: node) == .object else { throw LogEntryError() }
    var extra = LogEntry.Extra()
    extra.isCorrection = tree.member("corrects", of: node).flatMap { tree.bool($0) } ?? false
    var term: Lease.Term?
    if let ttl = tree.member("ttl", of: node) {
      let parts = tree.kind(of: ttl) == .array ? tree.elements(of: ttl).compactMap { tree.int64($0) } : []
      guard parts.count == 3 else { throw LogEntryError() }
      term = Lease.Term(end: Timestamp(milliseconds: parts[0]), length: try duration(parts[1], parts[2]))
    }
    var holder: Holder?
    if let node = tree.member("holder", of: node) {
      guard let number = tree.uint64(node), number < Self.numberLimit else { throw LogEntryError() }
      holder = Holder(number: number)
    }
    if term != nil || holder != nil { extra.lease = Lease(term: term, holder: holder) }
    if let computed = tree.member("computed", of: node) {
      guard extra.lease == nil else { throw LogEntryError() }
      extra.error = tree.member("error", of: node).flatMap { tree.string($0) }
      if tree.bool(computed) == true {
        extra.keepsFormula = true
      } else {
        guard let source = tree.string(computed) else { throw LogEntryError() }
        extra.computation = Computation(Formula(uncompiled: source), error: extra.error)
      }
    }
    return extra
  }

  private func duration(_ seconds: Int64, _ attoseconds: Int64) throws(LogEntryError) -> Duration {
    guard 0...Self.secondsLimit ~= seconds, 0..<1_000_000_000_000_000_000 ~= attoseconds else { throw LogEntryError() }
    return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
  }

  func message(_ pathNode: JSONTree.Node) throws(LogEntryError) -> SignalMessage {
    guard let message = member("message") else { throw LogEntryError() }
    return SignalMessage(
      path: try path(pathNode), message: tree.text(of: message), time: try time("time"), number: try number("number"))
  }

  func timer(_ pathNode: JSONTree.Node) throws(LogEntryError) -> StoredTimer {
    func length(_ name: String) throws(LogEntryError) -> Duration? {
      guard let node = member(name) else { return nil }
      let parts = tree.kind(of: node) == .array ? tree.elements(of: node).compactMap { tree.int64($0) } : []
      guard parts.count == 2 else { throw LogEntryError() }
      return try duration(parts[0], parts[1])
    }
    let schedule: TimerSchedule
    if let delay = try length("after") {
      schedule = .after(delay)
    } else if let interval = try length("every"), interval > .zero {
      schedule = .every(interval)
    } else if let time = member("at").flatMap({ tree.int64($0) }) {
      schedule = .at(Timestamp(milliseconds: time))
    } else {
      throw LogEntryError()
    }
    guard let message = member("message"), let start = member("start").flatMap({ tree.int64($0) }) else {
      throw LogEntryError()
    }
    return StoredTimer(
      path: try path(pathNode), schedule: schedule, message: tree.text(of: message),
      start: Timestamp(milliseconds: start), count: Int(try number("count")))
  }
}
