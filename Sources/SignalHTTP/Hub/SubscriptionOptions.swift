// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// What events are about.
///
/// To the hub a message is a change that sets a value where there was none, and its revision is its number. It leaves no
/// state: nothing about it is resumed, conflated or marked.
enum Topic {
  case properties
  case signals
}

/// What a subscriber asks for, apart from where it begins and how many events it wants: equal options can share a
/// group.
struct SubscriptionOptions: Hashable {
  let patterns: [PathPattern]
  var filter: Filter?
  var topic = Topic.properties
  /// Whether leaving a state filter is told.
  var exit = true
  /// What events carry.
  var fields = EventFields.all
  /// The part of each value that the subscriber sees; nil is the whole.
  var pointer: JSONPointer?
  var delivery = DeliveryOptions()
  /// Nanoseconds of silence after which there is a bookmark; nil is the hub's.
  var bookmark: UInt64?

  func matches(_ path: PropertyPath) -> Bool { patterns.contains { $0.matches(path) } }

  /// Whether events follow the state of properties.
  ///
  /// A transition filter lets single changes through, which say nothing of those that it does not.
  var followsState: Bool { filter?.isState ?? true }

  /// What is to be told of a change whose path matches, to those who see whole values; nil when nothing is
  /// (`docs/protocol.md` §4 rule 3).
  ///
  /// - Parameter verdict: What the filter says, which is one of state then; nil when it has to be asked.
  func event(for change: inout FilteredChange, _ verdict: FilterVerdict? = nil) -> LiveEvent? {
    guard let filter else { return LiveEvent(change.change.op) }
    guard filter.isState else {
      guard filter.holds(forNew: &change) else { return nil }
      return LiveEvent(change.change.op)
    }
    // Of a correction nobody knows what was told before: whoever may have the property is told that it is gone.
    let matched =
      change.change.old != nil && (change.change.isCorrection || (verdict?.old ?? filter.holds(forOld: &change)))
    if change.change.new != nil, verdict?.new ?? filter.holds(forNew: &change) { return .didSet(entered: !matched) }
    guard matched else { return nil }
    if exit { return .didExit }
    return change.change.op == .set ? nil : LiveEvent(change.change.op)
  }

  /// What is to be told of a change whose path matches, with the values as the subscriber sees them.
  func see(_ change: inout FilteredChange) -> SeenEvent? {
    guard let pointer else {
      guard let event = event(for: &change) else { return nil }
      let change = change.change
      let wasThere =
        switch event {
        case .didSet(let entered): !entered && change.old != nil
        case .didDelete, .didExpire, .didExit: true
        }
      return SeenEvent(
        event: event, change: change, value: change.new?.value, oldValue: change.old?.value, wasThere: wasThere)
    }
    return see(&change, at: pointer)
  }

  /// Through a pointer a property is its part: one without that part counts as one without a value, and a change that
  /// leaves the part as it is is none.
  private func see(_ change: inout FilteredChange, at pointer: JSONPointer) -> SeenEvent? {
    let new = change.newPart(at: pointer)
    let old = change.oldPart(at: pointer)
    let isCorrection = change.change.isCorrection
    guard new != nil || old != nil || isCorrection else { return nil }
    let ended: LiveEvent = change.change.op == .expire ? .didExpire : .didDelete
    let wasThere: Bool
    let event: LiveEvent
    if let filter, filter.isState {
      wasThere = isCorrection || old != nil && filter.holds(forOld: &change)
      if new != nil, filter.holds(forNew: &change) {
        event = .didSet(entered: !wasThere)
      } else if wasThere, exit {
        event = .didExit
      } else if wasThere, new == nil {
        event = ended
      } else {
        return nil
      }
    } else {
      if let filter, !filter.holds(forNew: &change) { return nil }
      wasThere = old != nil || isCorrection
      event = new != nil ? .didSet(entered: false) : ended
    }
    if case .didSet(entered: false) = event, new == old, !isCorrection { return nil }
    return SeenEvent(event: event, change: change.change, value: new, oldValue: old, wasThere: wasThere)
  }

  /// What the subscriber sees of a property at rest; nil when it is not to be told.
  ///
  /// - Parameter work: What that has cost is taken from it.
  func see(_ stored: StoredValue, work: inout Int) -> JSONText? {
    work -= WorkCost.property
    if let filter, !filter.holds(forStored: stored, work: &work) { return nil }
    guard let pointer else { return stored.value }
    work -= WorkCost.tree(of: stored.value)
    let tree = JSONTree(stored.value)
    return tree.node(at: pointer).map { tree.text(of: $0) }
  }
}

/// What one subscription is told of a change.
struct SeenEvent {
  var event: LiveEvent
  let change: Change
  /// The value after the change, or the part of it that is seen.
  let value: JSONText?
  /// The value before.
  var oldValue: JSONText?
  /// Whether there was something to be seen before the change.
  let wasThere: Bool

  var path: PropertyPath { change.path }
}
