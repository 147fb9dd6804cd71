// SPDX-License-Identifier: MIT

/// How long members of a cluster wait for what, and how much they do at once.
package struct ClusterTimes: Sendable, Equatable {
  /// Between two beats, in milliseconds.
  package var beat: UInt64 = 150
  /// Silence of the leader after which another node takes over.
  package var takeover: UInt64 = 1000
  /// To that a random time is added, so that two nodes seldom do it at once: at most this.
  package var jitter: UInt64 = 400
  /// For the acknowledgement of a record; then the log is read.
  package var acknowledgement: UInt64 = 700
  /// For the answer to a question; then it is asked again.
  package var answer: UInt64 = 2000
  /// Between two looks at whether the stream still has what was read from it, while nothing else is read.
  package var check: UInt64 = 5000
  /// How long the stream has to be shorter than what was read before it is believed: a new leader of the stream may not
  /// know all at first.
  package var shortage: UInt64 = 10_000
  /// Silence of a node after which what it held ends.
  package var node: UInt64 = 5000
  /// Between two looks at which snapshots there are.
  package var snapshots: UInt64 = 10_000
  /// Records that are appended before the first of them is acknowledged.
  package var flights = 4
  /// Entries and bytes of one record; a single entry may be larger.
  package var entries = 512
  package var bytes = 512 << 10
  /// Records that are kept while those before them are read, and their bytes.
  package var waiting = 4096
  package var waitingBytes = 64 << 20

  package init() {}
}
