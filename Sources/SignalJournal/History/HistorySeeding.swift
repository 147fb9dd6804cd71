// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// The initial contents of a history, added in batches: each property as it was in the state.
struct HistorySeeding {
  /// The maximum size of a batch.
  private static let most = 1000
  /// The time since which values of changed series are unknown; nil when nothing is missing.
  private let gap: Int64?
  private var changes: [PropertyPath: HistoryFile.Changes] = [:]

  init(gap: Int64?) { self.gap = gap }

  var isFull: Bool { changes.count >= HistorySeeding.most }

  mutating func add(_ property: StoredValue) {
    let sample = Sample(property)
    // Its value before this one is unknown.
    changes[property.path] = HistoryFile.Changes(gap: gap.map { min($0, sample.time) }, samples: [sample])
  }

  /// Ends the series of a property that no longer exists.
  mutating func end(_ path: PropertyPath) { changes[path] = HistoryFile.Changes(gap: gap) }

  mutating func take() -> [PropertyPath: HistoryFile.Changes] {
    defer { changes = [:] }
    return changes
  }
}
