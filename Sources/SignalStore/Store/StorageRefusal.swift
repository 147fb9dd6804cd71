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

  package init(
    refusal: StorageRefusal? = nil, taken: UInt64 = 0, durable: UInt64 = 0, revision: Revision = 0, queuedBytes: Int = 0
  ) {
    self.refusal = refusal
    self.taken = taken
    self.durable = durable
    self.revision = revision
    self.queuedBytes = queuedBytes
  }
}
