// SPDX-License-Identifier: MIT

internal import Glibc
internal import Synchronization

/// A dedicated thread, for work that blocks on a disk or a server: the threads of a pool are for computing.
package final class WorkerThread: Sendable {
  private let thread = Mutex<pthread_t?>(nil)

  package init() {}

  /// Starts the thread, which calls `body` once; to be called once.
  package func start(_ body: sending @escaping () -> Void) {
    var thread = pthread_t()
    let work = unsafe Unmanaged.passRetained(Work(body))
    // The thread takes over the reference.
    let code = unsafe pthread_create(&thread, nil, { unsafe WorkerThread.run($0) }, unsafe work.toOpaque())
    precondition(code == 0, "The system has no more threads: \(SystemCall.message(code)).")
    self.thread.withLock { $0 = thread }
  }

  /// Waits until `body` has returned; returns at once when the thread was not started or has been joined.
  package func join() {
    let thread = thread.withLock { thread in
      defer { thread = nil }
      return thread
    }
    if let thread { _ = pthread_join(thread, nil) }
  }

  private static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    // The only place that consumes the reference made by `start`.
    unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    return nil
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }
}
