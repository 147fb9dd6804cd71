// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalAccess
import SignalStore

/// What events are about.
///
/// The hub treats a message as a change that sets a value where there was none, with its number as the revision. It
/// leaves no state: messages are not resumed, conflated or bookmarked.
enum Topic {
  case properties
  case signals
}

/// What a subscriber asks for, apart from where it begins and how many events it wants: subscribers with equal options
/// can share a group.
struct SubscriptionOptions: Hashable {
  let patterns: [PathPattern]
  var filter: Filter?
  var topic = Topic.properties
  /// Whether leaving a state filter is sent.
  var exit = true
  /// The members that events carry.
  var fields = EventFields.all
  /// The part of each value that the subscriber sees; nil is the whole.
  var pointer: JSONPointer?
  var delivery = DeliveryOptions()
  /// Nanoseconds of silence after which a bookmark is sent; nil is the hub's setting.
  var bookmark: UInt64?
  /// Who may see what of the properties; nil: everybody everything.
  var viewers: Viewers?

  func matches(_ path: PropertyPath) -> Bool { patterns.contains { $0.matches(path) } }

  /// Whether events follow the state of properties.
  ///
  /// A transition filter lets single changes through, which say nothing about those that it does not.
  var followsState: Bool { filter?.isState ?? true }

  /// The event of a change whose path matches, for subscribers that see whole values; nil when there is none
  /// (`docs/protocol.md` §4 rule 3).
  ///
  /// - Parameter verdict: The result of the filter, which is a state filter then; nil when it has to be evaluated.
  func event(for change: inout FilteredChange, _ verdict: FilterVerdict? = nil) -> LiveEvent? {
    guard let filter else { return LiveEvent(change.change.op) }
    guard filter.isState else {
      guard filter.holds(forNew: &change) else { return nil }
      return LiveEvent(change.change.op)
    }
    // What was sent before a correction is not known: every subscriber that may know the property is sent its end.
    let matched =
      change.change.old != nil && (change.change.isCorrection || (verdict?.old ?? filter.holds(forOld: &change)))
    if change.change.new != nil, verdict?.new ?? filter.holds(forNew: &change) { return .didSet(entered: !matched) }
    guard matched else { return nil }
    if exit { return .didExit(.filter) }
    return change.change.op == .set ? nil : LiveEvent(change.change.op)
  }

  /// A name of what is seen, the same for all who see the same.
  var audienceMark: String { String(Audience.mark(of: viewers?.audience, patterns), radix: 36) }

  /// The event of a change whose path matches, with the values as the subscriber sees them.
  ///
  /// - Parameter last: What the viewers were asked last; replaced.
  func see(_ change: inout FilteredChange, after last: inout Judgement) -> SeenEvent? {
    guard let viewers else { return seeAll(&change) }
    switch change.visibility(to: viewers, topic, after: &last) {
    case .whole: return seeAll(&change)
    case .hidden: return nil
    case .entering: return seeEntering(&change)
    case .exiting: return seeExiting(&change)
    }
  }

  /// The event of a change of which the value before may not be seen.
  private func seeEntering(_ change: inout FilteredChange) -> SeenEvent? {
    guard let new = change.change.new else { return nil }
    var part = FilteredChange(Change(set: new, replacing: nil))
    defer { change.spend(part.work) }
    guard var seen = seeAll(&part) else { return nil }
    seen.event = .didSet(entered: true)
    return seen
  }

  /// The event of a change of which the new value may not be seen: an exit, if the subscriber had been sent the one
  /// before.
  private func seeExiting(_ change: inout FilteredChange) -> SeenEvent? {
    guard exit, followsState else { return nil }
    let old = if let pointer { change.oldPart(at: pointer) } else { change.change.old?.value }
    guard change.change.isCorrection || old != nil && (filter?.holds(forOld: &change) ?? true) else { return nil }
    return SeenEvent(
      event: .didExit(.access), change: change.change, value: nil, oldValue: old, wasThere: true)
  }

  private func seeAll(_ change: inout FilteredChange) -> SeenEvent? {
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
  /// leaves the part unchanged is no change.
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
        event = .didExit(.filter)
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

  /// The value of a stored property as the subscriber sees it; nil when it is not to be sent.
  ///
  /// - Parameters:
  ///   - decided: The last revision that a value which decides who sees it may have; nil: any.
  ///   - work: The cost is subtracted from it.
  func see(_ stored: StoredValue, decided: Revision?, work: inout Int) -> JSONText? {
    work -= WorkCost.property
    if let viewers, !viewers.see(stored, decided: decided, work: &work) { return nil }
    if let filter, !filter.holds(forStored: stored, work: &work) { return nil }
    guard let pointer else { return stored.value }
    work -= WorkCost.tree(of: stored.value)
    let tree = JSONTree(stored.value)
    return tree.node(at: pointer).map { tree.text(of: $0) }
  }
}

/// The event of a change as one subscription sees it.
struct SeenEvent {
  var event: LiveEvent
  let change: Change
  /// The value after the change, or the part of it that is seen.
  let value: JSONText?
  /// The value before.
  var oldValue: JSONText?
  /// Whether a value was visible before the change.
  let wasThere: Bool

  var path: PropertyPath { change.path }
}
