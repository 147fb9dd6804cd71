// SPDX-License-Identifier: MIT

/// How records are written, in bytes.
///
/// Numbers are LEB128, with the sign in the lowest bit where there is one; texts are their length and their bytes. A record
/// begins with one byte that says what it is. Revisions of commits are not written, as each follows from the one before;
/// times are the difference to the one before, the first of a row that to 0.
enum RecordFormat {
  /// The version that is written; rows say theirs.
  static let version: Int64 = 1

  /// A commit of several changes: its time, their number, and each with its ``Part``.
  static let commit: UInt8 = 1
  static let signal: UInt8 = 2
  static let keptSignal: UInt8 = 3
  static let timer: UInt8 = 4
  static let timerFired: UInt8 = 5
  static let timerRemoved: UInt8 = 6
  static let lastOperations: UInt8 = 7
  static let noLastOperations: UInt8 = 8
  /// Before a commit: how many revisions before it were taken by commits that are not written.
  static let gap: UInt8 = 9
  /// The rules by which commits are not written: their number, and each as a text.
  static let rules: UInt8 = 10
  /// Of this and the ``Part``: a property that keeps its revision and time.
  static let amendment: UInt8 = 0x20
  /// Of this and the ``Part``: a commit of a single change.
  static let change: UInt8 = 0x40

  /// Added to the ``Part`` of a change that is a correction.
  static let correction: UInt8 = 0x10

  /// What a change does with a property, and what the property has beside its value.
  enum Part: UInt8 {
    case plain, leased, computed, deleted, expired, released
  }

  /// Bits of a lease.
  enum LeasePart {
    static let term: UInt8 = 1
    static let holder: UInt8 = 2
  }

  enum Schedule: UInt8 {
    case after, at, every
  }

  /// No revision, position or number of a holder comes near it, so that counting on from one is safe.
  static let numberLimit: UInt64 = 1 << 62
  /// No length of time is longer: a million years.
  static let secondsLimit: Int64 = 1_000_000 * 366 * 86_400
}
