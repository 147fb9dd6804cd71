// SPDX-License-Identifier: MIT

import Synchronization

/// Subscribing with the first value told before the subscription is there, also while another thread is delivering.
///
/// What an observer is told first otherwise waits in the queue behind what is being delivered (delivery rule 3). An operator
/// that can tell nothing before it knows the value of each of its sources would leave out what is sent until then.
@usableFromInline
enum FirstValue {
  private final class Mark: Sendable {}

  private static let around = ThreadLocal<Mark>()
  private static let mark = Mark()

  /// Whether the caller is inside of ``atOnce(_:)``.
  @usableFromInline static var isAtOnce: Bool { around.object != nil }

  /// Runs `attach`, in which every source tells its first value at once.
  ///
  /// Made for subscribing to the sources of one operator. The observer of the operator must not be called in it: what that
  /// subscribes to is not for the operator.
  static func atOnce<Result>(_ attach: () -> Result) -> Result { around.with(mark, attach) }
}

/// An observer that is told its first message by the thread that subscribes it, while another one delivers.
///
/// What the other thread tells it meanwhile waits, and comes behind the first message.
@safe @usableFromInline
final class FirstCall<Message: Sendable>: Sendable {
  private let observer: ErasedClosure
  private let isStaged: Bool
  private let waiting = Mutex<[Message]>([])
  /// Nothing waits any more; set under the lock.
  private let isOpen = Atomic(false)

  /// - Parameters:
  ///   - observer: Has been retained; released with this object.
  ///   - isStaged: Whether it is a ``StagedObserver``.
  @usableFromInline
  init(_ observer: ErasedClosure, isStaged: Bool) {
    (self.observer, self.isStaged) = (observer, isStaged)
  }

  deinit { observer.release() }

  /// What the source keeps in place of the observer.
  @usableFromInline
  var closure: ErasedClosure { ErasedClosure(retaining: MessageCall<Message> { self.receive($0) }) }

  private func receive(_ message: Message) {
    if isOpen.load(ordering: .acquiring) { return call(message) }
    let waits = waiting.withLock { waiting in
      if isOpen.load(ordering: .relaxed) { return false }
      waiting.append(message)
      return true
    }
    if !waits { call(message) }
  }

  /// Tells the first message, and what has come meanwhile for as long as `isActive` says that the subscription goes on.
  @usableFromInline
  func begin(with first: Message, while isActive: () -> Bool) {
    call(first)
    while true {
      let next = waiting.withLock { waiting in
        var next: [Message] = []
        swap(&next, &waiting)
        if next.isEmpty { isOpen.store(true, ordering: .releasing) }
        return next
      }
      if next.isEmpty { return }
      for message in next where isActive() { call(message) }
    }
  }

  private func call(_ message: Message) {
    // The erased closure keeps nothing.
    withExtendedLifetime(self) {
      if isStaged {
        unsafe withUnsafePointer(to: observer) { unsafe StagedObserver.call($0, message) }
      } else {
        unsafe observer.call(message)
      }
    }
  }
}
