// SPDX-License-Identifier: MIT
// Only for the thread sanitizer; see scripts/sanitize.sh.
import Glibc

/// Stands in for `Synchronization.Mutex`, whose slow path is in the runtime, where the sanitizer does not see it: every
/// contended lock would be reported as a race. A POSIX lock is one that the sanitizer knows.
@usableFromInline
@safe struct Mutex<Value: ~Copyable>: ~Copyable {
  // Addresses that do not move, as a POSIX lock demands; freed with the lock.
  private let lock: UnsafeMutablePointer<pthread_mutex_t>
  private let value: UnsafeMutablePointer<Value>

  @usableFromInline
  init(_ initial: consuming sending Value) {
    unsafe lock = .allocate(capacity: 1)
    unsafe pthread_mutex_init(lock, nil)
    unsafe value = .allocate(capacity: 1)
    unsafe value.initialize(to: initial)
  }

  @usableFromInline
  borrowing func withLock<Result: ~Copyable, Failure: Error>(
    _ body: (inout sending Value) throws(Failure) -> sending Result
  ) throws(Failure) -> sending Result {
    unsafe pthread_mutex_lock(lock)
    defer { unsafe pthread_mutex_unlock(lock) }
    return try unsafe body(&value.pointee)
  }

  deinit {
    unsafe value.deinitialize(count: 1)
    unsafe value.deallocate()
    unsafe pthread_mutex_destroy(lock)
    unsafe lock.deallocate()
  }
}

// The value is reached only under the lock.
extension Mutex: @unchecked Sendable where Value: ~Copyable {}
