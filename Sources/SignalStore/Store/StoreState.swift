// SPDX-License-Identifier: MIT

/// What the lock of a ``PropertyStore`` guards, and how an operation changes it.
///
/// Each operation is judged first and carried out afterwards, so that a refusal finds nothing to
/// undo. Everything here runs under the lock: no observer is called, and what a change displaces is
/// handed out to be released later.
struct StoreState: Sendable {
  private(set) var tree = PathTree()
  private(set) var revision: Revision = 0
  private(set) var history: History
  private var time = Timestamp(milliseconds: .min)
  private let epoch: Epoch
  private let limits: StoreLimits

  init(epoch: Epoch, limits: StoreLimits) {
    self.epoch = epoch
    self.limits = limits
    history = History(limits)
  }

  /// Carries out a single operation and hands its commit to `changes`.
  mutating func carryOut(
    _ operation: PropertyStore.Operation, at now: Timestamp, _ changes: Signal<Commit>
  ) throws(StoreError) -> (OperationResult, History.Dropped?) {
    let step = try judge(operation, 0)
    if case .nothing(let current) = step {
      return (OperationResult(outcome: .unchanged, value: current, revision: revision), nil)
    }
    if case .create = step, tree.count >= limits.properties { throw .tooManyProperties(limit: limits.properties) }
    advance(to: now)
    guard let change = apply(step, operation) else { preconditionFailure("A step that changes made no change.") }
    return (result(of: step, change), commit(Commit(change), changes))
  }

  /// Carries out all operations and hands their commit to `changes`.
  ///
  /// No path occurs twice.
  mutating func carryOut(
    _ operations: [PropertyStore.Operation], at now: Timestamp, _ changes: Signal<Commit>
  ) throws(StoreError) -> (TransactionResult, History.Dropped?) {
    var steps: [Step] = []
    steps.reserveCapacity(operations.count)
    var count = tree.count
    var isChange = false
    for index in operations.indices {
      let step = try judge(operations[index], index)
      count += step.growth
      isChange = isChange || !step.isNothing
      steps.append(step)
    }
    // A store that is over a limit already can still be changed, but not grow.
    if count > max(limits.properties, tree.count) { throw .tooManyProperties(limit: limits.properties) }
    if isChange { advance(to: now) }
    var made: [Change] = []
    var results: [OperationResult] = []
    results.reserveCapacity(operations.count)
    for index in operations.indices {
      let change = apply(steps[index], operations[index])
      if let change { made.append(change) }
      results.append(result(of: steps[index], change))
    }
    let dropped = made.first.flatMap { commit(Commit($0, rest: Array(made.dropFirst())), changes) }
    return (TransactionResult(revision: revision, results: results), dropped)
  }

  /// What an operation that may be carried out does to the tree.
  private enum Step {
    case create
    case replace(StoredValue)
    case delete(StoredValue)
    case nothing(StoredValue?)

    var growth: Int {
      switch self {
      case .create: 1
      case .delete: -1
      case .replace, .nothing: 0
      }
    }

    var isNothing: Bool {
      if case .nothing = self { true } else { false }
    }
  }

  private func judge(_ operation: PropertyStore.Operation, _ index: Int) throws(StoreError) -> Step {
    let current = tree.value(at: operation.path.bytes.span)
    guard operation.condition.holds(for: current, in: epoch) else {
      throw .conditionFailed(operation: index, current: current, revision: revision)
    }
    switch operation.action {
    case .set(let value, let always):
      guard let current else { return .create }
      return current.value == value && !always ? .nothing(current) : .replace(current)
    case .delete:
      return current.map { .delete($0) } ?? .nothing(nil)
    }
  }

  private mutating func advance(to now: Timestamp) {
    revision = revision.next
    time = max(time, now)
  }

  /// Carries out a step at the current revision and time.
  private mutating func apply(_ step: Step, _ operation: PropertyStore.Operation) -> Change? {
    switch step {
    case .nothing:
      return nil
    case .delete(let old):
      _ = tree.remove(old.path)
      return Change(delete: old, revision: revision, time: time)
    case .create:
      return set(operation, at: operation.path, replacing: nil)
    case .replace(let old):
      // The path of the old value, so that the same memory serves them all.
      return set(operation, at: old.path, replacing: old)
    }
  }

  private mutating func set(
    _ operation: PropertyStore.Operation, at path: PropertyPath, replacing old: StoredValue?
  ) -> Change? {
    guard case .set(let value, _) = operation.action else { return nil }
    let new = StoredValue(path: path, value: value, revision: revision, time: time)
    _ = tree.set(new)
    return Change(set: new, replacing: old)
  }

  private func result(of step: Step, _ change: Change?) -> OperationResult {
    switch step {
    case .create: OperationResult(outcome: .created, value: change?.new, revision: revision)
    case .replace: OperationResult(outcome: .replaced, value: change?.new, revision: revision)
    case .delete(let old): OperationResult(outcome: .deleted, value: old, revision: revision)
    case .nothing(let current): OperationResult(outcome: .unchanged, value: current, revision: revision)
    }
  }

  private mutating func commit(_ commit: Commit, _ changes: Signal<Commit>) -> History.Dropped? {
    // Under the lock, so that commits are delivered in the order of their revisions.
    changes.enqueue(commit)
    return history.append(commit)
  }
}
