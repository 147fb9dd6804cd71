// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// How a wait ends that has not been abandoned.
protocol WaitAnswer: AnyObject {
  /// - Parameters:
  ///   - revision: The revision of the store for which this is the property.
  ///   - isMet: Whether what was waited for has come.
  func send(_ found: StoredValue?, _ revision: Revision, isMet: Bool, on loop: isolated EventLoop)
}

/// One request that waits for a property to change (`docs/protocol.md` §2.1, "Waiting").
final class PropertyWait: RequestWait {
  /// What is waited for: both, when both are given.
  struct Condition {
    /// The property has changed after this cursor, or it cannot be told whether it has.
    let since: Cursor?
    /// The expression holds for what is there.
    let until: Filter?
  }

  let path: PropertyPath
  /// Where the store was when the request was judged: what comes from the time before is known.
  fileprivate let judgedAt: Revision
  private let condition: Condition
  private unowned let waits: PropertyWaits
  private let answer: any WaitAnswer

  fileprivate init(
    _ path: PropertyPath, _ condition: Condition, judgedAt revision: Revision, in waits: PropertyWaits,
    answer: any WaitAnswer
  ) {
    self.path = path
    self.condition = condition
    judgedAt = revision
    self.waits = waits
    self.answer = answer
  }

  /// Whether a change after the request was judged is what is waited for; it is newer than any cursor then.
  fileprivate func isMet(by change: Change) -> Bool {
    change.revision > judgedAt && (condition.until?.holds(forPath: path, change.new) ?? true)
  }

  fileprivate func meet(_ change: Change, on loop: isolated EventLoop) {
    answer.send(change.new, change.revision, isMet: true, on: loop)
  }

  func timeIsUp(on loop: isolated EventLoop) {
    waits.remove(self)
    // The change may be on its way.
    let (found, revision, isMet) = waits.judge(path, condition)
    answer.send(found, revision, isMet: isMet, on: loop)
  }

  func abandoned(on loop: isolated EventLoop) { waits.remove(self) }
}

/// The requests of one loop that wait, by the property that they wait for.
///
/// Without one it does not observe the store; with some, a change of another property costs a look into a table on the
/// thread that made it, and does not wake the loop.
final class PropertyWaits: TurnParticipant {
  private let store: PropertyStore
  private let turnProperties: Int
  private let changes: AwaitedChanges
  private var waits: [PropertyPath: [PropertyWait]] = [:]
  private var feed: Subscription?

  /// - Parameter turnProperties: Changes of the history that are looked at for one request.
  init(store: PropertyStore, turnProperties: Int, loop: isolated EventLoop) {
    self.store = store
    self.turnProperties = turnProperties
    changes = AwaitedChanges { [weak loop] in loop?.wake() }
  }

  /// Judges what is there, and if that is not what is waited for, makes a wait.
  ///
  /// - Returns: the wait, or what is there already.
  func begin(
    _ path: PropertyPath, _ condition: PropertyWait.Condition,
    answer: any WaitAnswer
  ) -> (wait: PropertyWait?, found: StoredValue?, revision: Revision) {
    // First the table, then what is there: what happens in between is in both, and recognized by its revision.
    if feed == nil { feed = store.changes.subscribe { [changes] commit in changes.put(commit) } }
    changes.expect(path)
    let (found, revision, isMet) = judge(path, condition)
    if isMet {
      forget(path)
      return (nil, found, revision)
    }
    let wait = PropertyWait(path, condition, judgedAt: revision, in: self, answer: answer)
    waits[path, default: []].append(wait)
    return (wait, found, revision)
  }

  /// Whether what is waited for is there.
  func judge(
    _ path: PropertyPath, _ condition: PropertyWait.Condition
  ) -> (found: StoredValue?, revision: Revision, isMet: Bool) {
    let (found, revision) = store.read(bytes: path.bytes.span)
    let isNewer = condition.since.map { isChanged(path, found, after: $0, at: revision) } ?? true
    return (found, revision, isNewer && (condition.until?.holds(forPath: path, found) ?? true))
  }

  /// Whether the property has changed after the cursor; true when that cannot be told.
  private func isChanged(
    _ path: PropertyPath, _ found: StoredValue?, after cursor: Cursor, at revision: Revision
  ) -> Bool {
    guard cursor.epoch == store.epoch, cursor.revision <= revision else { return true }
    if let found { return found.revision > cursor.revision }
    guard let missed = store.changes(since: cursor) else { return true }
    var budget = turnProperties
    for commit in missed {
      budget -= commit.count
      // The history may have gone on since the property was read: what is newer comes to the wait.
      if budget < 0 || commit.contains(where: { $0.path == path && $0.revision <= revision }) { return true }
    }
    return false
  }

  func remove(_ wait: PropertyWait) {
    guard let index = waits[wait.path]?.firstIndex(where: { $0 === wait }) else { return }
    waits[wait.path]?.remove(at: index)
    if waits[wait.path]?.isEmpty == true { waits[wait.path] = nil }
    forget(wait.path)
  }

  private func forget(_ path: PropertyPath) {
    changes.forget(path)
    if waits.isEmpty {
      feed?.cancel()
      feed = nil
    }
  }

  func turnBegins(on loop: isolated EventLoop) { if feed != nil { changes.ownerWillTake() } }

  func turnEnds(on loop: isolated EventLoop) {
    // Whoever begins to observe does so within a turn, so its end comes here.
    guard feed != nil else { return }
    for change in changes.take() {
      for wait in waits[change.path] ?? [] where wait.isMet(by: change) {
        remove(wait)
        wait.meet(change, on: loop)
      }
    }
  }
}

/// The changes of properties that are waited for, on their way from any thread to one loop.
private final class AwaitedChanges: Sendable {
  private struct State {
    /// How many wait for each.
    var paths: [PropertyPath: Int] = [:]
    var changes: [Change] = []
    var ownerWillTake = false
  }

  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  func expect(_ path: PropertyPath) { state.withLock { $0.paths[path, default: 0] += 1 } }

  func forget(_ path: PropertyPath) {
    state.withLock { state in
      guard let count = state.paths[path] else { return }
      state.paths[path] = count > 1 ? count - 1 : nil
    }
  }

  func put(_ commit: Commit) {
    let mustWake = state.withLock { state in
      let wasEmpty = state.changes.isEmpty
      for change in commit where state.paths[change.path] != nil { state.changes.append(change) }
      return wasEmpty && !state.changes.isEmpty && !state.ownerWillTake
    }
    if mustWake { wake() }
  }

  func ownerWillTake() { state.withLock { $0.ownerWillTake = true } }

  func take() -> [Change] {
    state.withLock { state in
      state.ownerWillTake = false
      guard !state.changes.isEmpty else { return [] }
      var taken: [Change] = []
      swap(&taken, &state.changes)
      return taken
    }
  }
}
