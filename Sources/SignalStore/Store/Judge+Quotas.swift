// SPDX-License-Identifier: MIT

import JSON

/// Quotas: what may be beneath some paths.
extension Judge {
  /// Refuses an operation that would exceed a quota.
  mutating func checkQuotas(for operation: PropertyStore.Operation, _ current: StoredValue?) throws(StoreError) {
    let growth = QuotaUse(after: operation) - QuotaUse(current)
    if let excess = quotas.excess(of: growth, at: operation.path) { throw .quotaExceeded(operation: 0, excess) }
  }

  /// Refuses operations that would exceed a quota together.
  func checkQuotas(
    for operations: [PropertyStore.Operation],
    _ judged: [(outcome: OperationResult.Outcome, current: StoredValue?)]
  ) throws(StoreError) {
    func growth(_ index: Int) -> QuotaUse {
      guard judged[index].outcome != .unchanged else { return QuotaUse() }
      return QuotaUse(after: operations[index]) - QuotaUse(judged[index].current)
    }
    var claims = QuotaClaims()
    for index in operations.indices { quotas.add(growth(index), at: operations[index].path, to: &claims) }
    for index in operations.indices {
      if let excess = quotas.excess(of: growth(index), at: operations[index].path, with: claims, isClaimed: true) {
        throw .quotaExceeded(operation: index, excess)
      }
    }
  }

  /// Whether changes have to be counted.
  var countsQuotas: Bool { !quotas.isEmpty || recount != nil }

  /// Counts the changes of a commit.
  mutating func count(_ commit: Commit) {
    for change in commit {
      quotas.count(change)
      recount?.count(change)
    }
  }

  // MARK: Computed properties

  /// Notes what the changes so far, and the properties that are to be computed for the first time, add.
  func claimQuotas(for defined: [FormulaGraph.Node], in draft: inout Draft, of replica: Replica) {
    for change in draft.changes {
      quotas.add(QuotaUse(change.new) - QuotaUse(change.old), at: change.path, to: &draft.claims)
    }
    for node in defined {
      guard let formula = formulas.formula(of: node) else { continue }
      let path = formulas.path(of: node)
      let current = replica.tree.value(at: path)
      quotas.add(known(current, formula) - QuotaUse(current), at: path, to: &draft.claims)
    }
  }

  /// What a computed property has claimed: as much as it takes, or at first as much as it takes at least.
  func known(_ current: StoredValue?, _ formula: Formula) -> QuotaUse {
    current?.computation?.formula == formula ? QuotaUse(current) : .computed
  }

  /// Claims what a computed value takes, unless that would exceed a quota.
  ///
  /// - Returns: Why it would; the property then takes as much as it takes at least.
  func claimQuotas(
    for value: JSONText, of formula: Formula, at path: PropertyPath, replacing current: StoredValue?,
    in draft: inout Draft
  ) -> String? {
    let known = known(current, formula)
    var growth = QuotaUse()
    growth.bytes = max(QuotaUse.computed.bytes, value.bytes.count) - known.bytes
    let excess = quotas.excess(of: growth, at: path, with: draft.claims, isClaimed: false)
    if excess != nil { growth.bytes = QuotaUse.computed.bytes - known.bytes }
    quotas.add(growth, at: path, to: &draft.claims)
    guard let excess else { return nil }
    return "the quota \"\(excess.match)\" is used up"
  }
}
