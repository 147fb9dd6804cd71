// SPDX-License-Identifier: MIT

/// A message that waits for delivery.
@usableFromInline
struct Pending<Message> {
  /// Observers whose ``Stamp`` is higher subscribed after the message was sent and do not receive it.
  @usableFromInline let number: UInt64

  /// The stamp of the only observer that receives the message; 0 when all do.
  @usableFromInline let target: UInt64

  /// The transaction, if this is its outcome; it waits until all its messages have been delivered.
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

/// A first-in, first-out ring that allocates only when it grows.
///
/// Its own memory instead of an array: an empty slot costs nothing, and freeing a ring that has become large in a burst
/// does not visit all slots.
@safe @usableFromInline
struct PendingQueue<Message>: ~Copyable {
  /// Room for `capacity` messages, 0 or a power of 2; `count` from `head` on are initialised, the rest are not.
  @usableFromInline var ring: UnsafeMutablePointer<Pending<Message>>?
  @usableFromInline var capacity = 0
  @usableFromInline var head = 0

  /// The number of waiting messages.
  @usableFromInline var count = 0

  /// The number of these for all observers; only they count against a limit.
  @usableFromInline var broadcasts = 0

  /// A ring that became larger than this in a burst is freed when it is empty.
  @usableFromInline static var keptCapacity: Int { 1024 }

  @inlinable
  init() { unsafe ring = nil }

  @inlinable
  deinit {
    for position in 0..<count { unsafe slot(position).deinitialize(count: 1) }
    unsafe ring?.deallocate()
  }

  /// The slot of a message, counted from the oldest one; requires a ring.
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

  /// The oldest message; requires that there is one.
  @inlinable
  var first: Pending<Message> { unsafe slot(0).pointee }

  /// Removes the oldest message.
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

  /// Removes the oldest message for all observers when more than `limit` of them wait.
  ///
  /// The caller releases the result outside of its lock.
  @inlinable
  mutating func popOverflow(limit: Int) -> Pending<Message>? {
    guard broadcasts > limit else { return nil }
    // Messages for one observer stay: those before the removed one move one slot towards the end.
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

// Unchecked because of the pointer: the memory has a single owner, like that of an array.
extension PendingQueue: @unchecked Sendable where Message: Sendable {}
