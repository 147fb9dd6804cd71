// SPDX-License-Identifier: MIT

package import SignalStore

/// What a node tells all others, several times a second: that it is there, and for a leader how far the log is.
package struct Beat: Sendable, Equatable {
  /// The name of the node, and of its process.
  package var node: String
  package var session: String
  /// How long its process has been in the cluster, in milliseconds.
  package var age: UInt64 = 0
  /// The term that it leads, or follows.
  package var term: UInt64
  /// Whether it leads that term.
  package var isLeading: Bool
  /// Whether it stops leading by itself, so that nobody has to wait.
  package var isResigning = false
  /// Whether it may lead.
  package var canLead = true
  /// Where its position in the log is.
  package var sequence: UInt64
  package var revision: Revision
  /// The link there; nil while it is not sure that it has the secret of the others.
  package var link: ChainLink?
  /// The last sequence that it knows to exist, or to have existed; 0 where that is the one of its position.
  package var known: UInt64 = 0
  /// The beginning of the numbers of all holders that its process makes; 0 where it has none.
  package var holders: UInt64 = 0
  /// Grows each time that it needs to be told anew what is watched at other nodes; 0 while it needs nothing.
  package var demand: UInt64 = 0
  /// How many messages its process has sent of what is watched at it.
  package var told: UInt64 = 0
  /// How many connections to the engine its process has had: what was sent to it before the last may have been lost.
  package var connections: UInt64 = 0
  /// Its clock.
  package var time: Timestamp
  /// The highest version of records that it reads.
  package var version = LogRecord.version
}
