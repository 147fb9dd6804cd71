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

  /// A subscriber that has begun, of which the events up to its beginning do not know.
  private struct Beginning {
    let revision: Revision
    /// Whether it knows the value of every property as of then.
    var knowsState: Bool
    /// Whether there was no other subscriber.
    var isFirst: Bool
  }

  private let band: Deadband
  private let limit: Int
  private var references: [PropertyPath: Reference] = [:]
  /// Whether all subscribers know the value before a change of a path of which nothing is kept.
  private var knowsOld = false
  /// In the order of their revisions, each of which occurs once.
  private var beginnings: [Beginning] = []

  /// A deadband of which no subscriber knows any value.
  ///
  /// - Parameter limit: Paths that are kept; when there are more, all are forgotten, and the next change of each is told.
  init(_ band: Deadband, limit: Int) {
    self.band = band
    self.limit = limit
  }

  /// A subscriber begins behind a revision: the events up to it, which may still be on their way, are judged without it.
  ///
  /// - Parameters:
  ///   - knowsState: Whether it is given the value of every property as of then.
  ///   - isFirst: Whether there is no other subscriber.
  ///   - judged: Up to where all events have been judged.
  mutating func join(at revision: Revision, knowsState: Bool, isFirst: Bool, judged: Revision) {
    while let first = beginnings.first, first.revision <= judged { beginFirst() }
    if let last = beginnings.indices.last, beginnings[last].revision == revision {
      beginnings[last].knowsState = beginnings[last].knowsState && knowsState
    } else {
      beginnings.append(Beginning(revision: revision, knowsState: knowsState, isFirst: isFirst))
    }
  }

  /// From here on the first of the subscribers that are to begin gets the events, too.
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

  /// Whether an event is to be told; revisions do not go back.
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
    // Of a number alone the tree allocates nothing.
    guard let text, let first = text.bytes.first, first == UInt8(ascii: "-") || first &- 0x30 < 10 else { return nil }
    let tree = JSONTree(text)
    return tree.double(tree.root)
  }
}
