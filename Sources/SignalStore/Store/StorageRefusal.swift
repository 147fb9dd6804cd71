// SPDX-License-Identifier: MIT

/// Why a store whose records are kept takes no writes at the moment.
///
/// Reading, watching, and what ends by itself go on.
public enum StorageRefusal: Sendable, Equatable {
  /// There is no room on the disk; it is tried again.
  case full
  /// More is waiting to be written than may wait.
  case slow
  /// The disk has failed, and nothing is written any more.
  case failed
  /// It was opened for reading only.
  case readOnly
}

/// When a record is made durable.
package enum StorageSync: Equatable, Sendable {
  /// At once, together with what else is waiting by then, and before anybody is told of it.
  case commit
  /// At most this much later.
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

/// How the records of a store are kept, at one moment.
package struct StorageStatus: Sendable, Equatable {
  /// Why nothing should be written; nil when it may be.
  package var refusal: StorageRefusal?
  /// The number of the last record that was taken.
  package var taken: UInt64
  /// The number of the last record that no crash takes back.
  package var durable: UInt64
  /// The revision of the last commit that no crash takes back.
  package var revision: Revision
  /// About how many bytes of records wait to be durable.
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
