// SPDX-License-Identifier: MIT

package import SignalStore

/// The callbacks by which a history notifies the operator.
package struct HistoryObserver: Sendable {
  /// The history has failed, and nothing more is kept.
  package var failed: @Sendable (StorageError) -> Void
  /// The changes between two revisions are missing: the journal did not reach back to the end of the series.
  package var gap: @Sendable (Revision, Revision) -> Void
  /// The data of an answer could not be read.
  package var unreadable: @Sendable (StorageError) -> Void
  /// The limit of series is reached, and a rule names more properties.
  package var crowded: @Sendable (Int) -> Void

  package init(
    failed: @escaping @Sendable (StorageError) -> Void = { _ in },
    gap: @escaping @Sendable (Revision, Revision) -> Void = { _, _ in },
    unreadable: @escaping @Sendable (StorageError) -> Void = { _ in },
    crowded: @escaping @Sendable (Int) -> Void = { _ in }
  ) {
    self.unreadable = unreadable
    self.failed = failed
    self.gap = gap
    self.crowded = crowded
  }
}
