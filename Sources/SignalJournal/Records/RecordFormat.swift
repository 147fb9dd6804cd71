// SPDX-License-Identifier: MIT

/// The binary format of records.
///
/// Numbers are LEB128, signed ones with the sign in the lowest bit; texts are their length followed by their bytes. A
/// record begins with one byte that gives its kind. Revisions of commits are not written, as each follows from the one
/// before; times are the difference to the previous one, the first of a row to 0.
enum RecordFormat {
  /// The version that is written; each row stores its own.
  static let version: Int64 = 1

  /// A commit of several changes: its time, their number, then each with its ``Part``.
  static let commit: UInt8 = 1
  static let signal: UInt8 = 2
  static let keptSignal: UInt8 = 3
  static let timer: UInt8 = 4
  static let timerFired: UInt8 = 5
  static let timerRemoved: UInt8 = 6
  static let lastOperations: UInt8 = 7
  static let noLastOperations: UInt8 = 8
  /// Before a commit: the number of revisions of omitted commits before it.
  static let gap: UInt8 = 9
  /// The rules by which commits are omitted: their number, then each as a text.
  static let rules: UInt8 = 10
  /// Combined with the ``Part``: a property that keeps its revision and time.
  static let amendment: UInt8 = 0x20
  /// Combined with the ``Part``: a commit of a single change.
  static let change: UInt8 = 0x40

  /// Added to the ``Part`` of a change that is a correction.
  static let correction: UInt8 = 0x10

  /// The kind of a change, and what the property has beside its value.
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

  /// No revision, position or number of a holder comes near it, so that incrementing one cannot overflow.
  static let numberLimit: UInt64 = 1 << 62
  /// The bound of durations: a million years.
  static let secondsLimit: Int64 = 1_000_000 * 366 * 86_400
}
