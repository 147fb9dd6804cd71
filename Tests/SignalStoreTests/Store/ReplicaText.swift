// SPDX-License-Identifier: MIT

import JSON

@testable import SignalStore

extension Replica {
  /// All that it holds, one line for each thing, so that two can be compared byte for byte.
  var lines: [String] {
    var lines = ["\(Cursor(epoch: epoch, revision: revision)) at \(time.milliseconds), \(tree.count) properties"]
    lines += StoreSnapshot(epoch: epoch, revision: revision, tree: tree).scan().map { "property \(Self.text(of: $0))" }
    let commits = self.commits
    lines.append("history \(commits.after)...\(commits.through)")
    for commit in commits {
      lines += commit.map { "@\(commit.revision) \(commit.time.milliseconds) \(Self.text(of: $0))" }
    }
    lines.append("signals \(signals.number) at \(signals.time.milliseconds), \(signals.bytes) bytes")
    lines += signals.messages.values.sorted { $0.path < $1.path }.map { signal in
      "signal \(signal.path) \(signal.message) \(signal.number) at \(signal.time.milliseconds)"
    }
    lines += timers.values.sorted { $0.path < $1.path }.map { timer in
      "timer \(timer.path) \(Self.text(of: timer.schedule)) \(timer.message) from \(timer.start.milliseconds), \(timer.count)"
    }
    lines += lastOperations.sorted { $0.key.number < $1.key.number }.map { "last \($0.key.number) \($0.value)" }
    return lines
  }

  /// By hand: the name that reflection knows costs more than all the rest.
  private static func name(of op: Change.Operation) -> String {
    switch op {
    case .set: "set"
    case .delete: "delete"
    case .expire: "expire"
    case .release: "release"
    }
  }

  private static func text(of schedule: TimerSchedule) -> String {
    switch schedule {
    case .after(let delay): "after \(delay.components)"
    case .at(let time): "at \(time.milliseconds)"
    case .every(let interval): "every \(interval.components)"
    }
  }

  private static func text(of change: Change) -> String {
    "\(name(of: change.op)) \(change.revision) \(change.time.milliseconds) new \(change.new.map(text) ?? "-") "
      + "old \(change.old.map(text) ?? "-")"
  }

  private static func text(of value: StoredValue) -> String {
    var text = "\(value.path) = \(value.value) @\(value.revision) \(value.time.milliseconds)"
    if let lease = value.lease {
      text += " until \(lease.term.map { "\($0.end.milliseconds) for \($0.length.components)" } ?? "-")"
      text += " holder \(lease.holder.map { "\($0.number)" } ?? "-")"
    }
    if let computation = value.computation { text += " by \(computation.formula.source), \(computation.error ?? "-")" }
    return text
  }
}

/// Keeps the records of a store.
final class RecordLog: RecordSink {
  private let log = Log<Record>()

  var records: [Record] { log.entries }

  func append(_ record: Record) { log.add(record) }
}

/// The first line in which two replicas differ; nil when there is none.
func difference(_ a: Replica, _ b: Replica) -> String? {
  let (a, b) = (a.lines, b.lines)
  for index in 0..<max(a.count, b.count) {
    let (one, other) = (index < a.count ? a[index] : "nothing", index < b.count ? b[index] : "nothing")
    if !one.utf8.elementsEqual(other.utf8) { return "\"\(one)\" and \"\(other)\"" }
  }
  return nil
}
