// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Those who may see the same of a subscription's properties: an audience, and the store that its conditions may ask.
struct Viewers: Hashable {
  let audience: Audience
  private let store: PropertyStore

  init(_ audience: Audience, of store: PropertyStore) {
    self.audience = audience
    self.store = store
  }

  static func == (a: Viewers, b: Viewers) -> Bool { a.audience == b.audience }

  func hash(into hasher: inout Hasher) { hasher.combine(audience) }

  /// Whether they may see a stored property, or a message.
  ///
  /// What decides about it is read from the store, which may be ahead of a snapshot or of the changes that are delivered.
  /// What depends on a newer value is not seen: when that value's own change is delivered, the subscriptions for which it
  /// decides begin anew.
  ///
  /// - Parameters:
  ///   - decided: The last revision that a value which decides may have; nil: any.
  ///   - work: The cost is subtracted from it.
  func see(_ stored: StoredValue, decided: Revision?, work: inout Int) -> Bool {
    work -= WorkCost.tree(of: stored.value)
    return admits(AccessSubject(reading: stored.path, JSONTree(stored.value), at: stored.time), decided, work: &work)
  }

  private func admits(_ subject: AccessSubject, _ decided: Revision?, work: inout Int) -> Bool {
    var isAhead = false
    let isSeen = audience.admits(subject, work: &work) { path in
      guard let found = store.read(bytes: path.bytes.span).value else { return nil }
      if let decided, found.revision > decided { isAhead = true }
      return found.value
    }
    return isSeen && !isAhead
  }
}

/// How a change appears to viewers.
enum Visibility {
  /// As it is.
  case whole
  /// Not at all.
  case hidden
  /// A value appears: they may not see the one before, if there was one.
  case entering
  /// A value disappears: they may not see the new one.
  case exiting
}

/// The last value of a property that viewers were found to see, or not to see.
///
/// The next change of the property replaces it, and asks for it again: with many audiences that question is half of what
/// they cost.
struct Judgement {
  private var stored: StoredValue?
  private var isSeen = false

  /// Larger values are not kept: each group has a judgement of its own.
  private static let valueBytes = 1024

  /// What was found for this value; nil when it is not the last.
  func ofValue(_ stored: StoredValue) -> Bool? { stored === self.stored ? isSeen : nil }

  mutating func note(_ stored: StoredValue?, isSeen: Bool) {
    self.stored = stored.flatMap { $0.value.bytes.count <= Self.valueBytes ? $0 : nil }
    self.isSeen = isSeen
  }
}

extension Viewers {
  /// How a change appears to them.
  ///
  /// A value that the same commit has set does not decide yet: by it the values before would be judged, too.
  ///
  /// - Parameters:
  ///   - topic: What the change is of; messages are judged by the present.
  ///   - last: What they were asked last; replaced.
  func visibility(of change: inout FilteredChange, _ topic: Topic, after last: inout Judgement) -> Visibility {
    let (path, time) = (change.change.path, change.change.time)
    let decided: Revision? = topic == .properties ? Revision(change.change.revision.number &- 1) : nil
    func sees(_ tree: JSONTree, work: inout Int) -> Bool {
      admits(AccessSubject(reading: path, tree, at: time), decided, work: &work)
    }
    var work = 0
    defer { change.spend(-work) }
    let known = change.change.old.flatMap { last.ofValue($0) }
    let old = known ?? change.oldTree.map { sees($0, work: &work) }
    guard let newTree = change.newTree else {
      return old == true || old == nil && change.change.isCorrection ? .whole : .hidden
    }
    let isSeen = sees(newTree, work: &work)
    if audience.isLasting { last.note(change.change.new, isSeen: isSeen) }
    if isSeen { return old == false ? .entering : .whole }
    return old == true || change.change.isCorrection ? .exiting : .hidden
  }
}
