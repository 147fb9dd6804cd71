// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// The changes of a series as a query sees them, one after the other: of the whole values, or of a part of each.
///
/// A change that leaves the part as it is, is no change of it, as for subscriptions (`docs/protocol.md` §4 rule 10).
/// What follows a gap is one in any case, as nothing is known of the part before it.
struct SeriesView {
  private let pointer: JSONPointer?
  /// What the last change came to: nothing is there before the first one.
  private var last = SeriesChange.Operation.delete

  /// - Parameter pointer: The part of each value; nil for the whole.
  init(_ pointer: JSONPointer?) { self.pointer = pointer }

  /// Goes on to the next change of the series.
  ///
  /// - Returns: nil when it is no change of the part.
  mutating func see(_ sample: Sample) -> SeriesChange.Operation? {
    guard let pointer else {
      return sample.kind == .unknown ? .gap : sample.value.map { .set($0) } ?? .delete
    }
    let operation: SeriesChange.Operation =
      sample.kind == .unknown ? .gap : sample.part(at: pointer).map { .set($0) } ?? .delete
    defer { last = operation }
    return operation == last ? nil : operation
  }
}

extension Sample {
  fileprivate func part(at pointer: JSONPointer) -> SeriesValue? {
    guard kind == .value else { return nil }
    let tree = JSONTree(JSONText(alreadyCompact: Array(text)))
    return tree.node(at: pointer).map { SeriesValue(tree.text(of: $0).bytes[...]) }
  }
}

extension SeriesChange.Operation {
  /// The value that there is behind it; nil when there is none, or it is not known.
  var value: SeriesValue? { if case .set(let value) = self { value } else { nil } }
}
