// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// What a history begins with, some at a time: each property as it was in the state.
struct HistorySeeding {
  /// Most that are written at once.
  private static let most = 1000
  /// From when on series that have changed do not know what was; nil when nothing is missing.
  private let gap: Int64?
  private var changes: [PropertyPath: HistoryFile.Changes] = [:]

  init(gap: Int64?) { self.gap = gap }

  var isFull: Bool { changes.count >= HistorySeeding.most }

  mutating func add(_ property: StoredValue) {
    let sample = Sample(property)
    // It is not known what it was before it got this value.
    changes[property.path] = HistoryFile.Changes(gap: gap.map { min($0, sample.time) }, samples: [sample])
  }

  /// The property is not there any more.
  mutating func end(_ path: PropertyPath) { changes[path] = HistoryFile.Changes(gap: gap) }

  mutating func take() -> [PropertyPath: HistoryFile.Changes] {
    defer { changes = [:] }
    return changes
  }
}
