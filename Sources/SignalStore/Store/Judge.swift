// SPDX-License-Identifier: MIT

import JSON

/// Decides what an operation does to a replica, or refuses it: conditions, limits, formulas, and expiry.
///
/// It never changes the replica: its decisions are applied as a ``Record``. Its own state is derived from the replica
/// (``init(of:limits:)``), so that another judge can take over, on another machine or after a restart.
struct Judge: Sendable {
  let limits: StoreLimits
  var leases = LeaseTable()
  var formulas = FormulaGraph()
  /// The number of evaluations skipped or stopped because the budget of their commit was used up.
  var formulaFailures = 0
  var quotas: QuotaBook
  /// The count by other quotas, while it goes on.
  var recount: QuotaRecount?
  /// How many such counts have begun.
  var recounts = 0

  init(limits: StoreLimits, quotas: [Quota] = []) {
    self.limits = limits
    self.quotas = QuotaBook(quotas)
  }

  /// Whether an operation involves computed properties; most do not, and need none of the lists of a transaction.
  ///
  /// Inlined, because a call would copy the judge.
  @inline(__always)
  func concernsFormulas(_ operation: PropertyStore.Operation, _ current: StoredValue?) -> Bool {
    if operation.isDefinition { return true }
    if formulas.isEmpty { return false }
    return current?.isComputed == true || formulas.node(at: operation.path) != nil
  }

  /// Refuses an operation that was decided by other properties which have changed since.
  func checkPremises(
    of operation: PropertyStore.Operation, _ index: Int, in replica: Replica
  ) throws(StoreError) {
    for premise in operation.premises {
      guard premise.condition.holds(for: replica.tree.value(at: premise.path), in: replica.epoch) else {
        let current = replica.tree.value(at: operation.path)
        throw .conditionFailed(operation: index, current: current, revision: replica.revision)
      }
    }
  }

  /// What the operation will do to the property in its current state, at a revision of a store.
  func outcome(
    of operation: PropertyStore.Operation, _ index: Int, _ current: StoredValue?, at revision: Revision, in epoch: Epoch
  ) throws(StoreError) -> OperationResult.Outcome {
    guard operation.condition.holds(for: current, in: epoch) else {
      throw .conditionFailed(operation: index, current: current, revision: revision)
    }
    switch operation.action {
    case .set(_, let always, _, _):
      guard let current else { return .created }
      if current.isComputed { throw .isComputed(operation: index) }
      return always || !operation.action.sets(current.value) ? .replaced : .unchanged
    case .define(let formula):
      guard let current else { return .created }
      return current.computation?.formula == formula ? .unchanged : .replaced
    case .delete:
      return current == nil ? .unchanged : .deleted
    }
  }

  /// Refuses growth beyond the limits.
  func checkRoom(for growth: Growth, in replica: Replica) throws(StoreError) {
    if growth.properties > 0, replica.tree.count + growth.properties > limits.properties {
      throw .tooManyProperties(limit: limits.properties)
    }
    if growth.bytes > 0, replica.propertyBytes > limits.propertyBytes - growth.bytes {
      throw .tooManyBytes(limit: limits.propertyBytes)
    }
  }

  /// How much operations add to the properties, computed values excepted.
  struct Growth {
    private(set) var properties = 0
    private(set) var bytes = 0

    mutating func add(
      _ operation: PropertyStore.Operation, _ outcome: OperationResult.Outcome, _ current: StoredValue?
    ) {
      switch outcome {
      case .created: properties += 1
      case .deleted: properties -= 1
      case .replaced: break
      case .unchanged: return
      }
      if let current { bytes -= Replica.cost(of: current) }
      switch operation.action {
      case .set(let value, _, _, _):
        bytes += Replica.cost(path: operation.path.bytes.count, value: value.bytes.count)
      case .define: bytes += Replica.cost(path: operation.path.bytes.count, value: 0)
      case .delete: break
      }
    }
  }

  /// Refuses operations that would exceed the limit of a holder.
  func checkHolders(
    of operations: some Collection<PropertyStore.Operation>, in replica: Replica
  ) throws(StoreError) {
    var counts: [Holder: Int] = [:]
    var index = 0
    for operation in operations {
      defer { index += 1 }
      guard let holder = operation.holder else { continue }
      guard replica.tree.value(at: operation.path)?.lease?.holder != holder else { continue }
      let count = counts[holder, default: leases.count(heldBy: holder)] + 1
      guard count <= limits.heldProperties else {
        throw .tooManyHeld(operation: index, limit: limits.heldProperties)
      }
      counts[holder] = count
    }
  }

  /// The property as an operation with an effect sets it, with its lease; nil when it removes or defines it, which ends
  /// its lease.
  mutating func property(
    after operation: PropertyStore.Operation, _ current: StoredValue?, revision: Revision, time: Timestamp,
    _ now: Moment
  ) -> StoredValue? {
    guard let value = operation.action.value else {
      if let current, let lease = current.lease { leases.end(lease, of: current.path) }
      return nil
    }
    // The path of the current value, so that all values of a property share its memory.
    let path = current?.path ?? operation.path
    let lease = leases.begin(path, for: operation.ttl, operation.holder, from: now, replacing: current?.lease)
    return StoredValue(path: path, value: value, revision: revision, time: time, lease: lease)
  }

  /// The change that an operation with an effect makes; nil for a definition, whose value is computed after all
  /// operations have been examined.
  mutating func change(
    _ operation: PropertyStore.Operation, _ current: StoredValue?, revision: Revision, time: Timestamp, _ now: Moment
  ) -> Change? {
    if let new = property(after: operation, current, revision: revision, time: time, now) {
      return Change(set: new, replacing: current)
    }
    if operation.isDefinition { return nil }
    guard let current else {
      preconditionFailure("The property to be deleted was there when the operation was judged.")
    }
    return Change(delete: current, revision: revision, time: time)
  }

  /// The property with another lease, or none, for an operation that leaves its value unchanged; nil for the many that
  /// change no lease.
  mutating func renewal(
    of current: StoredValue?, by operation: PropertyStore.Operation, _ now: Moment
  ) -> StoredValue? {
    guard let current, case .set(_, _, let ttl, let holder) = operation.action,
      ttl != nil || holder != nil || current.lease != nil
    else { return nil }
    let lease = leases.begin(current.path, for: ttl, holder, from: now, replacing: current.lease)
    return StoredValue(
      path: current.path, value: current.value, revision: current.revision, time: current.time, lease: lease)
  }

  /// The change that ends a property because its lease is over.
  mutating func end(_ property: StoredValue, by op: Change.Operation, in draft: inout Draft) {
    if let lease = property.lease { leases.end(lease, of: property.path) }
    draft.add(Change(end: property, by: op, revision: draft.revision, time: draft.time))
  }
}
