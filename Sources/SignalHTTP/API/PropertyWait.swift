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
  /// Where the store was when the request came: what comes from the time before is known.
  fileprivate let began: Revision
  fileprivate let condition: Condition
  /// What was there when the request came, and its time is not over yet, while that has not been judged.
  fileprivate var unjudged: (found: StoredValue?, revision: Revision)?
  /// Its time is over: it is answered with what is there then.
  fileprivate var isLast = false
  /// It has been answered, or nobody waits any more.
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

/// The requests of one loop that wait, by the property that they wait for.
///
/// Without one it does not observe the store; with some, a change of another property costs a look into a table on the
/// thread that made it, and does not wake the loop.
///
/// What a turn spends on their conditions is bounded (`TurnWork`): what does not fit is judged in the next, in order.
final class PropertyWaits: TurnParticipant {
  /// What it costs to answer one, in the units of `TurnWork`.
  private static let answerCost = 500

  private let store: PropertyStore
  private let turnProperties: Int
  private let filterWork: Int
  private let cheapFilterWork: Int
  private let changes: AwaitedChanges
  private var waits: [PropertyPath: [PropertyWait]] = [:]
  private var feed: Subscription?
  /// Changes that have come, the next one last.
  private var pending: [Change] = []
  /// The change under way, and those whose conditions it has not been judged by, the next one last.
  private var judged: FilteredChange?
  private var judges: [PropertyWait] = []
  /// Those to be judged by what was or is there, in order.
  private var toJudge: [PropertyWait] = []
  /// What expensive conditions have cost lately.
  private var recent = RecentWork()

  /// - Parameters:
  ///   - turnProperties: Changes of the history that are looked at for one request.
  ///   - filterWork: What expensive conditions may cost in a second.
  ///   - cheapFilterWork: A condition that costs no more is not counted.
  init(store: PropertyStore, turnProperties: Int, filterWork: Int, cheapFilterWork: Int, loop: isolated EventLoop) {
    self.store = store
    self.turnProperties = turnProperties
    self.filterWork = filterWork
    self.cheapFilterWork = cheapFilterWork
    changes = AwaitedChanges { [weak loop] in loop?.wake() }
  }

  /// Judges what is there, and if that is not what is waited for, makes a wait.
  ///
  /// A turn that has no work left for it judges nothing: that is done later, of what is there now.
  ///
  /// - Parameter time: How long it may wait.
  /// - Returns: the wait, or what is there, and whether it is what is waited for.
  func begin(
    _ path: PropertyPath, _ condition: PropertyWait.Condition, atMost time: Duration, answer: any WaitAnswer,
    on loop: isolated EventLoop
  ) -> (wait: PropertyWait?, found: StoredValue?, revision: Revision, isMet: Bool) {
    // First the table, then what is there: what happens in between is in both, and recognized by its revision.
    if feed == nil { feed = store.changes.subscribe { [changes] commit in changes.put(commit) } }
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

  /// Answers a wait whose time is over, as soon as it has been judged.
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

  /// Whether what is there is what is waited for.
  private func judge(
    _ path: PropertyPath, _ condition: PropertyWait.Condition, _ found: StoredValue?, _ revision: Revision,
    work: inout Int
  ) -> Bool {
    let isNewer = condition.since.map { isChanged(path, found, after: store.present($0), at: revision) } ?? true
    return isNewer && (condition.until?.holds(forPath: path, found, work: &work) ?? true)
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

  func turnEnds(on loop: isolated EventLoop) {
    // Whoever begins to observe does so within a turn, so its end comes here.
    guard feed != nil else {
      // All of them are over.
      toJudge = []
      return
    }
    let taken = changes.take()
    if !taken.isEmpty { pending.insert(contentsOf: taken.reversed(), at: 0) }
    judgeChanges(on: loop)
    // Behind the changes: what they have met is answered with them.
    if pending.isEmpty, judges.isEmpty { judgeFound(on: loop) }
    if pending.isEmpty, judges.isEmpty { judged = nil }
    if !pending.isEmpty || !judges.isEmpty || !toJudge.isEmpty { loop.continueInNextTurn() }
  }

  private func judgeChanges(on loop: isolated EventLoop) {
    while loop.work.waits > 0 {
      guard let wait = judges.popLast() else {
        guard let change = pending.popLast() else { return }
        var next = judged.take() ?? FilteredChange(change)
        next.begin(change)
        judged = next
        // The first to wait is judged first.
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

  /// Whether a change after the request came is what is waited for; it is newer than any cursor then.
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
      // At the end it is the present that counts: the change may be on its way.
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
