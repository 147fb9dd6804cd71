// SPDX-License-Identifier: MIT

internal import Glibc

/// A thread of our own, for work that waits for a disk: a pool has threads for those that compute.
final class WorkerThread: Sendable {
  private let thread: pthread_t

  /// Starts a thread that calls `body` once.
  init(_ body: sending @escaping () -> Void) {
    var thread = pthread_t()
    let work = unsafe Unmanaged.passRetained(Work(body))
    // The thread takes the reference over.
    let code = unsafe pthread_create(&thread, nil, { unsafe WorkerThread.run($0) }, unsafe work.toOpaque())
    precondition(code == 0, "The system has no more threads: \(SystemCall.message(code)).")
    self.thread = thread
  }

  /// Waits until `body` has returned; to be called once.
  func join() {
    _ = pthread_join(thread, nil)
  }

  private static func run(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context = unsafe context else { return nil }
    // The only one that takes the reference that `init` has made.
    unsafe Unmanaged<Work>.fromOpaque(context).takeRetainedValue().body()
    return nil
  }

  private final class Work {
    let body: () -> Void

    init(_ body: @escaping () -> Void) { self.body = body }
  }
}
