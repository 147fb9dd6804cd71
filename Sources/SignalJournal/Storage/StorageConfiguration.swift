// SPDX-License-Identifier: MIT

package import SignalStore

/// Where a store is kept, and how.
package struct StorageConfiguration: Sendable {
  /// The folder; it is created if its parent exists.
  package var folder: String
  /// Whether nothing is written, not even by SQLite.
  package var isReadOnly: Bool
  /// The limits of the journal.
  package var journal: JournalLimits
  /// The limits of the store: its history decides how much the journal keeps.
  package var store: StoreLimits
  /// Which properties are kept in the history, and how.
  package var history: HistoryConfiguration
  /// The rules by which the store omits records.
  package var rules: [PersistenceRule]
  /// The name of SQLite's layer of system calls; nil for that of the platform.
  package var system: String?

  package init(
    folder: String, isReadOnly: Bool = false, journal: JournalLimits = JournalLimits(),
    store: StoreLimits = StoreLimits(), history: HistoryConfiguration = HistoryConfiguration(),
    rules: [PersistenceRule] = [],
    system: String? = nil
  ) {
    self.folder = folder
    self.isReadOnly = isReadOnly
    self.journal = journal
    self.store = store
    self.history = history
    self.rules = rules
    self.system = system
  }
}
