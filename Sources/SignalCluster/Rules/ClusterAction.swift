// SPDX-License-Identifier: MIT

/// What a ``ClusterMachine`` wants done, in this order.
package enum ClusterAction: Sendable {
  // MARK: With the log

  /// Append a record if the last one of the stream has this sequence; the answer names the tag.
  case append(LogRecord, after: UInt64, tag: UInt64)
  /// Read what is behind a sequence, as the leader of the stream has it; the answer names the tag.
  case read(after: UInt64, tag: UInt64)
  /// Tell all nodes.
  case publish(Beat)

  // MARK: With the state

  /// Apply the entries of a record, which is committed.
  case adopt(LogRecord)
  /// The entries of the next own record are committed.
  case committed(LogRecord)
  /// A claim of another node counts, or one of an earlier process: follow it. What was proposed and is not committed
  /// will never be.
  case follow(ClaimHead)
  /// The own claim counts: lead.
  case lead(ClaimHead)
  /// Everything that there was at the beginning has been read.
  case caughtUp
  /// The log does not reach back to the position: load a snapshot that is at least behind this sequence.
  case load(after: UInt64)
  /// The stream has lost records that were read from it: write what is held as a snapshot of this position, say
  /// ``ClusterMachine/restartWritten(at:)`` when all of it but its end is stored, or ``ClusterMachine/restartFailed(at:)``.
  case restart(LogPosition)
  /// The stream is fenced: until a time store the end of the snapshot, have the stream begin behind its position, and say
  /// ``ClusterMachine/restartEnded(at:)`` whatever becomes of it.
  case finishRestart(before: UInt64)
  /// What was written of the snapshot is of no use.
  case abandonRestart
  /// Others have read another log: nothing that is held here can be trusted.
  case diverged
}

/// The answer to a record that was appended.
package enum AppendAnswer: Sendable, Equatable {
  /// It is stored, with this sequence.
  case stored(UInt64)
  /// It is not, or it is not known whether it is.
  case failed
}

/// The answer to a question for records.
package enum ReadAnswer: Sendable {
  /// Some records behind the sequence that was asked for, and the sequence of the last record of the stream.
  case records([(sequence: UInt64, bytes: [UInt8])], last: UInt64)
  /// The stream begins with this sequence, which is behind what was asked for.
  case purged(first: UInt64)
  case failed
}
