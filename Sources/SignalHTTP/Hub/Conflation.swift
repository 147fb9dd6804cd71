// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Events that could not be given one by one: of each path the newest, and how many went into it.
struct Conflation {
  private struct Entry {
    var newest: SeenEvent
    /// What the subscriber was told of the property before all this.
    let wasThere: Bool
    let entered: Bool
    let oldValue: JSONText?
    /// How many events went into it.
    var count: Int
    /// Its place in the order of what came last.
    var order: Int
    var bytes: Int
  }

  /// What a subscriber is told of those that it does not get.
  struct Gap: Equatable {
    let from: Revision
    let to: Revision
    /// How many events were left out.
    let count: Int
  }

  /// About what an entry costs besides its texts.
  private static let entryBytes = 128

  private let followsState: Bool
  /// Whether an appearance and a disappearance cancel out.
  ///
  /// Not where a subscriber is not told of every disappearance: it may know of an earlier appearance still. And not where
  /// it resumes: it may have been told of the appearance by a unit that its end, or that of its connection, has cut.
  private let cancels: Bool
  private let keepsOldValues: Bool
  private var entries: [PropertyPath: Entry] = [:]
  private var received = 0
  private var from: Revision = 0
  private var to: Revision = 0
  /// About how much memory it holds.
  private(set) var bytes = 0

  /// Nothing yet.
  ///
  /// - Parameter isResuming: Whether it is for what was missed since a cursor.
  init(_ options: SubscriptionOptions, isResuming: Bool = false) {
    followsState = options.followsState
    cancels = options.followsState && (options.filter == nil || options.exit) && !isResuming
    keepsOldValues = options.fields.contains(.oldValue)
  }

  var isEmpty: Bool { received == 0 }

  /// The revision before the first event in it; nil when there is none.
  var before: Revision? { isEmpty ? nil : Revision(from.number - 1) }

  /// Takes the next event; revisions do not go back.
  mutating func add(_ seen: SeenEvent) {
    if received == 0 { from = seen.change.revision }
    to = seen.change.revision
    received += 1
    var seen = seen
    if !keepsOldValues { seen.oldValue = nil }
    let cost = Self.entryBytes + seen.path.bytes.count + (seen.value?.bytes.count ?? 0)
    if let index = entries.index(forKey: seen.path) {
      // A transition filter's event stands for itself, with the value before its own change.
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

  /// Hands out what is to be told, in the order of the revisions, and is empty again.
  ///
  /// A property that appeared and disappeared is not told at all, only counted; there is no gap when nothing was left
  /// out.
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
