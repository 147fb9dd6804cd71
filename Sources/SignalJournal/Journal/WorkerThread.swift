// SPDX-License-Identifier: MIT

internal import Glibc
internal import Synchronization

/// A thread of our own, for work that waits for a disk: a pool has threads for those that compute.
final class WorkerThread: Sendable {
  private let thread = Mutex<pthread_t?>(nil)

  /// Starts the thread, which calls `body` once; to be called once.
  func start(_ body: sending @escaping () -> Void) {
    var thread = pthread_t()
    let work = unsafe Unmanaged.passRetained(Work(body))
    // The thread takes the reference over.
    let code = unsafe pthread_create(&thread, nil, { unsafe WorkerThread.run($0) }, unsafe work.toOpaque())
    precondition(code == 0, "The system has no more threads: \(SystemCall.message(code)).")
    self.thread.withLock { $0 = thread }
  }

  /// Waits until `body` has returned; a thread that was not started, or has been waited for, is not waited for.
  func join() {
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let thread { _ = pthread_join(thread, nil) }
  }

  private static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    // The only one that takes the reference that `start` has made.
    unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    return nil
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }
}
