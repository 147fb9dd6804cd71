// SPDX-License-Identifier: MIT
import CEL
import SignalStore

/// What a subscriber asks for, apart from where it begins: equal options can share a group.
struct SubscriptionOptions: Hashable {
  let patterns: [PathPattern]
  let filter: Filter?
  /// Whether leaving a state filter is told.
  let exit: Bool
  /// Whether events hold the value before.
  let oldValue: Bool

  func matches(_ path: PropertyPath) -> Bool { patterns.contains { $0.matches(path) } }

  /// What is to be told of a change whose path matches; nil when nothing is (`docs/protocol.md` §4 rule 3).
  func event(for change: inout FilteredChange) -> LiveEvent? {
    guard let filter else { return change.change.op == .set ? .didSet(entered: false) : .didDelete }
    guard filter.isState else {
      guard filter.holds(forNew: &change) else { return nil }
      return change.change.op == .set ? .didSet(entered: false) : .didDelete
    }
    let matched = change.change.old != nil && filter.holds(forOld: &change)
    if change.change.new != nil, filter.holds(forNew: &change) { return .didSet(entered: !matched) }
    guard matched else { return nil }
    if exit { return .didExit }
    return change.change.op == .delete ? .didDelete : nil
  }
}
