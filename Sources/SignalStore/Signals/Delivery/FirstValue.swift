// SPDX-License-Identifier: MIT

import Synchronization

/// Subscribing with the first value delivered before `subscribe` returns, even while another thread is delivering.
///
/// Otherwise the first value of an observer waits in the queue after what is being delivered (delivery rule 3). An
/// operator that cannot send before it knows the value of each of its sources would miss what is sent until then.
@usableFromInline
enum FirstValue {
  private final class Mark: Sendable {}

  private static let around = ThreadLocal<Mark>()
  private static let mark = Mark()

  /// Whether the caller is inside of ``atOnce(_:)``.
  @usableFromInline static var isAtOnce: Bool { around.object != nil }

  /// Runs `attach`, in which every source sends its first value at once.
  ///
  /// For subscribing to the sources of one operator. The observer of the operator must not be called in it: the
  /// operator is not concerned by what that subscribes to.
  static func atOnce<Result>(_ attach: () -> Result) -> Result { around.with(mark, attach) }
}

/// An observer that gets its first message from the subscribing thread, while another one delivers.
///
/// What the other thread sends meanwhile is queued, and comes after the first message.
@safe @usableFromInline
final class FirstCall<Message: Sendable>: Sendable {
  private let observer: ErasedClosure
  private let isStaged: Bool
  private let waiting = Mutex<[Message]>([])
  /// Whether nothing is queued any more; set under the lock.
  private let isOpen = Atomic(false)

  /// - Parameters:
  ///   - observer: Already retained; released with this object.
  ///   - isStaged: Whether it is a ``StagedObserver``.
  @usableFromInline
  init(_ observer: ErasedClosure, isStaged: Bool) {
    (self.observer, self.isStaged) = (observer, isStaged)
  }

  deinit { observer.release() }

  /// The closure that the source stores in place of the observer.
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

  /// Sends the first message, then what has come meanwhile while `isActive` says that the subscription is active.
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
    // The erased closure retains nothing.
    withExtendedLifetime(self) {
      if isStaged {
        unsafe withUnsafePointer(to: observer) { unsafe StagedObserver.call($0, message) }
      } else {
        unsafe observer.call(message)
      }
    }
  }
}
