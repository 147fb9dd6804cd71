// SPDX-License-Identifier: MIT

internal import SignalStore

/// The limits of a history and of its queries, and the intervals of its work.
package struct HistoryLimits: Equatable, Sendable {
  /// Maximum number of series; further properties are not kept.
  package var series = 100_000
  /// Changes and buckets that are read for one query; the page ends there.
  package var rows = 1_000_000
  /// Bytes of values that are read for one query; the page ends there.
  package var queryBytes = 64 << 20
  /// Queries that may wait; one more is refused.
  package var queue = 64
  /// The time after which the journal is copied to the file when no query is waiting: 10 s.
  ///
  /// The longer, the more changes of a series are written at once.
  package var interval = Duration.seconds(10)
  /// The interval between sweeps of what is too old: 10 min.
  package var sweepInterval = Duration.seconds(600)
  /// Maximum number of rows that are deleted in one transaction.
  package var slice = 1024
  /// How long a query waits for the journal to be copied: 2 s; then it is answered from the file as it is.
  package var patience = Duration.seconds(2)
  /// Bytes of records that are read for one transaction: 8 MiB, which take about ten times as much in memory.
  package var transactionBytes = 8 << 20

  package init() {}

  /// The number of bytes after which a block of changes ends: two of them fill a page.
  static let blockBytes = 1960
  /// The number of changes after which it ends.
  static let blockSamples = 1000
  /// The longest value that buckets keep as their first or last.
  static let valueBytes = 1024
  /// The number of frames, of a page each, after which the log is moved into the file: 4096, which are 16 MiB.
  static let logFrames = 4096
  /// The size of the page cache while writing.
  static let cache = 16 << 20
  /// The size of the page cache while reading.
  static let readCache = 8 << 20
}

/// Which properties are kept in the history, and how.
package struct HistoryConfiguration: Equatable, Sendable {
  /// The first matching rule applies; without rules nothing is kept.
  package var rules: [HistoryRule]
  package var limits: HistoryLimits

  package init(rules: [HistoryRule] = [], limits: HistoryLimits = HistoryLimits()) {
    self.rules = rules
    self.limits = limits
  }

  /// The index of the rule that keeps a property; nil when none does.
  func rule(for path: PropertyPath) -> Int? { rules.firstIndex { $0.pattern.matches(path) } }

  /// The rules as one text, to detect whether they have changed.
  var text: String { rules.map(\.description).joined(separator: "\n") }
}
