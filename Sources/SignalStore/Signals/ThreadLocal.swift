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
  var object: Object? {
    guard let pointer = unsafe pthread_getspecific(key) else { return nil }
    // `with`, which put it there, keeps it.
    return unsafe Unmanaged<Object>.fromOpaque(pointer).takeUnretainedValue()
  }

  /// Runs `body` with `object` as that of the running thread.
  @inline(__always)
  func with<Result, Failure: Error>(
    _ object: Object, _ body: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let previous = unsafe pthread_getspecific(key)
    unsafe _ = pthread_setspecific(key, Unmanaged.passUnretained(object).toOpaque())
    defer {
      unsafe _ = pthread_setspecific(key, previous)
      withExtendedLifetime(object) {}
    }
    return try body()
  }
}
