// SPDX-License-Identifier: MIT

package import JSON

/// One step in what a store holds: applying the records of a store in their order to a ``Replica`` gives what the store has.
///
/// Everything that took judgement (a condition, a limit, a formula, a clock) has been decided when a record is made, so that
/// applying it takes none. Only a commit takes a revision. A record is a reference or two: making one of a commit allocates
/// nothing.
package enum Record: Sendable {
  /// The changes of one revision, with the leases of what was set and the values and failures of what was computed.
  case commit(Commit)
  /// A property that keeps value, revision and time: its lease was renewed or is over, or its formula fails for another
  /// reason.
  case amendment(StoredValue)
  /// A message that was sent; if it is kept, it takes the place of the one that was, and otherwise removes it.
  ///
  /// One that would do neither is not recorded.
  case signal(SignalMessage, isKept: Bool)
  /// A timer was set, or set anew.
  case timer(StoredTimer)
  /// A timer has fired and sent this message, which is not kept; `count` intervals have passed since it was set.
  ///
  /// One that fires once is gone. One that goes on is recorded only when its message has removed one that was kept.
  case timerFired(SignalMessage, count: Int)
  /// A timer was removed before it fired for the last time.
  case timerRemoved(PropertyPath)
  /// The operations that somebody has to execute when this holder is gone; nil when there are none any more.
  case lastOperations(Holder, JSONText?)
  /// As ``commit(_:)``, but after a restart nobody has to know more of it than that its revision was taken.
  case omittedCommit(Commit)
  /// As ``amendment(_:)``, but after a restart nobody has to know of it.
  case omittedAmendment(StoredValue)
  /// From here on these rules say what is omitted.
  case rules([PersistenceRule])
}

/// Takes the records of a store.
package protocol RecordSink: AnyObject, Sendable {
  /// Takes the next record.
  ///
  /// It is called under the lock of the store, in the order in which the records were applied: it has to be quick, must not
  /// use the store, and releases nothing of others.
  func append(_ record: Record)

  /// Why nothing should be written now; nil when it may be. Asked under the lock, so quick as well.
  var refusal: StorageRefusal? { get }

  /// How the records are kept; nil when they are not kept for longer than the process.
  var status: StorageStatus? { get }

  /// Makes what was taken durable as soon as possible, also where that is usually done later.
  func hurry()
}

extension RecordSink {
  /// Everything may be written.
  package var refusal: StorageRefusal? { nil }

  /// Nothing is kept.
  package var status: StorageStatus? { nil }

  /// There is nothing to be done.
  package func hurry() {}
}
