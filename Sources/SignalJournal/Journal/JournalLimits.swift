// SPDX-License-Identifier: MIT

package import SignalStore

/// The limits of a journal and the intervals of its work.
package struct JournalLimits: Equatable, Sendable {
  package typealias Sync = StorageSync

  package var sync: Sync
  /// Maximum number of bytes of records that wait to be written; 64 MiB by default.
  ///
  /// Above it ``Journal/isFull`` is true.
  package var queueBytes: Int
  /// Maximum number of bytes of records that are in the journal and not in the state yet; 256 MiB by default.
  ///
  /// Above it ``Journal/isFull`` is true. At half of it, the state is advanced.
  package var journalBytes: Int
  /// The number of changes after which the state is advanced even when they are small; 1 000 000 by default.
  ///
  /// A start has to read them all.
  package var journalChanges: Int
  /// The bytes of records after which a row ends; 4 MiB.
  ///
  /// A larger group takes several rows, each with a sync of its own.
  package var rowBytes = 4 << 20
  /// The number of frames, of a page each, after which the log is moved into its file: 4096, which are 16 MiB.
  package var logFrames = 4096
  /// Bytes of records that are read for one transaction of the state; 32 MiB.
  ///
  /// The transaction takes a multiple of it in memory.
  package var transactionBytes = 32 << 20
  /// The interval between retries when the disk is full; 1 s.
  package var retryInterval = Duration.seconds(1)

  package init(
    sync: Sync = .commit, queueBytes: Int = 64 << 20, journalBytes: Int = 256 << 20, journalChanges: Int = 1_000_000
  ) {
    self.sync = sync
    self.queueBytes = queueBytes
    self.journalBytes = journalBytes
    self.journalChanges = journalChanges
  }

  /// The longest delay until a new time to live is durable, even when the interval is longer; after a crash each time
  /// to live is extended by it.
  package static let renewalDelay = Duration.seconds(1)
  /// Maximum number of rows that a commit deletes: as it adds only one, their number goes down.
  static let deletedRows: Int64 = 4
  /// The size in bytes to which the log is truncated when it restarts.
  static let logBytes = 64 << 20
  /// The size of the page cache of the state while it is written.
  static let stateCache = 16 << 20
}
