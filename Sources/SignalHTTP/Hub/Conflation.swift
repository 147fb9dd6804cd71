// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Conflates events that could not be delivered one by one: keeps the newest of each path, and how many it stands for.
struct Conflation {
  private struct Entry {
    var newest: SeenEvent
    /// Whether the property was visible to the subscriber before the first of them.
    let wasThere: Bool
    let entered: Bool
    let oldValue: JSONText?
    /// How many events it stands for.
    var count: Int
    /// The number of its newest event, in the order of arrival.
    var order: Int
    var bytes: Int
  }

  /// What a subscriber is sent about the events that were left out.
  struct Gap: Equatable {
    let from: Revision
    let to: Revision
    /// How many events were left out.
    let count: Int
  }

  /// Approximate memory of an entry, apart from its texts.
  private static let entryBytes = 128

  private let followsState: Bool
  /// Whether an appearance and a disappearance cancel out.
  ///
  /// Not if some disappearances are not sent to the subscriber: it may still know of an earlier appearance. And not if
  /// it resumes: a unit cut short by its end, or by that of its connection, may already have delivered the appearance.
  private let cancels: Bool
  private let keepsOldValues: Bool
  private var entries: [PropertyPath: Entry] = [:]
  private var received = 0
  private var from: Revision = 0
  private var to: Revision = 0
  /// Approximate memory that it holds.
  private(set) var bytes = 0

  /// Creates an empty conflation.
  ///
  /// - Parameter isResuming: Whether it is for what was missed since a cursor.
  init(_ options: SubscriptionOptions, isResuming: Bool = false) {
    followsState = options.followsState
    cancels = options.followsState && (options.filter == nil || options.exit) && !isResuming
    keepsOldValues = options.fields.contains(.oldValue)
  }

  var isEmpty: Bool { received == 0 }

  /// The revision before the first conflated event; nil when there is none.
  var before: Revision? { isEmpty ? nil : Revision(from.number - 1) }

  /// Adds the next event; revisions must not decrease.
  mutating func add(_ seen: SeenEvent) {
    if received == 0 { from = seen.change.revision }
    to = seen.change.revision
    received += 1
    var seen = seen
    if !keepsOldValues { seen.oldValue = nil }
    let cost = Self.entryBytes + seen.path.bytes.count + (seen.value?.bytes.count ?? 0)
    if let index = entries.index(forKey: seen.path) {
      // The event of a transition filter is independent: it keeps the value before its own change.
      let old = (followsState ? entries.values[index].oldValue : seen.oldValue)?.bytes.count ?? 0
      bytes += cost + old - entries.values[index].bytes
      entries.values[index].bytes = cost + old
      entries.values[index].newest = seen
      entries.values[index].count += 1
      entries.values[index].order = received
      return
    }
    let all = cost + (seen.oldValue?.bytes.count ?? 0)
    entries[seen.path] = Entry(
      newest: seen, wasThere: seen.wasThere, entered: seen.event == .didSet(entered: true), oldValue: seen.oldValue,
      count: 1, order: received, bytes: all)
    bytes += all
  }

  /// Returns what is to be sent, in the order of the revisions, and is empty again.
  ///
  /// A property that appeared and disappeared is only counted, not sent; there is no gap when nothing was left out.
  mutating func take() -> (gap: Gap?, events: [SeenEvent]) {
    var events: [SeenEvent] = []
    events.reserveCapacity(entries.count)
    for entry in entries.values.sorted(by: { $0.order < $1.order }) {
      if let event = told(entry) { events.append(event) }
    }
    let left = received - events.count
    let gap = left == 0 ? nil : Gap(from: from, to: to, count: left)
    entries.removeAll(keepingCapacity: entries.count <= 64)
    received = 0
    bytes = 0
    return (gap, events)
  }

  private func told(_ entry: Entry) -> SeenEvent? {
    guard followsState, entry.count > 1 else { return entry.newest }
    var event = entry.newest
    event.oldValue = entry.oldValue
    switch event.event {
    case .didSet: event.event = .didSet(entered: entry.entered)
    case .didDelete, .didExpire, .didExit: if cancels, !entry.wasThere { return nil }
    }
    return event
  }
}
