// SPDX-License-Identifier: MIT

/// One message that waits for its delivery.
@usableFromInline
struct Pending<Message> {
  /// Observers whose ``Stamp`` is higher subscribed after the message was sent and do not get it.
  @usableFromInline let number: UInt64

  /// The stamp of the only observer that gets the message; 0 when all do.
  @usableFromInline let target: UInt64

  /// Set for the outcome of a transaction, which waits until all its messages have been delivered.
  @usableFromInline let transaction: TransactionPart?

  @usableFromInline var message: Message

  @inlinable
  init(number: UInt64, target: UInt64, message: Message, transaction: TransactionPart? = nil) {
    self.number = number
    self.target = target
    self.message = message
    self.transaction = transaction
  }
}

/// A first-in, first-out ring that takes memory only when it grows.
@usableFromInline
struct PendingQueue<Message> {
  @usableFromInline var ring: [Pending<Message>?] = []
  @usableFromInline var head = 0

  /// How many messages wait.
  @usableFromInline var count = 0

  /// How many of them are for all observers; only these count against a limit.
  @usableFromInline var broadcasts = 0

  /// A ring that became larger than this in a burst is given back when it is empty.
  @usableFromInline static var keptCapacity: Int { 1024 }

  @inlinable
  init() {}

  /// Adds a message at the end.
  @inlinable
  mutating func append(_ item: Pending<Message>) {
    if count == ring.count { grow() }
    ring[(head + count) & (ring.count - 1)] = item
    count += 1
    if item.target == 0 { broadcasts += 1 }
  }

  /// Takes the oldest message.
  @inlinable
  mutating func popFirst() -> Pending<Message>? {
    guard count > 0 else {
      if ring.count > Self.keptCapacity {
        ring = []
        head = 0
      }
      return nil
    }
    var item: Pending<Message>?
    swap(&item, &ring[head])
    head = (head + 1) & (ring.count - 1)
    count -= 1
    if item?.target == 0 { broadcasts -= 1 }
    return item
  }

  /// Takes the oldest message for all observers when more than `limit` of them wait.
  ///
  /// The caller releases what it gets outside of its lock. `conflate` lets the next one for all observers take over
  /// what the dropped one knew.
  @inlinable
  mutating func popOverflow(
    limit: Int, conflate: (inout Message, inout Message) -> Void
  ) -> Pending<Message>? {
    guard broadcasts > limit else { return nil }
    let mask = ring.count - 1
    // Messages for one observer stay: move those in front of the victim one place towards the end.
    var position = 0
    while let item = ring[(head + position) & mask], item.target != 0 { position += 1 }
    var dropped: Pending<Message>?
    swap(&dropped, &ring[(head + position) & mask])
    var next = position + 1
    while next < count {
      let index = (head + next) & mask
      if ring[index]?.target == 0 {
        conflate(&dropped!.message, &ring[index]!.message)
        break
      }
      next += 1
    }
    while position > 0 {
      ring.swapAt((head + position) & mask, (head + position - 1) & mask)
      position -= 1
    }
    head = (head + 1) & mask
    count -= 1
    broadcasts -= 1
    return dropped
  }

  @usableFromInline
  mutating func grow() {
    var larger: [Pending<Message>?] = []
    larger.reserveCapacity(max(4, ring.count * 2))
    for position in 0..<count {
      larger.append(ring[(head + position) & (ring.count - 1)])
    }
    while larger.count < max(4, ring.count * 2) { larger.append(nil) }
    ring = larger
    head = 0
  }
}

extension Pending: Sendable where Message: Sendable {}
extension PendingQueue: Sendable where Message: Sendable {}
