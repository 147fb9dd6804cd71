// SPDX-License-Identifier: MIT

import Synchronization

extension PropertyStore {
  /// Limits from now on what may be beneath some paths, instead of by the quotas before.
  ///
  /// Returns when everything has been counted by them; until then those before count. What is more than they admit stays,
  /// and only grows no further. It takes about half a second for a million properties, during which others use the store:
  /// not for a loop. When it is called again meanwhile, the last call counts.
  package func setQuotas(_ quotas: [Quota]) {
    precondition(quotas.count <= Quota.most, "A store has at most \(Quota.most) quotas.")
    let turn = shared.state.withLock { $0.judge.beginRecount(quotas) }
    var isDone = false
    while !isDone {
      // The old book is released without the lock.
      let old: QuotaBook?
      (isDone, old) = shared.state.withLock { $0.proceedWithRecount(turn) }
      withExtendedLifetime(old) {}
    }
  }

  /// The quotas by which writes are judged.
  package var quotas: [Quota] { shared.state.withLock { $0.judge.quotas.quotas } }

  /// How much is used of each quota, for each value of its captures, which have a slash after each.
  package var quotaUse: [[String: QuotaUse]] {
    let book = shared.state.withLock { $0.judge.quotas }
    return book.quotas.indices.map { index in
      Dictionary(uniqueKeysWithValues: book.use(of: index).map { (String(decoding: $0, as: UTF8.self), $1) })
    }
  }
}

extension Judge {
  /// Begins to count by other quotas, unless they are the present ones.
  ///
  /// - Returns: What ``StoreState/proceedWithRecount(_:)`` is given.
  mutating func beginRecount(_ quotas: [Quota]) -> Int {
    recounts += 1
    recount = quotas == self.quotas.quotas ? nil : QuotaRecount(quotas)
    return recounts
  }
}

extension StoreState {
  /// Counts the next properties by the quotas that are to come and, when that is done, judges by these.
  ///
  /// - Returns: Whether it is done, or another count has begun, and what is to be released without the lock.
  mutating func proceedWithRecount(_ turn: Int) -> (isDone: Bool, old: QuotaBook?) {
    guard turn == judge.recounts, judge.recount != nil else { return (true, nil) }
    guard judge.recount?.proceed(in: replica.snapshot) == true, let recount = judge.recount.take() else {
      return (false, nil)
    }
    let old = judge.quotas
    judge.quotas = recount.book
    return (true, old)
  }
}
