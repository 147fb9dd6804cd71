// SPDX-License-Identifier: MIT

package import SignalStore

/// How far a log has been read, and what follows from it: which of the next records counts.
///
/// All nodes read one order and judge each record by nothing but what they have read before, so all decide alike.
/// Safety needs nothing more; the sequence that the stream expects only keeps rubbish out.
package struct LogPosition: Sendable, Equatable {
  /// The sequence of the last record that was read, counted or not.
  package var sequence: UInt64 = 0
  /// The term of the last claim that counted; 0 before the first.
  package private(set) var term: UInt64 = 0
  /// The leader of that term.
  package private(set) var leader = ""
  /// The last batch of the term that counted.
  package private(set) var number: UInt64 = 0
  /// The last revision.
  package private(set) var revision = Revision(0)
  /// The link of the last record that counted.
  package private(set) var link = ChainLink.none
  /// The epoch of the last claim that counted; nil before the first.
  package private(set) var epoch: Epoch?
  /// How many entries there were in all records that counted.
  package private(set) var entries: UInt64 = 0

  package init() {}

  /// Continues behind a snapshot.
  package init(
    sequence: UInt64, term: UInt64, leader: String, number: UInt64, revision: Revision, link: ChainLink, epoch: Epoch,
    entries: UInt64
  ) {
    self.sequence = sequence
    self.term = term
    self.leader = leader
    self.number = number
    self.revision = revision
    self.link = link
    self.epoch = epoch
    self.entries = entries
  }

  /// What a record means to those who have read up to here.
  package enum Verdict: Sendable, Equatable {
    case counts
    /// It was written by somebody who did not know all before it, or is there twice: it is skipped.
    case stale
    /// Batches before it are missing.
    case hole
    /// Its writer has read something else before it.
    case diverged
  }

  /// Judges the next record.
  package func judge(_ head: LogRecord.Head) -> Verdict {
    switch head {
    case .claim(let claim):
      claim.term > term && claim.last == revision && claim.previous == link ? .counts : .stale
    case .batch(let batch):
      if batch.term != term || batch.node != leader || batch.number <= number {
        .stale
      } else if batch.number > number + 1 {
        .hole
      } else {
        batch.first.number == revision.number + 1 && batch.previous == link ? .counts : .diverged
      }
    }
  }

  /// Goes on behind a record that counts.
  package mutating func advance(over record: LogRecord, _ key: ChainKey) {
    link = key.link(after: link, record.bytes)
    switch record.head {
    case .claim(let claim):
      (term, leader, number) = (claim.term, claim.node, 0)
      epoch = claim.epoch
    case .batch(let batch):
      number = batch.number
      let counts = record.counts
      revision = Revision(revision.number + UInt64(counts.revisions))
      entries += UInt64(counts.entries)
    }
  }
}
