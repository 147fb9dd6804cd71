// SPDX-License-Identifier: MIT

package import JSON
import Synchronization

/// What has to be executed when a holder is gone, kept for whoever sees that: this process, or the one after it.
extension PropertyStore {
  /// Keeps the operations that are to be executed when the holder is gone, instead of those that were kept; nil for none.
  ///
  /// The store knows only the text. ``release(_:)`` forgets it.
  package func keep(lastOperations operations: JSONText?, of holder: Holder) {
    let old = shared.state.withLock { state in
      let old = state.replica.lastOperations[holder]
      if operations != nil || old != nil { state.apply(.lastOperations(holder, operations)) }
      return old
    }
    withExtendedLifetime(old) {}
  }

  /// The operations that are kept for a holder.
  package func lastOperations(of holder: Holder) -> JSONText? {
    shared.state.withLock { $0.replica.lastOperations[holder] }
  }

  /// All that hold something, or for whose end something is kept, in the order in which they were made.
  package var holders: [Holder] {
    let all = shared.state.withLock { Set($0.replica.lastOperations.keys).union($0.judge.leases.holders) }
    return all.sorted { $0.number < $1.number }
  }
}
