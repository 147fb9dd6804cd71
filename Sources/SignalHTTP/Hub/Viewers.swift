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

  /// Whether they may see a stored property.
  ///
  /// - Parameter work: The cost is subtracted from it.
  func see(_ stored: StoredValue, work: inout Int) -> Bool {
    work -= WorkCost.tree(of: stored.value)
    let subject = AccessSubject(reading: stored.path, JSONTree(stored.value), at: stored.time)
    return audience.admits(subject, work: &work) { store.read(bytes: $0.bytes.span).value?.value }
  }

  /// Whether they may see a value of a property, as of a change.
  ///
  /// What decides about it is read from the store, which may be ahead of the changes that are delivered: what depends on
  /// a newer value is not seen. That value's own change follows, and with it what is visible by it.
  ///
  /// - Parameter work: The cost is subtracted from it.
  fileprivate func see(_ tree: JSONTree, of change: Change, work: inout Int) -> Bool {
    let subject = AccessSubject(reading: change.path, tree, at: change.time)
    var isAhead = false
    let isSeen = audience.admits(subject, work: &work) { path in
      guard let found = store.read(bytes: path.bytes.span).value else { return nil }
      if found.revision > change.revision { isAhead = true }
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

extension Viewers {
  func visibility(of change: inout FilteredChange) -> Visibility {
    var work = 0
    defer { change.spend(-work) }
    let old = change.oldTree.map { see($0, of: change.change, work: &work) }
    guard let newTree = change.newTree else {
      return old == true || old == nil && change.change.isCorrection ? .whole : .hidden
    }
    if see(newTree, of: change.change, work: &work) { return old == false ? .entering : .whole }
    return old == true || change.change.isCorrection ? .exiting : .hidden
  }
}
