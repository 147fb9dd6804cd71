// SPDX-License-Identifier: MIT

import JSON

/// What the lock of a ``PropertyStore`` guards, and how an operation changes it.
///
/// Each operation is judged first and carried out afterwards, so that a refusal finds nothing to
/// undo. Everything here runs under the lock: no observer is called, and what a change displaces is
/// handed out to be released later.
struct StoreState: Sendable {
  private(set) var tree = PathTree()
  private(set) var revision: Revision = 0
  private(set) var history: History
  private(set) var leases = LeaseTable()
  private var formulas = FormulaGraph()
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
    _ operation: PropertyStore.Operation, at now: Moment, _ changes: Signal<Commit>
  ) throws(StoreError) -> (OperationResult, History.Dropped?) {
    // Most operations have nothing to do with computed properties, and need none of the lists of a transaction.
    guard formulas.isEmpty, !operation.isDefinition else {
      let (result, dropped) = try carryOut([operation], at: now, changes)
      return (result.results[0], dropped)
    }
    let current = tree.value(at: operation.path)
    let outcome = try judge(operation, 0, current)
    if operation.holder != nil { try checkHolders(of: CollectionOfOne(operation)) }
    if outcome == .unchanged {
      let value = renewLease(of: current, operation, now)
      return (OperationResult(outcome: outcome, value: value, revision: revision), nil)
    }
    if outcome == .created, tree.count >= limits.properties { throw .tooManyProperties(limit: limits.properties) }
    advance(to: now.time)
    guard let change = apply(operation, to: current, now) else {
      preconditionFailure("A definition is no change by itself.")
    }
    let result = OperationResult(outcome: outcome, value: change.new ?? current, revision: revision)
    return (result, commit(Commit(change), changes))
  }

  /// Carries out all operations and hands their commit to `changes`.
  ///
  /// No path occurs twice.
  mutating func carryOut(
    _ operations: [PropertyStore.Operation], at now: Moment, _ changes: Signal<Commit>
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
    try checkHolders(of: operations)
    let defined = try define(operations, judged.map(\.outcome))
    if isChange { advance(to: now.time) }
    var made: [Change] = []
    for (operation, (outcome, current)) in zip(operations, judged) {
      if outcome == .unchanged {
        _ = renewLease(of: current, operation, now)
      } else if let change = apply(operation, to: current, now) {
        made.append(change)
      }
    }
    if isChange, !formulas.isEmpty { compute(defined, &made) }
    let results = zip(operations, judged).map { operation, judged in
      let value = judged.outcome == .deleted ? judged.current : tree.value(at: operation.path)
      return OperationResult(outcome: judged.outcome, value: value, revision: revision)
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
    case .set(let value, let always, _, _):
      guard let current else { return .created }
      if current.computation != nil { throw .isComputed(operation: index) }
      return always || current.value != value ? .replaced : .unchanged
    case .define(let formula):
      guard let current else { return .created }
      return current.computation?.formula == formula ? .unchanged : .replaced
    case .delete:
      return current == nil ? .unchanged : .deleted
    }
  }

  private mutating func advance(to now: Timestamp) {
    revision = revision.next
    time = max(time, now)
  }

  /// Carries out, at the current revision and time, an operation that changes the property.
  ///
  /// A definition changes nothing here: what it gives is computed when all operations have been carried out.
  private mutating func apply(
    _ operation: PropertyStore.Operation, to current: StoredValue?, _ now: Moment
  ) -> Change? {
    if let current, let lease = current.lease { leases.end(lease, of: current.path) }
    switch operation.action {
    case .set(let value, _, let ttl, let holder):
      // The path of the current value, so that the same memory serves them all.
      let path = current?.path ?? operation.path
      let lease = leases.begin(path, for: ttl, holder, from: now)
      let new = StoredValue(path: path, value: value, revision: revision, time: time, lease: lease)
      let old = tree.set(new)
      return Change(set: new, replacing: old)
    case .define:
      return nil
    case .delete:
      guard let old = tree.remove(operation.path) else {
        preconditionFailure("The property to be deleted was there when the operation was judged.")
      }
      return Change(delete: old, revision: revision, time: time)
    }
  }

  // MARK: Leases

  /// Gives a property that keeps its value another lease, or none; nothing is done for the many without one.
  private mutating func renewLease(
    of current: StoredValue?, _ operation: PropertyStore.Operation, _ now: Moment
  ) -> StoredValue? {
    guard let current, case .set(_, _, let ttl, let holder) = operation.action,
      ttl != nil || holder != nil || current.lease != nil
    else { return current }
    if let lease = current.lease { leases.end(lease, of: current.path) }
    let lease = leases.begin(current.path, for: ttl, holder, from: now)
    let renewed = StoredValue(
      path: current.path, value: current.value, revision: current.revision, time: current.time, lease: lease)
    _ = tree.set(renewed)
    return renewed
  }

  /// Ends properties whose time is over, each with a revision of its own, as far as the budget goes.
  ///
  /// - Returns: Whether there is nothing left to do at that time, and what is to be released without the lock.
  mutating func expire(
    at now: Moment, budget: Int, _ changes: Signal<Commit>
  ) -> (isDone: Bool, dropped: [History.Dropped]) {
    var budget = budget
    var dropped: [History.Dropped] = []
    while let path = leases.takeExpired(at: now, budget: &budget) {
      guard let old = tree.remove(path) else { preconditionFailure("A lease ends with its property.") }
      if let lease = old.lease { leases.forgetHolder(of: path, lease) }
      advance(to: now.time)
      if let excess = commit([Change(end: old, by: .expire, revision: revision, time: time)], changes) {
        dropped.append(excess)
      }
    }
    return (budget > 0, dropped)
  }

  /// Ends what a holder holds, in one revision.
  ///
  /// - Returns: How many properties have ended, and what is to be released without the lock.
  mutating func release(
    _ holder: Holder, at now: Timestamp, _ changes: Signal<Commit>
  ) -> (count: Int, dropped: History.Dropped?) {
    let paths = leases.paths(heldBy: holder)
    guard !paths.isEmpty else { return (0, nil) }
    advance(to: now)
    var made: [Change] = []
    for path in paths {
      guard let old = tree.remove(path), let lease = old.lease else {
        preconditionFailure("What is held is there, and has a lease.")
      }
      leases.end(lease, of: path)
      made.append(Change(end: old, by: .release, revision: revision, time: time))
    }
    return (paths.count, commit(made, changes))
  }

  /// Refuses operations with which a holder would hold more than it may.
  private func checkHolders(
    of operations: some Collection<PropertyStore.Operation>
  ) throws(StoreError) {
    var counts: [Holder: Int] = [:]
    var index = 0
    for operation in operations {
      defer { index += 1 }
      guard let holder = operation.holder else { continue }
      guard tree.value(at: operation.path)?.lease?.holder != holder else { continue }
      let count = counts[holder, default: leases.count(heldBy: holder)] + 1
      guard count <= limits.heldProperties else {
        throw .tooManyHeld(operation: index, limit: limits.heldProperties)
      }
      counts[holder] = count
    }
  }

  /// When the store has to be woken next, if that is before the alarm that is set; the caller then sets it.
  mutating func takeAlarm(isOurs: Bool) -> Duration? { leases.takeAlarm(isOurs: isOurs) }

  /// The alarm has gone off.
  mutating func alarmIsOver() { leases.alarmIsOver() }

  // MARK: Computed properties

  /// Takes what the operations say of computed properties into the graph, or refuses them all.
  ///
  /// - Returns: The properties that are to be computed because they are new or have another formula.
  private mutating func define(
    _ operations: [PropertyStore.Operation], _ outcomes: [OperationResult.Outcome]
  ) throws(StoreError) -> [PropertyPath] {
    guard !formulas.isEmpty || operations.contains(where: \.isDefinition) else { return [] }
    var graph = formulas
    // First what goes, so that the order of the operations does not matter.
    for (operation, outcome) in zip(operations, outcomes) where outcome == .deleted { graph.remove(operation.path) }
    var defined: [PropertyPath] = []
    for index in operations.indices where outcomes[index] != .unchanged {
      guard case .define(let formula) = operations[index].action else { continue }
      if formula.inputs.count > limits.formulaInputs {
        throw .tooManyInputs(operation: index, limit: limits.formulaInputs)
      }
      if let cycle = graph.define(formula, at: operations[index].path) { throw .cycle(operation: index, cycle) }
      if graph.count > limits.computedProperties {
        throw .tooManyComputed(operation: index, limit: limits.computedProperties)
      }
      defined.append(operations[index].path)
    }
    formulas = graph
    return defined
  }

  /// Computes what is new and what depends on the changes, each property once and after everything that it reads.
  private mutating func compute(_ defined: [PropertyPath], _ made: inout [Change]) {
    var queue = FormulaQueue()
    for path in defined { queue.insert(path, rank: formulas.rank(of: path)) }
    for change in made { formulas.addReaders(of: change.path, to: &queue) }
    while let path = queue.popFirst() {
      guard let change = compute(path) else { continue }
      made.append(change)
      formulas.addReaders(of: path, to: &queue)
    }
  }

  /// Gives a computed property the value that follows from its inputs; nil when it has that already.
  private mutating func compute(_ path: PropertyPath) -> Change? {
    guard let formula = formulas.computation(at: path)?.formula else { return nil }
    let value: JSONText
    let computation: Computation?
    switch formula.evaluate({ tree.value(at: $0) }) {
    case .value(let result):
      value = result
      computation = formulas.note(nil, at: path)
    case .failure(let error):
      value = .null
      computation = formulas.note(error, at: path)
    }
    let current = tree.value(at: path)
    if let current, current.computation?.formula == formula, current.value == value {
      // The reason of a failure may have changed; that is no change of the value.
      if current.computation != computation {
        _ = tree.set(
          StoredValue(
            path: current.path, value: value, revision: current.revision, time: current.time, computation: computation))
      }
      return nil
    }
    let new = StoredValue(
      path: current?.path ?? path, value: value, revision: revision, time: time, computation: computation)
    return Change(set: new, replacing: tree.set(new))
  }

  /// Makes a commit of changes, and of what follows from them.
  private mutating func commit(_ made: consuming [Change], _ changes: Signal<Commit>) -> History.Dropped? {
    if !formulas.isEmpty { compute([], &made) }
    return commit(Commit(made[0], rest: Array(made.dropFirst())), changes)
  }

  private mutating func commit(_ commit: Commit, _ changes: Signal<Commit>) -> History.Dropped? {
    // Under the lock, so that commits are delivered in the order of their revisions.
    changes.enqueue(commit)
    return history.append(commit)
  }
}
