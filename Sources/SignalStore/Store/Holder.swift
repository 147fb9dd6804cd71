// SPDX-License-Identifier: MIT

import Synchronization

/// Somebody whose end is the end of the properties that were set for it: a client that is connected, a device that is
/// plugged in.
///
///     let ann = store.makeHolder()
///     try store.set("presence/ann", JSONText("here"), holder: ann)
///     store.release(ann)   // presence/ann release
///
/// A property has the holder of its last set, or none: who sets it later takes it over, also with the value that it has.
/// So what has come back by another way is not ended by the end of the old one.
public struct Holder: Hashable, Sendable {
  /// Counted by the store.
  package let number: UInt64

  package init(number: UInt64) { self.number = number }
}

/// Numbers the holders of a store.
final class HolderCounter: Sendable {
  private let last: Atomic<UInt64>

  /// Continues behind a holder that is known already.
  init(after last: UInt64) { self.last = Atomic(last) }

  func next() -> Holder { Holder(number: last.add(1, ordering: .relaxed).newValue) }
}

extension PropertyStore {
  /// A holder that holds nothing yet, unlike any other of this store.
  public func makeHolder() -> Holder { holderCounter.next() }

  /// Ends every property whose last set was for this holder, in one revision.
  ///
  /// The holder may be used again.
  ///
  /// - Returns: How many properties have ended.
  @discardableResult
  public func release(_ holder: Holder) -> Int {
    let now = clock()
    let (count, dropped) = shared.state.withLock { $0.release(holder, at: now, commits) }
    finish(releasing: dropped, hasTimer: false)
    return count
  }
}
