// SPDX-License-Identifier: MIT

/// One recorded mutation of one property.
public struct Change: Sendable, Equatable {
  /// What happened to a property.
  public enum Operation: Sendable, Equatable {
    /// It got a value, its first or another one.
    case set
    /// It was removed, and is gone.
    case delete
    /// Its time to live ended, and it is gone.
    case expire
    /// Its ``Holder`` was released, and it is gone.
    case release
  }

  /// What happened.
  public let op: Operation
  /// Whether observers may have received another value than ``old`` before, which a restart has forgotten.
  ///
  /// It is therefore sent to everyone who may have seen the property, also where it seems to change nothing for them.
  package private(set) var isCorrection = false
  /// The property after the change; nil when it is gone.
  public let new: StoredValue?
  /// The property before the change; nil when there was none.
  public let old: StoredValue?
  /// The revision of the change, shared with the others of its transaction.
  public let revision: Revision
  /// The time of the change.
  public let time: Timestamp

  /// The property that changed.
  public var path: PropertyPath { subject.path }

  /// The property as it is now, or as it was when it is gone.
  ///
  /// At least one of the two is not nil: the initializers ensure it.
  var subject: StoredValue {
    if let new { return new }
    guard let old else { preconditionFailure("A change has neither a new nor an old value.") }
    return old
  }

  package init(set new: StoredValue, replacing old: StoredValue?) {
    op = .set
    self.new = new
    self.old = old
    revision = new.revision
    time = new.time
  }

  package init(delete old: StoredValue, revision: Revision, time: Timestamp) {
    op = .delete
    new = nil
    self.old = old
    self.revision = revision
    self.time = time
  }

  /// The same change, marked as a correction.
  package var asCorrection: Change {
    var change = self
    change.isCorrection = true
    return change
  }

  /// The change that ends a lease, by ``Operation/expire`` or ``Operation/release``.
  package init(end old: StoredValue, by op: Operation, revision: Revision, time: Timestamp) {
    self.op = op
    new = nil
    self.old = old
    self.revision = revision
    self.time = time
  }
}

/// What one revision did: a single change, or the changes of a transaction.
///
/// A sequence of its changes, in the order of the operations, no path twice. It never changes and
/// can be passed between threads; it is one object, and one retain, however many changes it has.
public final class Commit: Sendable {
  /// The first change, and most often the only one.
  public let first: Change
  /// The other changes of a transaction; empty, without an allocation, for a single change.
  let rest: [Change]

  package init(_ first: Change, rest: [Change] = []) {
    self.first = first
    self.rest = rest
  }

  /// The revision of every change in it.
  public var revision: Revision { first.revision }
  /// The time of every change in it.
  public var time: Timestamp { first.time }
}

extension Commit: Sequence {
  /// The number of changes, at least 1.
  public var count: Int { 1 + rest.count }

  /// Starts at the first change.
  public func makeIterator() -> Iterator { Iterator(commit: self) }

  /// Iterates over the changes.
  public struct Iterator: IteratorProtocol {
    let commit: Commit
    var index = 0

    /// The next change, or nil after the last.
    public mutating func next() -> Change? {
      defer { index += 1 }
      if index == 0 { return commit.first }
      return index <= commit.rest.count ? commit.rest[index - 1] : nil
    }
  }
}
