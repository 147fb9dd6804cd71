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
}
