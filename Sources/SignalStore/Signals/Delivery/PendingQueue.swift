// SPDX-License-Identifier: MIT

/// One message that waits for its delivery.
@usableFromInline
struct Pending<Message> {
  /// Observers whose ``Stamp`` is higher subscribed after the message was sent and do not get it.
  @usableFromInline let number: UInt64

  /// The stamp of the only observer that gets the message; 0 when all do.
  @usableFromInline let target: UInt64

  /// Set for the outcome of a transaction, which waits until all its messages have been delivered.
  @usableFromInline let transaction: Transaction?

  @usableFromInline var message: Message

  @inlinable
  init(number: UInt64, target: UInt64, message: Message, transaction: Transaction? = nil) {
    self.number = number
    self.target = target
    self.message = message
    self.transaction = transaction
  }
}

/// A first-in, first-out ring that takes memory only when it grows.
///
/// Memory of its own, and no array: a place costs nothing while no message is in it, and giving back a ring that has become
/// large in a burst does not visit all of them.
@safe @usableFromInline
struct PendingQueue<Message>: ~Copyable {
  /// Room for `capacity` messages, 0 or a power of 2; those from `head` on are there, the rest is not initialised.
  @usableFromInline var ring: UnsafeMutablePointer<Pending<Message>>?
  @usableFromInline var capacity = 0
  @usableFromInline var head = 0

  /// How many messages wait.
  @usableFromInline var count = 0

  /// How many of them are for all observers; only these count against a limit.
  @usableFromInline var broadcasts = 0

  /// A ring that became larger than this in a burst is given back when it is empty.
  @usableFromInline static var keptCapacity: Int { 1024 }

  @inlinable
  init() { unsafe ring = nil }

  @inlinable
  deinit {
    for position in 0..<count { unsafe slot(position).deinitialize(count: 1) }
    unsafe ring?.deallocate()
  }

  /// The place of a message, counted from the oldest one; only while there is a ring.
  @inlinable @inline(__always)
  func slot(_ position: Int) -> UnsafeMutablePointer<Pending<Message>> {
    unsafe ring.unsafelyUnwrapped + ((head + position) & (capacity - 1))
  }

  /// Adds a message at the end.
  @inlinable
  mutating func append(_ item: consuming Pending<Message>) {
    if count == capacity { grow() }
    if item.target == 0 { broadcasts += 1 }
    unsafe slot(count).initialize(to: item)
    count += 1
  }

  /// The oldest message; only while there is one.
  @inlinable
  var first: Pending<Message> { unsafe slot(0).pointee }

  /// Takes the oldest message.
  @inlinable
  mutating func popFirst() -> Pending<Message>? {
    guard count > 0 else {
      if capacity > Self.keptCapacity { giveBack() }
      return nil
    }
    let item = unsafe slot(0).move()
    head = (head + 1) & (capacity - 1)
    count -= 1
    if item.target == 0 { broadcasts -= 1 }
    return item
  }

  /// Takes the oldest message for all observers when more than `limit` of them wait.
  ///
  /// The caller releases what it gets outside of its lock.
  @inlinable
  mutating func popOverflow(limit: Int) -> Pending<Message>? {
    guard broadcasts > limit else { return nil }
    // Messages for one observer stay: those in front of the victim move one place towards the end.
    var position = 0
    while unsafe position < count - 1 && slot(position).pointee.target != 0 { position += 1 }
    let dropped = unsafe slot(position).move()
    while position > 0 {
      unsafe slot(position).moveInitialize(from: slot(position - 1), count: 1)
      position -= 1
    }
    head = (head + 1) & (capacity - 1)
    count -= 1
    broadcasts -= 1
    return dropped
  }

  @inlinable @inline(never)
  mutating func grow() {
    let larger = max(4, capacity * 2)
    let new = UnsafeMutablePointer<Pending<Message>>.allocate(capacity: larger)
    for position in 0..<count {
      unsafe (new + position).moveInitialize(from: slot(position), count: 1)
    }
    unsafe ring?.deallocate()
    unsafe ring = unsafe new
    capacity = larger
    head = 0
  }

  @inlinable @inline(never)
  mutating func giveBack() {
    unsafe ring?.deallocate()
    unsafe ring = nil
    capacity = 0
    head = 0
  }
}

extension Pending: Sendable where Message: Sendable {}

// Unchecked because of the pointer: the memory belongs to one queue alone, like that of an array.
extension PendingQueue: @unchecked Sendable where Message: Sendable {}
