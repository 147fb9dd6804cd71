// SPDX-License-Identifier: MIT

internal import Dispatch
internal import Synchronization

/// Moves the log of a database into its file, on a thread and a connection of its own, so that no commit waits for it.
///
/// While others go on writing it never gets to the end of the log, and only from there the log begins anew. So the one that
/// writes does the small rest itself when this is done (``takeRest()``).
// The connection is used by the thread only; everything else is atomic.
final class Checkpointer: @unchecked Sendable {
  private enum Phase: Int, AtomicRepresentable {
    case idle, wanted, done, closing
  }

  private let database: Database
  private let phase = Atomic(Phase.idle)
  private let wake = DispatchSemaphore(value: 0)
  private let failed: @Sendable (StorageError) -> Void
  private let thread = WorkerThread()

  init(_ database: Database, failed: @escaping @Sendable (StorageError) -> Void) {
    self.database = database
    self.failed = failed
  }

  func start() {
    thread.start { self.run() }
  }

  /// Begins, unless it is at it.
  func request() {
    if phase.compareExchange(expected: .idle, desired: .wanted, ordering: .acquiringAndReleasing).exchanged {
      wake.signal()
    }
  }

  /// Whether it has ended since this was asked last, and little is left.
  func takeRest() -> Bool {
    phase.compareExchange(expected: .done, desired: .idle, ordering: .acquiringAndReleasing).exchanged
  }

  /// Ends the thread.
  func close() {
    phase.store(.closing, ordering: .releasing)
    wake.signal()
    thread.join()
  }

  private func run() {
    while true {
      wake.wait()
      if phase.load(ordering: .acquiring) == .closing { return }
      do throws(StorageError) {
        try database.checkpoint()
      } catch {
        // What does not fit into the file stays in the log, and is tried again after the next commits.
        if !error.isTemporary { failed(error) }
      }
      _ = phase.compareExchange(expected: .wanted, desired: .done, ordering: .acquiringAndReleasing)
    }
  }
}
