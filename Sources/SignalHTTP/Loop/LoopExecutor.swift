// SPDX-License-Identifier: MIT
import CReadiness
import Dispatch
import Glibc
import Synchronization

/// The submission queue of a loop: the only way in for work and actor jobs from other threads; it wakes the loop's
/// epoll set.
///
/// Nothing is ever dispatched to the loop's queue itself, because a block waits there until the loop is idle.
final class LoopExecutor: SerialExecutor {
  /// A submitted piece of work; it runs between two turns, in the order of arrival.
  enum Work: Sendable {
    case job(UnownedJob)
    case submission(@Sendable (isolated EventLoop) -> Void)
  }

  let queue: DispatchQueue
  /// An eventfd in the loop's epoll set, edge-triggered: each write is an edge, so it is never read.
  let wakeDescriptor: Int32
  private let waiting = Mutex<[Work]>([])

  init(label: String) throws(SystemError) {
    queue = DispatchQueue(label: label, qos: .userInitiated)
    wakeDescriptor = creadiness_make_event()
    guard wakeDescriptor >= 0 else { throw SystemError("create an eventfd") }
  }

  deinit { close(wakeDescriptor) }

  func enqueue(_ job: consuming ExecutorJob) { put(.job(UnownedJob(job))) }

  /// Enqueues work; one wake-up serves everything enqueued before the loop takes it.
  func put(_ work: Work) {
    let wasEmpty = waiting.withLock { waiting in
      waiting.append(work)
      return waiting.count == 1
    }
    if wasEmpty { wake() }
  }

  /// Makes the loop run a turn soon.
  func wake() { _ = creadiness_signal_event(wakeDescriptor) }

  /// Takes everything that has been enqueued.
  func take() -> [Work] {
    waiting.withLock { waiting in
      guard !waiting.isEmpty else { return [] }
      defer { waiting = [] }
      return waiting
    }
  }

  func run(_ job: UnownedJob) {
    // The executor is alive: the loop that calls this owns it.
    unsafe job.runSynchronously(on: asUnownedSerialExecutor())
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor {
    // Unowned by the runtime's contract; the loop keeps its executor as long as it lives.
    unsafe UnownedSerialExecutor(ordinary: self)
  }

  /// Called by `assumeIsolated` (SE-0424); traps unless on the loop's queue.
  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
