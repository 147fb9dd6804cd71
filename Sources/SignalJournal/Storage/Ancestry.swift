// SPDX-License-Identifier: MIT

package import SignalStore

/// The epochs of a store, one for each start, and where each ended.
///
/// Revisions are counted on from one epoch to the next, so that a cursor of an earlier one means the same revision now, as
/// long as nothing was lost behind it.
package struct Ancestry: Equatable, Sendable {
  /// One start.
  package struct Generation: Equatable, Sendable {
    package let epoch: Epoch
    /// The last revision that there was when it began.
    package let after: Revision
    /// The last record that there was.
    package let position: UInt64
    /// When it began.
    package let time: Timestamp
  }

  /// What a cursor means now.
  package enum Meaning: Equatable, Sendable {
    /// This revision of the present epoch.
    case revision(Revision)
    /// Something that is not in the history any more: it was lost, or undone by a backup.
    case lost
    /// Nothing that is known: the epoch is of another store, or too old, or the revision has not come yet.
    case unknown
  }

  /// Most epochs that are remembered.
  package static let limit = 4096

  /// Every start that is remembered, the present one last; never empty.
  package let generations: [Generation]
  /// For each epoch that has ended, the last revision of it that is still part of the history.
  package let ends: [Epoch: Revision]

  /// - Parameter generations: In the order of the starts, the present one last.
  init(_ generations: [Generation]) {
    self.generations = generations
    var ends: [Epoch: Revision] = [:]
    // What a later start did not find is lost for the earlier ones, too.
    var end = generations.last?.after ?? 0
    for (generation, next) in zip(generations, generations.dropFirst()).reversed() {
      end = min(end, next.after)
      ends[generation.epoch] = end
    }
    self.ends = ends
  }

  /// The epoch of the present start.
  package var current: Generation { generations[generations.count - 1] }

  /// What a cursor means now.
  ///
  /// - Parameter newest: The last revision of the present epoch.
  package func resolve(_ cursor: Cursor, newest: Revision) -> Meaning {
    if cursor.epoch == current.epoch { return cursor.revision <= newest ? .revision(cursor.revision) : .unknown }
    guard let end = ends[cursor.epoch] else { return .unknown }
    return cursor.revision <= end ? .revision(cursor.revision) : .lost
  }
}
