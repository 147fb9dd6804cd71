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
    let current = tree.value(at: operation.path)
    let outcome = try judge(operation, 0, current)
    if outcome == .unchanged {
      return (OperationResult(outcome: outcome, value: current, revision: revision), nil)
    }
    if outcome == .created, tree.count >= limits.properties { throw .tooManyProperties(limit: limits.properties) }
    advance(to: now)
    let change = apply(operation, to: current)
    let result = OperationResult(outcome: outcome, value: change.new ?? current, revision: revision)
    return (result, commit(Commit(change), changes))
  }

  /// Carries out all operations and hands their commit to `changes`.
  ///
  /// No path occurs twice.
  mutating func carryOut(
    _ operations: [PropertyStore.Operation], at now: Timestamp, _ changes: Signal<Commit>
  ) throws(StoreError) -> (TransactionResult, History.Dropped?) {
    var judged: [(outcome: OperationResult.Outcome, current: StoredValue?)] = []
    judged.reserveCapacity(operations.count)
    var growth = 0
    var isChange = false
    for index in operations.indices {
      let current = tree.value(at: operations[index].path)
      let outcome = try judge(operations[index], index, current)
      if outcome == .created { growth += 1 }
      if outcome == .deleted { growth -= 1 }
      isChange = isChange || outcome != .unchanged
      judged.append((outcome, current))
    }
    if growth > 0, tree.count + growth > limits.properties { throw .tooManyProperties(limit: limits.properties) }
    if isChange { advance(to: now) }
    var made: [Change] = []
    var results: [OperationResult] = []
    results.reserveCapacity(operations.count)
    for (operation, (outcome, current)) in zip(operations, judged) {
      var value = current
      if outcome != .unchanged {
        let change = apply(operation, to: current)
        value = change.new ?? current
        made.append(change)
      }
      results.append(OperationResult(outcome: outcome, value: value, revision: revision))
    }
    let dropped = made.first.flatMap { commit(Commit($0, rest: Array(made.dropFirst())), changes) }
    return (TransactionResult(revision: revision, results: results), dropped)
  }

  /// What the operation will do to the property as it is.
  private func judge(
    _ operation: PropertyStore.Operation, _ index: Int, _ current: StoredValue?
  ) throws(StoreError) -> OperationResult.Outcome {
    guard operation.condition.holds(for: current, in: epoch) else {
      throw .conditionFailed(operation: index, current: current, revision: revision)
    }
    switch operation.action {
    case .set(let value, let always):
      guard let current else { return .created }
      return always || current.value != value ? .replaced : .unchanged
    case .delete:
      return current == nil ? .unchanged : .deleted
    }
  }

  private mutating func advance(to now: Timestamp) {
    revision = revision.next
    time = max(time, now)
  }

  /// Carries out, at the current revision and time, an operation that changes the property.
  private mutating func apply(_ operation: PropertyStore.Operation, to current: StoredValue?) -> Change {
    switch operation.action {
    case .set(let value, _):
      // The path of the current value, so that the same memory serves them all.
      let path = current?.path ?? operation.path
      let new = StoredValue(path: path, value: value, revision: revision, time: time)
      let old = tree.set(new)
      return Change(set: new, replacing: old)
    case .delete:
      guard let old = tree.remove(operation.path) else {
        preconditionFailure("The property to be deleted was there when the operation was judged.")
      }
      return Change(delete: old, revision: revision, time: time)
    }
  }

  private mutating func commit(_ commit: Commit, _ changes: Signal<Commit>) -> History.Dropped? {
    // Under the lock, so that commits are delivered in the order of their revisions.
    changes.enqueue(commit)
    return history.append(commit)
  }
}
