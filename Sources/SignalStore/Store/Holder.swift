// SPDX-License-Identifier: MIT

import Synchronization

/// An owner with whose end the properties set for it end: a connected client, a plugged-in device.
///
///     let ann = store.makeHolder()
///     try store.set("presence/ann", JSONText("here"), holder: ann)
///     store.release(ann)   // presence/ann release
///
/// A property has the holder of its last set, or none: a later set by another holder takes it over, even with an equal
/// value. So a client that has reconnected does not lose its properties when its old connection ends.
public struct Holder: Hashable, Sendable {
  /// Assigned by the store.
  package let number: UInt64

  package init(number: UInt64) { self.number = number }
}

/// Numbers the holders of a store.
final class HolderCounter: Sendable {
  private let last: Atomic<UInt64>

  /// Continues after a holder that is already known.
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
  /// - Returns: The number of properties that ended.
  @discardableResult
  public func release(_ holder: Holder) -> Int {
    let now = clock()
    let (count, dropped) = shared.state.withLock { $0.release(holder, at: now, commits) }
    finish(releasing: dropped, hasTimer: false)
    return count
  }
}
