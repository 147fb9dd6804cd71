// SPDX-License-Identifier: MIT

/// What tells a snapshot from others.
struct SnapshotName: Hashable, Comparable, Sendable {
  /// The last record of the log that is in it.
  let sequence: UInt64
  /// The process that has written it: letters and digits.
  let session: String

  /// As it stands in subjects.
  var text: String { "\(sequence).\(session)" }

  init(sequence: UInt64, session: String) {
    self.sequence = sequence
    self.session = session
  }

  /// Reads two tokens of a subject.
  init?(_ text: Substring) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 2, let sequence = UInt64(parts[0]), !parts[1].isEmpty else { return nil }
    self.init(sequence: sequence, session: String(parts[1]))
  }

  static func < (a: SnapshotName, b: SnapshotName) -> Bool { (a.sequence, a.session) < (b.sequence, b.session) }
}
