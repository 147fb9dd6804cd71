// SPDX-License-Identifier: MIT

/// Why a store whose records are kept takes no writes at the moment.
///
/// Reads, subscriptions and expiry continue.
public enum StorageRefusal: Sendable, Equatable {
  /// The disk is full; writing is retried.
  case full
  /// The queue of records to be written is full.
  case slow
  /// The disk has failed, and nothing more is written.
  case failed
  /// It was opened for reading only.
  case readOnly
  /// Another machine decides changes, or none does at the moment.
  case elsewhere
}

/// When a record is made durable.
package enum StorageSync: Equatable, Sendable {
  /// At once, together with all records waiting by then, and before its notifications are sent.
  case commit
  /// After this interval at most.
  case interval(Duration)
}

extension StorageSync: CustomStringConvertible {
  /// `commit`, or the length of time.
  package var description: String {
    switch self {
    case .commit: "commit"
    case .interval(let interval): interval.text
    }
  }
}

/// How the records of a store have been written since the start.
package struct StorageActivity: Sendable, Equatable {
  /// The time that each group of records took to be written and synced.
  package var syncs = DurationCounts()
  /// Records that have been written.
  package var records: UInt64 = 0
  /// Bytes of these records.
  package var writtenBytes = 0
  /// Bytes of records that may wait to be written.
  package var queueLimit: Int

  package init(queueLimit: Int) { self.queueLimit = queueLimit }
}

/// How the records of a store are kept, at one moment.
package struct StorageStatus: Sendable, Equatable {
  /// Why writes are refused; nil when they are accepted.
  package var refusal: StorageRefusal?
  /// The number of the last record that was appended.
  package var taken: UInt64
  /// The number of the last record that a crash cannot undo.
  package var durable: UInt64
  /// The revision of the last commit that a crash cannot undo.
  package var revision: Revision
  /// The approximate bytes of records that are not durable yet.
  package var queuedBytes: Int
  /// When records become durable; nil when none do.
  package var sync: StorageSync?

  package init(
    refusal: StorageRefusal? = nil, taken: UInt64 = 0, durable: UInt64 = 0, revision: Revision = 0,
    queuedBytes: Int = 0, sync: StorageSync? = nil
  ) {
    self.refusal = refusal
    self.taken = taken
    self.durable = durable
    self.revision = revision
    self.queuedBytes = queuedBytes
    self.sync = sync
  }
}
