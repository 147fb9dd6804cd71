// SPDX-License-Identifier: MIT

internal import SignalStore

/// How much a history may hold and a question may cost, and when it is worked on.
package struct HistoryLimits: Equatable, Sendable {
  /// Most series; properties that come when there are as many are not kept.
  package var series = 100_000
  /// Changes and buckets that are looked at for one question; the page ends there.
  package var rows = 1_000_000
  /// Bytes of values that are read for one question; the page ends there.
  package var queryBytes = 64 << 20
  /// Questions that wait; one more is refused.
  package var queue = 64
  /// Up to when what is in the journal is in the file, when nobody asks: 10 s.
  ///
  /// The longer, the more changes of a series are written at once.
  package var interval = Duration.seconds(10)
  /// How often what is too old is looked for: 10 min.
  package var sweepInterval = Duration.seconds(600)
  /// Most rows that are deleted in one transaction.
  package var slice = 1024
  /// How long a question waits for what is in the journal: 2 s; then it is answered as of what is in the file.
  package var patience = Duration.seconds(2)
  /// How many bytes of records are read for one transaction: 8 MiB, which are some ten times as much in memory.
  package var transactionBytes = 8 << 20

  package init() {}

  /// After how many bytes a block of changes ends: two of them fill a page.
  static let blockBytes = 1960
  /// After how many changes it does.
  static let blockSamples = 1000
  /// The longest value that buckets keep as their first or last.
  static let valueBytes = 1024
  /// After how many frames of a page the log is moved into the file: 4096, which are 16 MiB.
  static let logFrames = 4096
  /// How much memory the pages may take while they are written.
  static let cache = 16 << 20
  /// The same while they are read.
  static let readCache = 8 << 20
}

/// What is kept of which properties.
package struct HistoryConfiguration: Equatable, Sendable {
  /// The first that matches counts; nothing is kept when there are none.
  package var rules: [HistoryRule]
  package var limits: HistoryLimits

  package init(rules: [HistoryRule] = [], limits: HistoryLimits = HistoryLimits()) {
    self.rules = rules
    self.limits = limits
  }

  /// The place of the rule that keeps a property; nil when none does.
  func rule(for path: PropertyPath) -> Int? { rules.firstIndex { $0.pattern.matches(path) } }

  /// The rules as one text, which tells whether they have changed.
  var text: String { rules.map(\.description).joined(separator: "\n") }
}
