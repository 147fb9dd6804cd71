// SPDX-License-Identifier: MIT
import CReadiness
import Dispatch
import Glibc
import Synchronization

/// The one door into a loop: work and actor jobs from any thread go into a queue and wake the loop's epoll set.
///
/// Nothing is ever dispatched to the loop's queue itself, because a block waits there until the loop is idle.
final class LoopExecutor: SerialExecutor {
  /// What comes through the door; it runs between two turns, in the order of arrival.
  enum Work: Sendable {
    case job(UnownedJob)
    case submission(@Sendable (isolated EventLoop) -> Void)
  }

  let queue: DispatchQueue
  /// An eventfd, member of the loop's epoll set, edge-triggered: a write is an edge, so it is never read.
  let wakeDescriptor: Int32
  private let waiting = Mutex<[Work]>([])

  init(label: String) throws(SystemError) {
    queue = DispatchQueue(label: label, qos: .userInitiated)
    wakeDescriptor = creadiness_make_event()
    guard wakeDescriptor >= 0 else { throw SystemError("create an eventfd") }
  }

  deinit { close(wakeDescriptor) }

  func enqueue(_ job: consuming ExecutorJob) { put(.job(UnownedJob(job))) }

  /// Puts work in; one wake-up serves all that is put in before the loop takes it.
  func put(_ work: Work) {
    let wasEmpty = waiting.withLock { waiting in
      waiting.append(work)
      return waiting.count == 1
    }
    if wasEmpty { wake() }
  }

  /// Makes the loop run a turn soon.
  func wake() { _ = creadiness_signal_event(wakeDescriptor) }

  /// Takes all that has come in.
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

  /// SE-0424: what `assumeIsolated` asks; traps unless called on the loop's queue.
  func checkIsolated() { dispatchPrecondition(condition: .onQueue(queue)) }
}
