// SPDX-License-Identifier: MIT

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A thread-local reference, set while the thread runs a closure.
///
/// Not a task-local value: tasks started inside inherit those, and may continue long after the closure has returned. It
/// also costs a tenth of one.
struct ThreadLocal<Object: AnyObject & Sendable>: Sendable {
  private let key: pthread_key_t

  init() {
    var key = pthread_key_t()
    // The pointer is used for the length of the call.
    let result = unsafe pthread_key_create(&key, nil)
    precondition(result == 0, "the process has no more keys for values of threads")
    self.key = key
  }

  /// The object of the current thread.
  var object: Object? { unsafe reference?.takeUnretainedValue() }

  /// The object of the current thread, retained by the code that set it and not by the caller.
  var reference: Unmanaged<Object>? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    return unsafe Unmanaged<Object>.fromOpaque(pointer)
  }

  /// Runs `body` with `object` as that of the current thread.
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

  /// Sets `object` for the current thread, until it is set to nil; the caller retains it until then.
  func set(_ object: Object?) {
    unsafe _ = pthread_setspecific(key, object.map { unsafe Unmanaged.passUnretained($0).toOpaque() })
  }

  /// Sets `object` for the current thread, retained by the caller; returns the previous one for ``putBack(_:)``.
  func replace(_ object: Object) -> UnsafeMutableRawPointer? {
    let previous = unsafe pthread_getspecific(key)
    unsafe _ = pthread_setspecific(key, Unmanaged.passUnretained(object).toOpaque())
    return unsafe previous
  }

  /// Restores the previous object, as returned by ``replace(_:)``.
  func putBack(_ previous: UnsafeMutableRawPointer?) { unsafe _ = pthread_setspecific(key, previous) }
}
