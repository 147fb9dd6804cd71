// SPDX-License-Identifier: MIT

internal import Dispatch
internal import Synchronization

/// Moves the log of a database into its file, on a thread and a connection of its own, so that no commit waits for it.
///
/// While writing continues it never reaches the end of the log, and only from there the log can restart. So the writer
/// moves the small rest itself when this is done (``takeRest()``).
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

  /// Starts a checkpoint, unless one is running.
  func request() {
    if phase.compareExchange(expected: .idle, desired: .wanted, ordering: .acquiringAndReleasing).exchanged {
      wake.signal()
    }
  }

  /// Whether a checkpoint has ended since the last call, and little is left.
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
        // What does not fit into the file stays in the log, and is retried after the next commits.
        if !error.isTemporary { failed(error) }
      }
      _ = phase.compareExchange(expected: .wanted, desired: .done, ordering: .acquiringAndReleasing)
    }
  }
}
