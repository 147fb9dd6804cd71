// SPDX-License-Identifier: MIT

public import Synchronization

/// A closure without its type, so that the table needs no generic code.
///
/// Generic code that is not specialised looks its types up at run time; subscribing and cancelling go through a protocol
/// and would pay for that ten times over. Unchecked: only `@Sendable` closures are put in here.
@safe @usableFromInline
struct ErasedClosure: @unchecked Sendable {
  @usableFromInline let function: UnsafeRawPointer
  @usableFromInline let context: Unmanaged<AnyObject>?

  /// Keeps what the closure captured; balanced by ``release()``.
  ///
  /// `call` is a structure whose only member is a closure: two words, code and captured objects.
  @usableFromInline
  init<Call>(retaining call: Call) {
    unsafe self = unsafeBitCast(call, to: ErasedClosure.self)
    unsafe _ = context?.retain()
  }

  /// Keeps an object in the place of a closure; balanced by ``release()``.
  @usableFromInline
  init<Message>(retaining observer: StagedObserver<Message>) {
    let reference = unsafe Unmanaged<AnyObject>.passRetained(observer)
    unsafe function = UnsafeRawPointer(reference.toOpaque())
    unsafe context = reference
  }

  /// Lets go what the closure captured.
  @usableFromInline
  func release() { unsafe context?.release() }

  /// The object in the place of the closure.
  ///
  /// Unsafe: there must be one of this type.
  @unsafe @inlinable @inline(__always)
  func object<Object: AnyObject>(as type: Object.Type) -> Unmanaged<Object> { unsafe .fromOpaque(function) }

  /// Calls the closure where it lies; see ``MessageCallInPlace``.
  ///
  /// Unsafe: it must be one that takes messages of this type, and somebody must keep what it captured.
  @unsafe @inlinable @inline(__always)
  func call<Message>(_ message: Message) {
    // Unprotected: the pointer is not written through, and the check of the stack would cost as much as the call.
    unsafe _withUnprotectedUnsafePointer(to: self) {
      unsafe $0.withMemoryRebound(to: MessageCallInPlace<Message>.self, capacity: 1) {
        unsafe $0.pointee(message)
      }
    }
  }
}

/// An ``ErasedClosure`` that keeps what the closure captured as long as it is there itself.
///
/// Unchecked: only `@Sendable` closures are put in here.
@safe @usableFromInline
struct OwnedClosure: @unchecked Sendable {
  private let function: UnsafeRawPointer
  private let context: AnyObject?

  @inlinable @inline(__always)
  init<Message>(_ call: MessageCall<Message>) {
    // Both are code and captured objects.
    unsafe self = unsafeBitCast(call, to: OwnedClosure.self)
  }

  /// The closure, with what it captured kept once more; balanced by ``ErasedClosure/release()``.
  @usableFromInline
  func retained() -> ErasedClosure {
    if let context { unsafe _ = Unmanaged.passRetained(context) }
    return closure
  }

  /// The closure, for as long as this is kept.
  @inlinable
  var closure: ErasedClosure {
    @inline(__always) get { unsafe unsafeBitCast(self, to: ErasedClosure.self) }
  }
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
