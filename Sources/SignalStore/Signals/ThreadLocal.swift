// SPDX-License-Identifier: MIT

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A reference that a thread has while it runs a closure.
///
/// Not a task-local value: tasks that are started inside inherit those, and may go on when the closure has returned long
/// ago. It costs a tenth of one, too.
struct ThreadLocal<Object: AnyObject & Sendable>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    // The pointer is used for the length of the call.
    let result = unsafe pthread_key_create(&key, nil)
    precondition(result == 0, "the process has no more keys for values of threads")
    self.key = key
  }

  /// The object of the running thread.
  var object: Object? { unsafe reference?.takeUnretainedValue() }

  /// The object of the running thread, kept by those who put it there and not by who asks.
  var reference: Unmanaged<Object>? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(pointer)
  }

  /// Runs `body` with `object` as that of the running thread.
  @inline(__always)
  func with<Result, Failure: Error>(
    _ object: Object, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let previous = unsafe replace(object)
    defer {
      unsafe putBack(previous)
      withExtendedLifetime(object) {}
    }
    return try body()
  }

  /// Makes `object` that of the running thread, until it is set to nil; the caller keeps it until then.
  func set(_ object: Object?) {
    unsafe _ = pthread_setspecific(key, object.map { unsafe Unmanaged.passUnretained($0).toOpaque() })
  }

  /// Makes `object` that of the running thread, and gives what was before for ``putBack(_:)``; the caller keeps it until then.
  func replace(_ object: Object) -> UnsafeMutableRawPointer? {
    let previous = unsafe pthread_getspecific(key)
    unsafe _ = pthread_setspecific(key, Unmanaged.passUnretained(object).toOpaque())
    return unsafe previous
  }

  /// Makes what ``replace(_:)`` gave that of the running thread again.
  func putBack(_ previous: UnsafeMutableRawPointer?) { unsafe _ = pthread_setspecific(key, previous) }
}
