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
  /// Whether a fence was read, behind which only a claim with another epoch counts.
  package private(set) var isFenced = false

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

  /// Goes on behind a fence: it is no part of the chain, whose end its writer may not know, and what is in flight of a
  /// leader ends with its term.
  package mutating func fence() { (leader, isFenced) = ("", true) }

  /// The position of a snapshot by which the same revisions go on as another history, at a later place of the stream.
  ///
  /// Nobody leads there, so that no batch of before can count behind it.
  ///
  /// - Parameters:
  ///   - sequence: Higher than any that was read by anybody.
  ///   - term: Not lower than any that is known.
  package func restarted(at sequence: UInt64, term: UInt64, epoch: Epoch) -> LogPosition {
    LogPosition(
      sequence: sequence, term: term, leader: "", number: 0, revision: revision, link: link, epoch: epoch,
      entries: entries)
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
  package func judge(_ head: LogRecord.Head, _ key: ChainKey) -> Verdict {
    switch head {
    case .claim(let claim):
      claim.term > term && claim.last == revision && claim.previous == link && !(isFenced && claim.epoch == epoch)
        ? .counts : .stale
    case .fence(let fence): fence.after == sequence && fence.isProven(by: key) ? .counts : .stale
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
    switch record.head {
    case .fence: fence()
    case .claim(let claim):
      link = key.link(after: link, record.bytes)
      (term, leader, number) = (claim.term, claim.node, 0)
      (epoch, isFenced) = (claim.epoch, false)
    case .batch(let batch):
      link = key.link(after: link, record.bytes)
      number = batch.number
      let counts = record.counts
      revision = Revision(revision.number + UInt64(counts.revisions))
      entries += UInt64(counts.entries)
    }
  }
}
