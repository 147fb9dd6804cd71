// SPDX-License-Identifier: MIT

package import SignalStore

/// What a journal does when, and how much it may take.
package struct JournalLimits: Equatable, Sendable {
  package typealias Sync = StorageSync

  package var sync: Sync
  /// Most bytes of records that wait to be written; 64 MiB unless told otherwise.
  ///
  /// Above it ``Journal/isFull`` is true.
  package var queueBytes: Int
  /// Most bytes of records that are in the journal and not in the state yet; 256 MiB unless told otherwise.
  ///
  /// Above it ``Journal/isFull`` is true. When there are half as many, the state is brought further.
  package var journalBytes: Int
  /// After how many changes the state is brought further also when they are small; 1 000 000 unless told otherwise.
  ///
  /// They are what has to be read at a start.
  package var journalChanges: Int
  /// After how many bytes of records a row ends; 4 MiB.
  ///
  /// A group that has more takes several, each with a sync of its own.
  package var rowBytes = 4 << 20
  /// After how many frames of a page the log of the journal is moved into its file: 4096, which are 16 MiB.
  package var logFrames = 4096
  /// How many bytes of records are read for one transaction of the state; 32 MiB.
  ///
  /// So much memory is taken some times over while it is made.
  package var transactionBytes = 32 << 20
  /// How long a disk that is full is left alone; 1 s.
  package var retryInterval = Duration.seconds(1)

  package init(
    sync: Sync = .commit, queueBytes: Int = 64 << 20, journalBytes: Int = 256 << 20, journalChanges: Int = 1_000_000
  ) {
    self.sync = sync
    self.queueBytes = queueBytes
    self.journalBytes = journalBytes
    self.journalChanges = journalChanges
  }

  /// After how long a time to live that was given is durable at the latest, also when the interval is longer; so much longer
  /// each is after a crash.
  package static let renewalDelay = Duration.seconds(1)
  /// Most rows that a commit deletes beside its own: it adds one, so that there are always fewer.
  static let deletedRows: Int64 = 4
  /// To how many bytes the log is cut when it is begun anew.
  static let logBytes = 64 << 20
  /// How much memory the pages of the state may take while it is written.
  static let stateCache = 16 << 20
}
