// SPDX-License-Identifier: MIT

package import SignalStore

/// Whom a history tells what an operator has to know.
package struct HistoryObserver: Sendable {
  /// Nothing is kept any more.
  package var failed: @Sendable (StorageError) -> Void
  /// What was between two revisions is not in the series: the journal did not reach back to where they ended.
  package var gap: @Sendable (Revision, Revision) -> Void
  /// An answer could not be read.
  package var unreadable: @Sendable (StorageError) -> Void
  /// There are as many series as there may be, and more properties that a rule names.
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
