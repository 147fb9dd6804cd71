// SPDX-License-Identifier: MIT

public import Synchronization

/// One observer, in memory that does not move until the drainer compacts the table.
@safe @usableFromInline
struct ObserverEntry: ~Copyable {
  /// Nil in a hole: cancelled, closure already removed, slot not yet compacted.
  ///
  /// The first member, so that the address of an entry is that of its closure.
  @usableFromInline var closure: ErasedClosure?

  /// The order of the subscription, and the flags of its state; see ``Stamp``.
  ///
  /// Atomic because a drainer reads it without the lock.
  @usableFromInline let stamp: Atomic<UInt64>

  /// The token, which has to be updated when the entry moves; nil when there is none any more.
  ///
  /// Not retained: a token removes itself under the lock before it is deallocated.
  var token: Unmanaged<Subscription>?

  init(stamp: UInt64, closure: ErasedClosure, token: Subscription) {
    self.stamp = Atomic(stamp)
    self.closure = closure
    unsafe self.token = .passUnretained(token)
  }
}

/// The bits of an entry's stamp.
///
/// Bits 1…59 number the subscriptions and messages of the source in one order.
///
/// A message with sequence number n is for the entries whose stamp is at most n. The flags that concern the drainer are
/// the highest bits, so that one comparison shows both that an entry is too new and that it needs special handling:
/// plain entries cost nothing extra.
@usableFromInline
enum Stamp {
  /// Cancelled: no call starts any more.
  @inlinable static var cancelled: UInt64 { 1 << 63 }
  /// Asks the drainer to end the subscription with the next call (once-only).
  @inlinable static var endsAfterNext: UInt64 { 1 << 62 }
  /// There is a ``StagedObserver`` in place of the closure.
  @inlinable static var staged: UInt64 { 1 << 61 }
  /// The subscription continues without its token.
  @inlinable static var detached: UInt64 { 1 }
  /// Added to the number of a message: it is for the entries with the same number, detached or not.
  @inlinable static var message: UInt64 { 1 }
  /// The greatest sequence number: no entry without the higher flags exceeds it.
  @inlinable static var everyone: UInt64 { (1 << 60) - 1 }
  /// The bits of the sequence number.
  @inlinable static var order: UInt64 { (1 << 60) - 2 }
  /// A stamp that no entry has: a message for it is only released.
  @inlinable static var nobody: UInt64 { order }
  /// The increment from one subscription or message to the next.
  @inlinable static var step: UInt64 { 2 }
}
