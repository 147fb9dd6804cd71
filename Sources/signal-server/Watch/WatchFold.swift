// SPDX-License-Identifier: MIT
import JSON

/// What `watch` knows: the cursor to resume from, and the value of each property that has been printed.
///
/// A pure value: messages go in, what to print comes out. Across any number of broken connections, every change is
/// printed once, or the state it led to is: after a `reset` only what differs from what was printed before.
///
///     hello ──▶ idle ── ok ─────────────▶ snapshot ── live ──▶ live
///                │ ok, recovered                                 ▲
///                ├────────────▶ missed ───────────────── live ───┤
///                │ ok, not recovered; reset                      │
///                └────────────────────▶ snapshot ─────── live ───┘
struct WatchFold: Sendable {
  /// A line to print about one property.
  enum Line: Equatable, Sendable {
    /// It has this value, in a snapshot.
    case present(path: String, value: JSONText)
    /// It was set; `old` is nil when there was none or it is not known.
    case set(path: String, old: JSONText?, new: JSONText, entered: Bool)
    /// It is gone.
    case deleted(path: String, old: JSONText?)
    /// It has expired.
    case expired(path: String, old: JSONText?)
    /// A message has come through this signal.
    case signal(path: String, message: JSONText)
    /// It no longer matches; `new` is nil when the value it has now is not known.
    case left(path: String, old: JSONText?, new: JSONText?)
  }

  private enum Phase {
    case idle
    /// Between `ok` or `reset` and `live`: the present state, property by property.
    case snapshot
    /// Between a granted resumption and `live`: changes, in order.
    case missed
    case live
  }

  /// Paths compare by their bytes: two that differ only in composition are two properties.
  private typealias Path = [UInt8]

  /// Where to resume, in the form of `since`; nil before a point is certain.
  private(set) var cursor: String?
  private let asksForInitial: Bool
  private let reportsVanished: Bool
  private let vanishedHaveLeft: Bool
  private(set) var epoch = ""
  private var phase = Phase.idle
  private let keepsState: Bool
  private var known: [Path: JSONText] = [:]
  /// The paths of the current snapshot so far.
  private var seen: Set<Path> = []
  private var hasBeenLive = false
  /// What was printed of a transaction, or after a gap, and is not covered by the cursor yet.
  private var printed: [Path: UInt64] = [:]

  /// - Parameters:
  ///   - cursor: where the user wants to resume.
  ///   - initial: whether the first subscription asks for the present state.
  ///   - filter: what the subscription lets through.
  ///   - keepsState: whether values are remembered; without, each snapshot is printed completely.
  init(cursor: String? = nil, initial: Bool = true, filter: Filter = .none, keepsState: Bool = true) {
    self.cursor = cursor
    asksForInitial = initial
    reportsVanished = filter != .transition && filter != .stateWithoutExit
    vanishedHaveLeft = filter == .state
    self.keepsState = keepsState
  }

  /// The kinds of filter, as they decide what it means that a property is not in a new snapshot.
  enum Filter: Sendable {
    /// All changes: it was deleted.
    case none
    /// A condition on the value: it no longer matches, or was deleted.
    case state
    /// The same, but exits are not printed.
    case stateWithoutExit
    /// A condition on the change: it means nothing.
    case transition
  }

  /// A connection begins.
  mutating func begin(epoch: String) {
    if epoch != self.epoch { printed = [:] }
    self.epoch = epoch
    phase = .idle
  }

  /// The subscription is granted.
  mutating func granted(recovered: Bool?) {
    switch recovered {
    case true?: phase = .missed
    case false?: phase = .idle
    case nil: phase = asksForInitial ? .snapshot : .idle
    }
    seen = []
  }

  /// The known state is invalid; a snapshot follows.
  mutating func reset() {
    printed = [:]
    phase = .snapshot
    seen = []
  }

  /// A change, or a property of a snapshot; nil when it has been printed before.
  mutating func take(_ change: WatchedChange) -> Line? {
    let path = Path(change.path.utf8)
    if case .snapshot = phase, let value = change.value {
      if keepsState { seen.insert(path) }
      guard let old = remember(value, at: path) else {
        return hasBeenLive && keepsState
          ? .set(path: change.path, old: nil, new: value, entered: false) : .present(path: change.path, value: value)
      }
      return old == value ? nil : .set(path: change.path, old: old, new: value, entered: false)
    }
    let isKnown = printed[path].map { change.revision <= $0 } ?? false
    if change.more {
      if !isKnown { printed[path] = change.revision }
    } else {
      cursor = "\(epoch).\(change.revision)"
      printed = printed.filter { $0.value > change.revision }
    }
    if isKnown { return nil }
    let before = known[path]
    switch change.kind {
    case .set:
      guard let value = change.value else { return nil }
      _ = remember(value, at: path)
      return .set(path: change.path, old: change.oldValue, new: value, entered: change.entered)
    case .deleted:
      known[path] = nil
      return .deleted(path: change.path, old: change.oldValue ?? before)
    case .expired:
      known[path] = nil
      return .expired(path: change.path, old: change.oldValue ?? before)
    case .left:
      known[path] = nil
      return .left(path: change.path, old: change.oldValue ?? before, new: change.value)
    }
  }

  /// Stores a value; returns the previous one.
  private mutating func remember(_ value: JSONText, at path: Path) -> JSONText? {
    keepsState ? known.updateValue(value, forKey: path) : nil
  }

  /// The snapshot, or what was missed, is complete as of the revision; returns the remaining lines.
  mutating func live(revision: UInt64) -> [Line] {
    defer {
      phase = .live
      hasBeenLive = true
      cursor = "\(epoch).\(revision)"
    }
    guard case .snapshot = phase else { return [] }
    let vanished = known.filter { !seen.contains($0.key) }.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    for (path, _) in vanished { known[path] = nil }
    guard reportsVanished else { return [] }
    return vanished.map { path, old in
      let path = String(decoding: path, as: UTF8.self)
      return vanishedHaveLeft ? .left(path: path, old: old, new: nil) : .deleted(path: path, old: old)
    }
  }

  /// Where to resume after a message, which has not been handled yet; nil when it gives no such point (rule 4).
  func cursor(behind message: ServerMessage) -> String? {
    switch message {
    case .change(let change):
      if case .snapshot = phase { return nil }
      return change.more ? nil : "\(epoch).\(change.revision)"
    case .gap(let revision, _, _, let more): return more ? nil : "\(epoch).\(revision)"
    case .live(let revision), .bookmark(let revision): return "\(epoch).\(revision)"
    case .hello, .ok, .error, .signal, .reset, .other: return nil
    }
  }

  /// The cursor of a quiet subscription has advanced.
  mutating func bookmark(revision: UInt64) { cursor = "\(epoch).\(revision)" }
}
