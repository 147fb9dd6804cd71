// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization

/// The recipient of the result of a wait that has not been abandoned.
protocol WaitAnswer: AnyObject {
  /// - Parameters:
  ///   - revision: The revision of the store at which this is the property.
  ///   - isMet: Whether the condition is met.
  func send(_ found: StoredValue?, _ revision: Revision, isMet: Bool, on loop: isolated EventLoop)
}

/// One request that waits for a property to change (`docs/protocol.md` §2.1, "Waiting").
final class PropertyWait: RequestWait {
  /// What is waited for: both conditions, when both are given.
  struct Condition {
    /// The property has changed after this cursor, or it cannot be determined whether it has.
    let since: Cursor?
    /// The expression holds for the current value.
    let until: Filter?
  }

  var isTimed: Bool { false }

  let path: PropertyPath
  /// The store's revision when the request arrived: earlier changes are already included.
  fileprivate let began: Revision
  fileprivate let condition: Condition
  /// The property when the request arrived, while its condition has not been evaluated and its time is not over.
  fileprivate var unjudged: (found: StoredValue?, revision: Revision)?
  /// Its time is over: it is answered with the current property.
  fileprivate var isLast = false
  /// It has been answered or abandoned.
  fileprivate var isOver = false
  private unowned let waits: PropertyWaits
  private let answer: any WaitAnswer

  fileprivate init(
    _ path: PropertyPath, _ condition: Condition, began revision: Revision, in waits: PropertyWaits,
    answer: any WaitAnswer
  ) {
    self.path = path
    self.condition = condition
    began = revision
    self.waits = waits
    self.answer = answer
  }

  fileprivate func send(_ found: StoredValue?, _ revision: Revision, isMet: Bool, on loop: isolated EventLoop) {
    isOver = true
    answer.send(found, revision, isMet: isMet, on: loop)
  }

  func timeIsUp(on loop: isolated EventLoop) { waits.judgeLast(self, on: loop) }

  func abandoned(on loop: isolated EventLoop) {
    isOver = true
    waits.remove(self)
  }
}

/// The waiting requests of one loop, by the property that they wait for.
///
/// Without any it does not observe the store; with some, a change of another property costs a table lookup on the
/// thread that made it, and does not wake the loop.
///
/// What a turn spends on their conditions is bounded (`TurnWork`): the rest is evaluated in the next, in order.
final class PropertyWaits: TurnParticipant {
  /// The cost of answering one, in the units of `TurnWork`.
  private static let answerCost = 500

  private let store: PropertyStore
  private let turnProperties: Int
  private let filterWork: Int
  private let cheapFilterWork: Int
  private let changes: AwaitedChanges
  private var waits: [PropertyPath: [PropertyWait]] = [:]
  private var feed: Subscription?
  /// Changes that have arrived, the next one last.
  private var pending: [Change] = []
  /// The current change, and the waits whose conditions have not been evaluated for it, the next one last.
  private var judged: FilteredChange?
  private var judges: [PropertyWait] = []
  /// Waits to be evaluated for an earlier or the current value, in order.
  private var toJudge: [PropertyWait] = []
  /// The recent cost of expensive conditions.
  private var recent = RecentWork()

  /// - Parameters:
  ///   - turnProperties: Changes of the history that are examined for one request.
  ///   - filterWork: What expensive conditions may cost per second.
  ///   - cheapFilterWork: A condition that costs no more is not counted.
  init(store: PropertyStore, turnProperties: Int, filterWork: Int, cheapFilterWork: Int, loop: isolated EventLoop) {
    self.store = store
    self.turnProperties = turnProperties
    self.filterWork = filterWork
    self.cheapFilterWork = cheapFilterWork
    changes = AwaitedChanges { [weak loop] in loop?.wake() }
  }

  /// Evaluates the condition for the current value, and if it is not met, creates a wait.
  ///
  /// In a turn that has no work left for it nothing is evaluated: that is done later, for the value that is current
  /// then.
  ///
  /// - Parameter time: How long it may wait.
  /// - Returns: the wait, or the current property, and whether the condition is met.
  func begin(
    _ path: PropertyPath, _ condition: PropertyWait.Condition, atMost time: Duration, answer: any WaitAnswer,
    on loop: isolated EventLoop
  ) -> (wait: PropertyWait?, found: StoredValue?, revision: Revision, isMet: Bool) {
    // The table first, then the current value: a change in between is in both, and recognized by its revision.
    if feed == nil {
      feed = store.changes.subscribe { [changes] commit in changes.put(commit) }
      loop.takePart(self)
    }
    changes.expect(path)
    let (found, revision) = read(path)
    let canJudge = loop.work.requests > 0 || condition.until == nil
    let isMet =
      canJudge && judge(path, condition, found, revision, work: &loop.work.requests)
    if isMet || (canJudge && time <= .zero) {
      forget(path)
      return (nil, found, revision, isMet)
    }
    let wait = PropertyWait(path, condition, began: revision, in: self, answer: answer)
    waits[path, default: []].append(wait)
    if !canJudge {
      wait.unjudged = (found, revision)
      wait.isLast = time <= .zero
      toJudge.append(wait)
      loop.continueInNextTurn()
    }
    return (wait, found, revision, false)
  }

  /// Answers a wait whose time is over, as soon as its condition has been evaluated.
  fileprivate func judgeLast(_ wait: PropertyWait, on loop: isolated EventLoop) {
    guard !wait.isOver, !wait.isLast else { return }
    wait.isLast = true
    if wait.unjudged == nil { toJudge.append(wait) }
    loop.continueInNextTurn()
  }

  private func read(_ path: PropertyPath) -> (StoredValue?, Revision) {
    let bytes = path.bytes
    return store.read(bytes: bytes.span)
  }

  /// Whether the current property meets the condition.
  private func judge(
    _ path: PropertyPath, _ condition: PropertyWait.Condition, _ found: StoredValue?, _ revision: Revision,
    work: inout Int
  ) -> Bool {
    let isNewer = condition.since.map { isChanged(path, found, after: store.present($0), at: revision) } ?? true
    return isNewer && (condition.until?.holds(forPath: path, found, work: &work) ?? true)
  }

  /// Whether the property has changed after the cursor; true when that cannot be determined.
  private func isChanged(
    _ path: PropertyPath, _ found: StoredValue?, after cursor: Cursor, at revision: Revision
  ) -> Bool {
    guard cursor.epoch == store.epoch, cursor.revision <= revision else { return true }
    if let found { return found.revision > cursor.revision }
    guard let missed = store.changes(since: cursor) else { return true }
    var budget = turnProperties
    for commit in missed {
      budget -= commit.count
      // The history may have advanced since the property was read: the wait receives newer changes.
      if budget < 0 || commit.contains(where: { $0.path == path && $0.revision <= revision }) { return true }
    }
    return false
  }

  fileprivate func remove(_ wait: PropertyWait) {
    guard let index = waits[wait.path]?.firstIndex(where: { $0 === wait }) else { return }
    waits[wait.path]?.remove(at: index)
    if waits[wait.path]?.isEmpty == true { waits[wait.path] = nil }
    forget(wait.path)
  }

  private func forget(_ path: PropertyPath) {
    changes.forget(path)
    guard waits.isEmpty else { return }
    feed?.cancel()
    feed = nil
    pending = []
    judged = nil
    judges = []
  }

  // MARK: Turns

  func turnBegins(on loop: isolated EventLoop) { if feed != nil { changes.ownerWillTake() } }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    // Observing begins within a turn, so the end of that turn is seen here.
    guard feed != nil else {
      // All waits are over.
      toJudge = []
      return false
    }
    let taken = changes.take()
    if !taken.isEmpty { pending.insert(contentsOf: taken.reversed(), at: 0) }
    judgeChanges(on: loop)
    // After the changes: waits whose conditions these meet are answered by them.
    if pending.isEmpty, judges.isEmpty { judgeFound(on: loop) }
    if pending.isEmpty, judges.isEmpty { judged = nil }
    if !pending.isEmpty || !judges.isEmpty || !toJudge.isEmpty { loop.continueInNextTurn() }
    return true
  }

  private func judgeChanges(on loop: isolated EventLoop) {
    while loop.work.waits > 0 {
      guard let wait = judges.popLast() else {
        guard let change = pending.popLast() else { return }
        var next = judged.take() ?? FilteredChange(change)
        next.begin(change)
        judged = next
        // Waits are evaluated in the order in which they began.
        judges = (waits[change.path] ?? []).reversed()
        continue
      }
      guard !wait.isOver, var change = judged.take() else { continue }
      let isMet = judge(wait, by: &change, on: loop)
      let met = change.change
      judged = change
      guard isMet else { continue }
      loop.work.waits -= Self.answerCost
      remove(wait)
      wait.send(met.new, met.revision, isMet: true, on: loop)
    }
  }

  /// Whether a change after the request arrived meets the condition; it is newer than any cursor then.
  private func judge(_ wait: PropertyWait, by change: inout FilteredChange, on loop: isolated EventLoop) -> Bool {
    loop.work.waits -= WorkCost.candidate
    guard change.change.revision > wait.began else { return false }
    guard let until = wait.condition.until else { return true }
    guard recent.isWithin(filterWork, at: loop.now) else { return false }
    let (before, evaluated) = (change.work, change.evaluated)
    let isMet = until.holds(forNew: &change)
    loop.work.waits -= change.work - before
    if change.evaluated - evaluated > cheapFilterWork { recent.add(change.evaluated - evaluated) }
    return isMet
  }

  private func judgeFound(on loop: isolated EventLoop) {
    var list: [PropertyWait] = []
    swap(&list, &toJudge)
    var index = 0
    while loop.work.waits > 0, index < list.count {
      let wait = list[index]
      index += 1
      guard !wait.isOver else { continue }
      let unjudged = wait.unjudged
      wait.unjudged = nil
      // When the time is over, the current value counts: the change may not have arrived yet.
      let (found, revision) = unjudged ?? read(wait.path)
      let isMet = judge(wait.path, wait.condition, found, revision, work: &loop.work.waits)
      guard isMet || wait.isLast else { continue }
      loop.work.waits -= Self.answerCost
      remove(wait)
      wait.send(found, revision, isMet: isMet, on: loop)
    }
    toJudge = list[index...] + toJudge
  }
}

/// Passes the changes of awaited properties from any thread to one loop.
private final class AwaitedChanges: Sendable {
  private struct State {
    /// The number of waits for each.
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
