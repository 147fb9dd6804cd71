// SPDX-License-Identifier: MIT

public import Synchronization

/// A closure without its type, so that the table needs no generic code.
///
/// Generic code that is not specialised looks its types up at run time; subscribing and cancelling go through a protocol
/// and would pay for that ten times over. Unchecked: only `@Sendable` closures are put in here.
@safe @usableFromInline
struct ErasedClosure: @unchecked Sendable {
  private let function: UnsafeRawPointer
  private let context: Unmanaged<AnyObject>?

  /// Keeps what the closure captured; balanced by ``release()``.
  ///
  /// `call` is a structure whose only member is a closure: two words, code and captured objects.
  @usableFromInline
  init<Call>(retaining call: Call) {
    unsafe self = unsafeBitCast(call, to: ErasedClosure.self)
    unsafe _ = context?.retain()
  }

  /// Lets go what the closure captured.
  @usableFromInline
  func release() { unsafe context?.release() }
}

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
/// Bits 2…61 count subscriptions and messages of the source in one order.
///
/// A message with sequence number n is for the entries whose stamp is at most n. The flags that concern the drainer are
/// the highest bits, so that one comparison tells it both that an entry is too young and that it needs another look.
@usableFromInline
enum Stamp {
  /// Cancelled: no call starts any more.
  @inlinable static var cancelled: UInt64 { 1 << 63 }
  /// Asks the drainer to end the subscription with the next call (once-only).
  @inlinable static var endsAfterNext: UInt64 { 1 << 62 }
  /// The subscription goes on when its token is gone.
  @inlinable static var detached: UInt64 { 1 }
  /// The closure is of the second kind that the source knows.
  @inlinable static var secondKind: UInt64 { 2 }
  /// Added to the number of a message: it is for the entries with the same number, whatever their kind.
  @inlinable static var message: UInt64 { 3 }
  /// A sequence number that no entry without the higher flags is above.
  @inlinable static var everyone: UInt64 { (1 << 62) - 1 }
  /// The part that orders.
  @inlinable static var order: UInt64 { (1 << 62) - 4 }
  /// The stamp of no entry: a message for it is only released.
  @inlinable static var nobody: UInt64 { order }
  /// From one subscription or message to the next.
  @inlinable static var step: UInt64 { 4 }
}
