// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// Writes records one after the other, in the form of ``RecordFormat``.
struct RecordWriter {
  private(set) var bytes: [UInt8] = []
  /// The time that was written last.
  private var time: Int64 = 0
  /// The revision of the commit that was written last.
  private var revision: Revision = 0

  /// Clears the buffer; the storage is kept unless it has become large.
  ///
  /// - Parameter revision: The revision of the last commit before those to be written.
  mutating func clear(after revision: Revision) {
    bytes.removeAll(keepingCapacity: bytes.capacity <= 1 << 20)
    time = 0
    self.revision = revision
  }

  mutating func append(_ record: Record) {
    switch record {
    case .commit(let commit): append(commit)
    case .amendment(let property):
      append(RecordFormat.amendment | part(of: property).rawValue)
      appendBody(property)
      append(number: property.revision.number)
      append(property.time)
    case .signal(let message, let isKept):
      append(isKept ? RecordFormat.keptSignal : RecordFormat.signal)
      append(message)
    case .timer(let timer):
      append(RecordFormat.timer)
      append(timer)
    case .timerFired(let message, let count):
      append(RecordFormat.timerFired)
      append(message)
      append(number: UInt64(count))
    case .timerRemoved(let path):
      append(RecordFormat.timerRemoved)
      append(text: path.bytes)
    case .lastOperations(let holder, let operations?):
      append(RecordFormat.lastOperations)
      append(number: holder.number)
      append(text: operations.bytes)
    case .lastOperations(let holder, nil):
      append(RecordFormat.noLastOperations)
      append(number: holder.number)
    case .rules(let rules):
      append(RecordFormat.rules)
      append(rules)
    case .omittedCommit, .omittedAmendment: break
    }
  }

  // MARK: Parts

  private mutating func append(_ commit: Commit) {
    if commit.revision.number > revision.number + 1 {
      append(RecordFormat.gap)
      append(number: commit.revision.number - revision.number - 1)
    }
    revision = commit.revision
    if commit.count == 1 {
      append(RecordFormat.change | part(of: commit.first))
      append(commit.time)
      appendBody(commit.first)
    } else {
      append(RecordFormat.commit)
      append(commit.time)
      append(number: UInt64(commit.count))
      for change in commit {
        append(part(of: change))
        appendBody(change)
      }
    }
  }

  private func part(of change: Change) -> UInt8 {
    let part: RecordFormat.Part =
      if let new = change.new {
        part(of: new)
      } else {
        switch change.op {
        case .set, .delete: .deleted
        case .expire: .expired
        case .release: .released
        }
      }
    return part.rawValue | (change.isCorrection ? RecordFormat.correction : 0)
  }

  private func part(of property: StoredValue) -> RecordFormat.Part {
    property.lease != nil ? .leased : property.computation != nil ? .computed : .plain
  }

  private mutating func appendBody(_ change: Change) {
    if let new = change.new { appendBody(new) } else { append(text: change.path.bytes) }
  }

  private mutating func appendBody(_ property: StoredValue) {
    append(text: property.path.bytes)
    append(text: property.value.bytes)
    appendExtra(of: property)
  }

  /// Appends what the property has beside its value, if anything.
  mutating func appendExtra(of property: StoredValue) {
    if let lease = property.lease {
      append(
        (lease.term == nil ? 0 : RecordFormat.LeasePart.term)
          | (lease.holder == nil ? 0 : RecordFormat.LeasePart.holder))
      if let term = lease.term {
        append(signed: term.end.milliseconds)
        append(term.length)
      }
      if let holder = lease.holder { append(number: holder.number) }
    } else if let computation = property.computation {
      append(text: Array(computation.formula.source.utf8))
      // The length plus one; 0 for none.
      append(number: UInt64(computation.error.map { $0.utf8.count + 1 } ?? 0))
      if let error = computation.error { bytes.append(contentsOf: error.utf8) }
    }
  }

  mutating func append(_ message: SignalMessage) {
    append(text: message.path.bytes)
    append(text: message.message.bytes)
    append(message.time)
    append(number: message.number)
  }

  mutating func append(_ rules: [PersistenceRule]) {
    append(number: UInt64(rules.count))
    for rule in rules { append(text: Array(rule.description.utf8)) }
  }

  mutating func append(_ timer: StoredTimer) {
    append(text: timer.path.bytes)
    switch timer.schedule {
    case .after(let delay):
      append(RecordFormat.Schedule.after.rawValue)
      append(delay)
    case .at(let time):
      append(RecordFormat.Schedule.at.rawValue)
      append(signed: time.milliseconds)
    case .every(let interval):
      append(RecordFormat.Schedule.every.rawValue)
      append(interval)
    }
    append(text: timer.message.bytes)
    append(signed: timer.start.milliseconds)
    append(number: UInt64(timer.count))
  }

  // MARK: Values

  private mutating func append(_ byte: UInt8) { bytes.append(byte) }

  private mutating func append(_ time: Timestamp) {
    append(signed: time.milliseconds - self.time)
    self.time = time.milliseconds
  }

  private mutating func append(_ length: Duration) {
    let (seconds, attoseconds) = length.components
    append(signed: seconds)
    append(signed: attoseconds)
  }

  mutating func append(text: some Collection<UInt8>) {
    append(number: UInt64(text.count))
    bytes.append(contentsOf: text)
  }

  mutating func append(signed number: Int64) {
    append(number: UInt64(bitPattern: number << 1 ^ number >> 63))
  }

  mutating func append(number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }
}
