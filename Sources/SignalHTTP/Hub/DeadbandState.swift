// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Suppresses changes of numbers that are too small, for the subscribers of one group: the last number sent to each of
/// them never differs from the current one by more than the band.
///
/// They may have been sent different numbers, because their subscriptions began at different times: so the range of
/// these is kept for each path. A change is sent when it is far enough from one end; then all know the same number
/// again.
struct DeadbandState {
  private struct Reference {
    /// The least and the greatest of the last numbers sent to the subscribers.
    var low: Double
    var high: Double
    /// The last number of the property, sent or not.
    var seen: Double

    /// Extends the range to a number that a subscriber knows.
    mutating func include(_ value: Double) {
      low = min(low, value)
      high = max(high, value)
    }
  }

  /// A subscriber that has begun, at a revision that the judged events have not reached yet.
  private struct Beginning {
    let revision: Revision
    /// Whether it knows the value of every property at that revision.
    var knowsState: Bool
    /// Whether there was no other subscriber.
    var isFirst: Bool
  }

  private let band: Deadband
  private let limit: Int
  private var references: [PropertyPath: Reference] = [:]
  /// Whether all subscribers know the value before a change of a path that has no entry.
  private var knowsOld = false
  /// In the order of their revisions, which are unique.
  private var beginnings: [Beginning] = []

  /// Creates a deadband whose subscribers know no value yet.
  ///
  /// - Parameter limit: Paths that are kept; when there are more, all are forgotten, and the next change of each is
  ///   sent.
  init(_ band: Deadband, limit: Int) {
    self.band = band
    self.limit = limit
  }

  /// Adds a subscriber that begins after a revision: pending events up to it are judged without this subscriber.
  ///
  /// - Parameters:
  ///   - knowsState: Whether it is sent the value of every property at that revision.
  ///   - isFirst: Whether there is no other subscriber.
  ///   - judged: The revision up to which all events have been judged.
  mutating func join(at revision: Revision, knowsState: Bool, isFirst: Bool, judged: Revision) {
    while let first = beginnings.first, first.revision <= judged { beginFirst() }
    if let last = beginnings.indices.last, beginnings[last].revision == revision {
      beginnings[last].knowsState = beginnings[last].knowsState && knowsState
    } else {
      beginnings.append(Beginning(revision: revision, knowsState: knowsState, isFirst: isFirst))
    }
  }

  /// Includes the first of the beginning subscribers, which gets the events from here on.
  private mutating func beginFirst() {
    let beginning = beginnings.removeFirst()
    guard beginning.knowsState, !beginning.isFirst else {
      references.removeAll()
      knowsOld = beginning.knowsState
      return
    }
    var index = references.values.startIndex
    while index < references.values.endIndex {
      references.values[index].include(references.values[index].seen)
      references.values.formIndex(after: &index)
    }
  }

  /// Whether an event is to be sent; revisions must not decrease.
  mutating func lets(_ seen: SeenEvent) -> Bool {
    while let first = beginnings.first, first.revision < seen.change.revision { beginFirst() }
    let path = seen.path
    guard case .didSet(let entered) = seen.event, let value = Self.number(seen.value) else {
      references[path] = nil
      return true
    }
    var reference = references[path]
    if reference == nil, knowsOld, !entered, seen.wasThere, let old = Self.number(seen.oldValue) {
      reference = Reference(low: old, high: old, seen: old)
    }
    if references.count >= limit, references[path] == nil {
      references.removeAll(keepingCapacity: true)
      knowsOld = false
    }
    if !entered, var known = reference, band.hides(value, since: known.low), band.hides(value, since: known.high) {
      known.seen = value
      references[path] = known
      return false
    }
    references[path] = Reference(low: value, high: value, seen: value)
    return true
  }

  private static func number(_ text: JSONText?) -> Double? {
    // For a plain number, the tree allocates nothing.
    guard let text, let first = text.bytes.first, first == UInt8(ascii: "-") || first &- 0x30 < 10 else { return nil }
    let tree = JSONTree(text)
    return tree.double(tree.root)
  }
}
