// SPDX-License-Identifier: MIT

import Synchronization

/// Which records are not kept over a restart, by the rules of a store; part of its state, so under its lock.
///
/// 1. A change that creates or deletes a property, or changes its formula or the kind of its lease, is always kept.
/// 2. Other changes of a property that a rule names are not, nor are renewed times to live. A transaction is kept as a
///    whole, if anything in it is.
/// 3. What was left out by a rule with an interval is kept at the end of the interval, with the value it has then.
struct Omissions: Sendable {
  let rules: [PersistenceRule]
  /// For each rule the properties whose newest value is not kept yet.
  private var pending: [Set<PropertyPath>]
  /// Those of them whose time has come.
  private var due: [PropertyPath] = []

  init(_ rules: [PersistenceRule]) {
    self.rules = rules
    pending = Array(repeating: [], count: rules.count)
  }

  /// Whether a commit can be omitted; records which of its properties have to be kept later.
  mutating func omits(_ commit: Commit) -> Bool {
    for change in commit {
      guard !change.isCorrection, let new = change.new, let old = change.old, omits(new, old) else { return false }
    }
    for change in commit { note(change.path) }
    return true
  }

  /// The same for a property that keeps value, revision and time.
  mutating func omits(amendment new: StoredValue, of old: StoredValue?) -> Bool {
    guard let old, omits(new, old) else { return false }
    note(new.path)
    return true
  }

  private func omits(_ new: StoredValue, _ old: StoredValue) -> Bool {
    guard new.computation?.formula.source == old.computation?.formula.source, let rule = rules.rule(for: new.path)
    else { return false }
    // A restart removes the property, so nothing of it can be stale.
    if rule.extent == .volatile { return true }
    // The end of its lease may lag by the interval, but its holder and length must be the same.
    return new.lease?.holder == old.lease?.holder && new.lease?.term?.length == old.lease?.term?.length
  }

  private mutating func note(_ path: PropertyPath) {
    guard let index = rules.firstIndex(where: { $0.pattern.matches(path) }), rules[index].extent != .volatile else {
      return
    }
    pending[index].insert(path)
  }

  /// Makes everything that a rule has left out so far due.
  mutating func endInterval(of rule: Int) {
    guard !pending[rule].isEmpty else { return }
    due.append(contentsOf: pending[rule])
    pending[rule] = []
  }

  /// The next property whose current value is to be kept; nil when there is none.
  mutating func takeDue() -> PropertyPath? { due.popLast() }
}

extension StoreState {
  /// Keeps what was left out and is due, up to `limit` properties at a time.
  ///
  /// - Parameter isLast: Also keeps what cannot be written now.
  /// - Returns: Whether there is nothing left to do.
  mutating func keepOmitted(limit: Int, isLast: Bool) -> Bool {
    for _ in 0..<limit {
      // The rest is retried at the end of the next interval.
      guard isLast || sink?.refusal == nil, let path = omissions?.takeDue() else { return true }
      if let property = replica.tree.value(at: path) { apply(.amendment(property)) }
    }
    return false
  }
}

/// Keeping changes later than they are sent.
extension PropertyStore {
  /// Maximum number of properties kept per acquisition of the lock.
  private static let keptAtATime = 128

  /// Starts keeping, at the end of each interval, what the rules have left out.
  func startKeeping(_ rules: [PersistenceRule]) {
    for (index, rule) in rules.enumerated() {
      if case .every(let interval) = rule.extent { keep(rule: index, every: interval) }
    }
  }

  private func keep(rule: Int, every interval: Duration) {
    keepers[rule].set(timerClock.now + interval) { [weak self] in
      guard let self else { return }
      keepOmitted([rule])
      keep(rule: rule, every: interval)
    }
  }

  private func keepOmitted(_ rules: [Int], isLast: Bool = false) {
    shared.state.withLock { state in
      for rule in rules { state.omissions?.endInterval(of: rule) }
    }
    while !shared.state.withLock({ $0.keepOmitted(limit: Self.keptAtATime, isLast: isLast) }) {}
  }

  /// Keeps whatever the rules have left out so far, for a store that shuts down.
  package func keepOmitted() {
    let rules = shared.state.withLock { $0.omissions?.rules.count ?? 0 }
    keepOmitted(Array(0..<rules), isLast: true)
  }
}
