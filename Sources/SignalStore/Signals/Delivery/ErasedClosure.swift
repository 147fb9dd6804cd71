// SPDX-License-Identifier: MIT

// Everything that depends on how the compiler represents closures is in this file: a closure is two words, its code and
// the object with its captures, which may be none. The gain, in ns of a `send` to one observer (Swift 6.3 on x86-64,
// medians of three alternating runs; `make bench ARGS="Signal send"` has the same rows):
//
//     a closure called in place, instead of a copy of it                 5.8 instead of 11.2
//     `map` and `filter` as stages before it, instead of a closure each  7.7 instead of 11.1
//     four such operators                                                7.9 instead of 20.6
//
// `docs/decisions/0007-stages.md` says why stages take the observer as an argument.

/// A closure that takes a message.
///
/// Wrapped in a structure, which keeps the closure in its most general form, whatever the message type is.
@usableFromInline
struct MessageCall<Message> {
  @usableFromInline let closure: @Sendable (Message) -> Void

  @inlinable
  init(_ closure: @escaping @Sendable (Message) -> Void) { self.closure = closure }
}

/// A ``MessageCall`` that is called in place.
///
/// Not copyable, so that calling it borrows it: a copy would cost an atomic retain and release per call, which is most
/// of the cost of a call.
@usableFromInline
struct MessageCallInPlace<Message>: ~Copyable {
  @usableFromInline let closure: @Sendable (Message) -> Void

  @inlinable @inline(__always)
  borrowing func callAsFunction(_ message: Message) { closure(message) }
}

/// A closure without its type, so that the table needs no generic code.
///
/// Generic code that is not specialised looks up its types at run time; subscribing and cancelling go through a
/// protocol and would cost ten times as much. Unchecked: only `@Sendable` closures are stored here.
@safe @usableFromInline
struct ErasedClosure: @unchecked Sendable {
  @usableFromInline let function: UnsafeRawPointer
  @usableFromInline let context: Unmanaged<AnyObject>?

  /// Retains what the closure captured; balanced by ``release()``.
  ///
  /// `call` is a structure whose only member is a closure: two words, code and captured objects.
  @usableFromInline
  init<Call>(retaining call: Call) {
    unsafe self = unsafeBitCast(call, to: ErasedClosure.self)
    unsafe _ = context?.retain()
  }

  /// Retains an object in place of a closure; balanced by ``release()``.
  @usableFromInline
  init<Message>(retaining observer: StagedObserver<Message>) {
    let reference = unsafe Unmanaged<AnyObject>.passRetained(observer)
    unsafe function = UnsafeRawPointer(reference.toOpaque())
    unsafe context = reference
  }

  /// Releases what the closure captured.
  @usableFromInline
  func release() { unsafe context?.release() }

  /// The object in place of the closure.
  ///
  /// Unsafe: there must be an object of this type.
  @unsafe @inlinable @inline(__always)
  func object<Object: AnyObject>(as type: Object.Type) -> Unmanaged<Object> { unsafe .fromOpaque(function) }

  /// Calls the closure in place; see ``MessageCallInPlace``.
  ///
  /// Unsafe: it must be one that takes messages of this type, and its captures must be retained elsewhere.
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

/// An ``ErasedClosure`` that retains what the closure captured as long as it exists itself.
///
/// Unchecked: only `@Sendable` closures are stored here.
@safe @usableFromInline
struct OwnedClosure: @unchecked Sendable {
  private let function: UnsafeRawPointer
  private let context: AnyObject?

  @inlinable @inline(__always)
  init<Message>(_ call: MessageCall<Message>) {
    // Both are two words: code and captured objects.
    unsafe self = unsafeBitCast(call, to: OwnedClosure.self)
  }

  /// The closure, with its captures retained once more; balanced by ``ErasedClosure/release()``.
  @usableFromInline
  func retained() -> ErasedClosure {
    if let context { unsafe _ = Unmanaged.passRetained(context) }
    return closure
  }

  /// The closure, valid while this is alive.
  @inlinable
  var closure: ErasedClosure {
    @inline(__always) get { unsafe unsafeBitCast(self, to: ErasedClosure.self) }
  }
}

/// An observer with the stages before it; ``Stamp/staged`` marks the entries that have one.
@usableFromInline
final class StagedObserver<Message>: Sendable {
  @usableFromInline let stages: Stages<Message>
  @usableFromInline let observer: OwnedClosure

  @inlinable
  init(_ stages: Stages<Message>, _ observer: OwnedClosure) {
    self.stages = stages
    self.observer = observer
  }

  /// Calls the staged observer of an entry in place; see ``MessageCallInPlace``.
  ///
  /// Unsafe: the entry must have one, for messages of this type.
  @unsafe @inlinable @inline(__always)
  static func call(_ closure: UnsafePointer<ErasedClosure>, _ message: Message) {
    unsafe closure.pointee.object(as: Self.self)._withUnsafeGuaranteedRef {
      $0.stages.closure(message, $0.observer.closure)
    }
  }
}

extension ObserverKind {
  /// Calls an entry's closure in place.
  @inlinable @inline(__always)
  static func call(_ closure: UnsafePointer<ErasedClosure>, _ message: Message) {
    unsafe closure.withMemoryRebound(to: MessageCallInPlace<Message>.self, capacity: 1) {
      unsafe $0.pointee(message)
    }
  }

  /// Calls an entry's ``StagedObserver``.
  @inlinable @inline(__always)
  static func callStaged(_ closure: UnsafePointer<ErasedClosure>, _ message: Message) {
    unsafe StagedObserver.call(closure, message)
  }
}

/// The closure with the isolation removed from its type.
///
/// The two types have the same representation: the actor is one of the closure's captures.
func withoutIsolation<Receiver, Message>(
  _ closure: @escaping @isolated(any) @Sendable (Receiver, Message) -> Void
) -> @Sendable (Receiver, Message) -> Void {
  unsafe unsafeBitCast(closure, to: (@Sendable (Receiver, Message) -> Void).self)
}
