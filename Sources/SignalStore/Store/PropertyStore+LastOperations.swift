// SPDX-License-Identifier: MIT

package import JSON
import Synchronization

/// The operations to execute when a holder is gone, kept for the process that detects that: this one or the next.
extension PropertyStore {
  /// Keeps the operations that are to be executed when the holder is gone, replacing the previous ones; nil for none.
  ///
  /// The store does not interpret the text. ``release(_:)`` forgets it.
  package func keep(lastOperations operations: JSONText?, of holder: Holder) {
    let old = shared.state.withLock { state -> JSONText? in
      if state.isFollowing { return nil }
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

  /// All holders that hold something or have last operations, in the order in which they were made.
  package var holders: [Holder] {
    let all = shared.state.withLock { Set($0.replica.lastOperations.keys).union($0.judge.leases.holders) }
    return all.sorted { $0.number < $1.number }
  }
}
