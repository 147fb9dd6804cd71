// SPDX-License-Identifier: MIT

public import Synchronization

/// One observer, in memory that does not move until the drainer compacts the table.
@safe @usableFromInline
struct ObserverEntry: ~Copyable {
  /// Nil in a hole: cancelled, closure already taken out, slot not yet compacted away.
  ///
  /// The first member, so that the address of an entry is that of its closure.
  @usableFromInline var closure: ErasedClosure?

  /// When the observer subscribed, and what it is now; see ``Stamp``.
  ///
  /// Atomic because a drainer reads it without the lock.
  @usableFromInline let stamp: Atomic<UInt64>

  /// The token, which has to be told when the entry moves; nil when there is none any more.
  ///
  /// Not retained: a token removes itself under the lock before its memory goes.
  var token: Unmanaged<Subscription>?

  init(stamp: UInt64, closure: ErasedClosure, token: Subscription) {
    self.stamp = Atomic(stamp)
    self.closure = closure
    unsafe self.token = .passUnretained(token)
  }
}

/// The bits of an entry's stamp.
///
/// Bits 1…59 count subscriptions and messages of the source in one order.
///
/// A message with sequence number n is for the entries whose stamp is at most n. What concerns the drainer are the highest
/// bits, so that one comparison tells it both that an entry is too young and that it needs another look: what most entries
/// are costs nothing.
@usableFromInline
enum Stamp {
  /// Cancelled: no call starts any more.
  @inlinable static var cancelled: UInt64 { 1 << 63 }
  /// Asks the drainer to end the subscription with the next call (once-only).
  @inlinable static var endsAfterNext: UInt64 { 1 << 62 }
  /// There is a ``StagedObserver`` in the place of the closure.
  @inlinable static var staged: UInt64 { 1 << 61 }
  /// The subscription goes on when its token is gone.
  @inlinable static var detached: UInt64 { 1 }
  /// Added to the number of a message: it is for the entries with the same number, detached or not.
  @inlinable static var message: UInt64 { 1 }
  /// A sequence number that no entry without the higher flags is above.
  @inlinable static var everyone: UInt64 { (1 << 60) - 1 }
  /// The part that orders.
  @inlinable static var order: UInt64 { (1 << 60) - 2 }
  /// The stamp of no entry: a message for it is only released.
  @inlinable static var nobody: UInt64 { order }
  /// From one subscription or message to the next.
  @inlinable static var step: UInt64 { 2 }
}
