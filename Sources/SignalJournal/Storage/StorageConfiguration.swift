// SPDX-License-Identifier: MIT

package import SignalStore

/// Where a store is kept, and how.
package struct StorageConfiguration: Sendable {
  /// The folder; it is made if its parent is there.
  package var folder: String
  /// Nothing is written, not even by SQLite.
  package var isReadOnly: Bool
  /// What the journal may take.
  package var journal: JournalLimits
  /// Those of the store: its history decides how much the journal keeps.
  package var store: StoreLimits
  /// What is kept of which properties.
  package var history: HistoryConfiguration
  /// What the store omits of the records that it makes.
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
