// SPDX-License-Identifier: MIT

package import SignalStore

/// The epochs of a store, one for each start, and where each ended.
///
/// Revisions continue from one epoch to the next, so that a cursor of an earlier one means the same revision now,
/// unless something was lost before it.
package struct Ancestry: Equatable, Sendable {
  /// One start.
  package struct Generation: Equatable, Sendable {
    package let epoch: Epoch
    /// The last revision before it began.
    package let after: Revision
    /// The position of the last record before it began.
    package let position: UInt64
    /// When it began.
    package let time: Timestamp
  }

  /// The present meaning of a cursor.
  package enum Meaning: Equatable, Sendable {
    /// This revision of the present epoch.
    case revision(Revision)
    /// A change that is no longer in the history: it was lost, or undone by restoring a backup.
    case lost
    /// Unknown: the epoch is of another store or too old, or the revision is in the future.
    case unknown
  }

  /// Maximum number of epochs that are remembered.
  package static let limit = 4096

  /// All remembered starts, the present one last; never empty.
  package let generations: [Generation]
  /// For each epoch that has ended, the last revision of it that is still part of the history.
  package let ends: [Epoch: Revision]

  /// - Parameter generations: The starts in order, the present one last.
  init(_ generations: [Generation]) {
    self.generations = generations
    var ends: [Epoch: Revision] = [:]
    // What a later start did not find is also lost for the earlier ones.
    var end = generations.last?.after ?? 0
    for (generation, next) in zip(generations, generations.dropFirst()).reversed() {
      end = min(end, next.after)
      ends[generation.epoch] = end
    }
    self.ends = ends
  }

  /// The epoch of the present start.
  package var current: Generation { generations[generations.count - 1] }

  /// Resolves a cursor in the present epoch.
  ///
  /// - Parameter newest: The last revision of the present epoch.
  package func resolve(_ cursor: Cursor, newest: Revision) -> Meaning {
    if cursor.epoch == current.epoch { return cursor.revision <= newest ? .revision(cursor.revision) : .unknown }
    guard let end = ends[cursor.epoch] else { return .unknown }
    return cursor.revision <= end ? .revision(cursor.revision) : .lost
  }
}
