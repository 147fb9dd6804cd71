// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Hides changes of numbers that are too small, for the subscribers of one group: what any of them was told last is
/// never further from the truth than the band.
///
/// They may have been told different numbers, because each began at another time: so what is kept of a path is the
/// range of these. A change is told when it is far enough from one end; then they all know the same again.
struct DeadbandState {
  private struct Reference {
    /// The least and the greatest number that a subscriber was told last.
    var low: Double
    var high: Double
    /// The number that the property had last, told or not.
    var seen: Double

    /// Takes a number that a subscriber knows into the range.
    mutating func include(_ value: Double) {
      low = min(low, value)
      high = max(high, value)
    }
  }

  private let band: Deadband
  private let limit: Int
  private var references: [PropertyPath: Reference] = [:]
  /// Whether all subscribers know the value before a change of a path of which nothing is kept.
  private var knowsOld: Bool
  /// Up to here there are changes that some subscriber neither gets nor knows the outcome of.
  private var unknownThrough: Revision = 0

  /// - Parameters:
  ///   - knowsState: Whether subscribers know the value that each property has when they begin.
  ///   - limit: Paths that are kept; when there are more, all are forgotten, and the next change of each is told.
  init(_ band: Deadband, knowsState: Bool, limit: Int) {
    self.band = band
    self.limit = limit
    knowsOld = knowsState
  }

  /// A subscriber begins behind a revision.
  ///
  /// - Parameter knowsState: Whether it is given the value of every property as of then.
  mutating func join(at revision: Revision, knowsState: Bool) {
    guard knowsState else {
      unknownThrough = max(unknownThrough, revision)
      references.removeAll()
      knowsOld = false
      return
    }
    var index = references.values.startIndex
    while index < references.values.endIndex {
      references.values[index].include(references.values[index].seen)
      references.values.formIndex(after: &index)
    }
  }

  /// Whether an event is to be told.
  ///
  /// - Parameter isInSnapshot: Whether a subscriber may have this value from its snapshot.
  mutating func lets(_ seen: SeenEvent, isInSnapshot: Bool) -> Bool {
    let path = seen.path
    if seen.change.revision <= unknownThrough {
      references[path] = nil
      return true
    }
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
      if isInSnapshot { known.include(value) }
      references[path] = known
      return false
    }
    references[path] = Reference(low: value, high: value, seen: value)
    return true
  }

  private static func number(_ text: JSONText?) -> Double? {
    // Of a number alone the tree allocates nothing.
    guard let text, let first = text.bytes.first, first == UInt8(ascii: "-") || first &- 0x30 < 10 else { return nil }
    let tree = JSONTree(text)
    return tree.double(tree.root)
  }
}
