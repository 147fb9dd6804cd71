// SPDX-License-Identifier: MIT

public import Synchronization

/// What an entry calls when a message is delivered.
@usableFromInline
protocol ObserverBody: Sendable {
  associatedtype Message: Sendable

  func call(_ message: Message)

  /// Lets `next` take over what a dropped message knew. Swaps, and never releases: it runs under a lock.
  static func conflate(_ dropped: inout Message, into next: inout Message)
}

/// One observer, in memory that does not move until the drainer compacts the table.
///
/// It is not copyable so that calling the closure borrows it in place: a copy would cost an atomic retain and release per
/// call, which is most of the price of a call.
@safe @usableFromInline
struct ObserverEntry<Body: ObserverBody>: ~Copyable {
  /// When the observer subscribed, and what it is now; see ``Stamp``.
  ///
  /// Atomic because a drainer reads it without the lock.
  @usableFromInline let stamp: Atomic<UInt64>

  /// Nil in a hole: cancelled, closure already taken out, slot not yet compacted away.
  @usableFromInline var body: Body?

  /// The token, which has to be told when the entry moves; nil when there is none any more.
  ///
  /// Not retained: a token removes itself under the lock before its memory goes.
  @usableFromInline var token: Unmanaged<Subscription>?

  @inlinable
  init(stamp: UInt64, body: consuming Body, token: Unmanaged<Subscription>?) {
    self.stamp = Atomic(stamp)
    self.body = body
    unsafe self.token = unsafe token
  }

  /// Calls the observer.
  ///
  /// Only the drainer may, and only the drainer ever clears `body` while it drains.
  ///
  /// Never inlined, because only a borrowed argument spares the retain.
  @usableFromInline @inline(never)
  borrowing func call(_ message: Body.Message) {
    // Not nil: whoever clears the body first marks the stamp, and has the drainer's right.
    unsafe body.unsafelyUnwrapped.call(message)
  }
}

/// The bits of an entry's stamp.
///
/// Bits 1…61 count subscriptions and messages of the source in one order.
///
/// A message with sequence number n is for the entries whose stamp is at most n. The flags that concern the drainer are
/// the highest bits, so that one comparison tells it both that an entry is too young and that it needs another look.
@usableFromInline
enum Stamp {
  /// Cancelled: no call starts any more.
  @inlinable static var cancelled: UInt64 { 1 << 63 }
  /// Asks the drainer to end the subscription with the next call (once-only).
  @inlinable static var endsAfterNext: UInt64 { 1 << 62 }
  /// The subscription goes on when its token is gone.
  @inlinable static var detached: UInt64 { 1 }
  /// A sequence number that no entry without the higher flags is above.
  @inlinable static var everyone: UInt64 { (1 << 62) - 1 }
  /// The part that orders.
  @inlinable static var order: UInt64 { (1 << 62) - 2 }
  /// The stamp of no entry: a message for it is only released.
  @inlinable static var nobody: UInt64 { order }
  /// From one subscription or message to the next.
  @inlinable static var step: UInt64 { 2 }
}

/// The observers of one source, in the order in which they subscribed.
///
/// Entries lie in chunks that never move. Appending and marking is done under the lock of the source. Reading without the
/// lock, taking closures out, and compacting is the right of the drainer. `used` is published after what it counts.
@safe @usableFromInline
struct ObserverTable<Body: ObserverBody>: ~Copyable {
  @usableFromInline typealias Slot = UnsafeMutablePointer<ObserverEntry<Body>>

  @safe @usableFromInline
  struct Chunk {
    @usableFromInline let entries: Slot
    @usableFromInline let capacity: Int
    @usableFromInline var next: UnsafeMutablePointer<Chunk>?
  }

  /// Chunk sizes: small for the many sources with one or two observers, doubling up to this.
  @usableFromInline static var largestChunk: Int { 256 }

  /// Written once, by the first append, before `used` becomes 1.
  @usableFromInline let head: Atomic<UnsafeMutablePointer<Chunk>?>
  /// Entries in use, holes included.
  @usableFromInline let used: Atomic<Int>

  @inlinable
  init() {
    unsafe head = Atomic(nil)
    used = Atomic(0)
  }

  /// Calls `body` for the first `end` entries, in order, until it answers false.
  @inlinable
  func forEach(end: Int, _ body: (Slot) -> Bool) {
    var remaining = end
    var chunk = unsafe head.load(ordering: .relaxed)
    while remaining > 0, let current = unsafe chunk {
      let entries = unsafe current.pointee.entries
      let count = unsafe min(current.pointee.capacity, remaining)
      for index in 0..<count {
        guard unsafe body(entries + index) else { return }
      }
      remaining -= count
      // Behind the last entry nothing is published, so the link is read only when more entries are.
      if remaining > 0 { unsafe chunk = unsafe current.pointee.next }
    }
  }

  /// The entry that was given this stamp, by a search through the chunks and then inside one.
  ///
  /// Needs the lock.
  func slot(withOrder order: UInt64) -> Slot? {
    var remaining = used.load(ordering: .relaxed)
    var chunk = unsafe head.load(ordering: .relaxed)
    while remaining > 0, let current = unsafe chunk {
      let entries = unsafe current.pointee.entries
      let count = unsafe min(current.pointee.capacity, remaining)
      if unsafe Self.order(of: entries + (count - 1)) >= order {
        var low = 0
        var high = count - 1
        while low < high {
          let middle = (low + high) / 2
          if unsafe Self.order(of: entries + middle) < order { low = middle + 1 } else { high = middle }
        }
        let found = unsafe entries + low
        let stamp = unsafe found.pointee.stamp.load(ordering: .relaxed)
        return unsafe stamp & Stamp.order == order && stamp & Stamp.cancelled == 0 ? found : nil
      }
      remaining -= count
      unsafe chunk = unsafe current.pointee.next
    }
    return nil
  }

  private static func order(of slot: Slot) -> UInt64 {
    unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.order
  }
}

/// What is needed to change an ``ObserverTable``; lives under the lock of the source.
@safe @usableFromInline
struct ObserverTableEditor<Body: ObserverBody>: ~Copyable {
  @usableFromInline typealias Table = ObserverTable<Body>

  /// The chunk that takes the next entry, and how many it has.
  private var tail: UnsafeMutablePointer<Table.Chunk>?
  private var usedInTail = 0
  private var holes = 0

  /// Cancelled while a drainer was at work; their closures have to be taken out by it.
  private(set) var dead: [Table.Slot] = unsafe []

  init() {}

  /// Adds an entry behind all others.
  mutating func append(_ entry: consuming ObserverEntry<Body>, to table: borrowing Table) -> Table.Slot {
    if unsafe tail == nil || usedInTail == tail!.pointee.capacity { addChunk(to: table) }
    let slot = unsafe tail!.pointee.entries + usedInTail
    unsafe slot.initialize(to: entry)
    usedInTail += 1
    // Releasing: a drainer that reads this count finds the entry and its chunk complete.
    table.used.add(1, ordering: .releasing)
    return unsafe slot
  }

  private mutating func addChunk(to table: borrowing Table) {
    if let current = unsafe tail, let next = unsafe current.pointee.next {
      unsafe tail = unsafe next
      usedInTail = 0
      return
    }
    let capacity = unsafe tail.map { unsafe min($0.pointee.capacity * 2, Table.largestChunk) } ?? 2
    let chunk = UnsafeMutablePointer<Table.Chunk>.allocate(capacity: 1)
    unsafe chunk.initialize(to: Table.Chunk(entries: .allocate(capacity: capacity), capacity: capacity, next: nil))
    if let current = unsafe tail {
      unsafe current.pointee.next = unsafe chunk
    } else {
      unsafe table.head.store(chunk, ordering: .relaxed)
    }
    unsafe tail = unsafe chunk
    usedInTail = 0
  }

  /// Notes a marked entry whose closure the drainer has to take out.
  mutating func bury(_ slot: Table.Slot) {
    unsafe dead.append(slot)
  }

  /// Takes the closure out of a marked entry.
  ///
  /// Needs the drainer's right.
  mutating func takeBody(of slot: Table.Slot) -> Body? {
    holes += 1
    return unsafe slot.pointee.body.take()
  }

  /// Takes the closures of all buried entries out.
  ///
  /// Needs the drainer's right.
  mutating func takeDead() -> [Body] {
    var bodies: [Body] = []
    let buried = unsafe dead
    unsafe bodies.reserveCapacity(buried.count)
    unsafe buried.forEach { slot in
      if let body = unsafe takeBody(of: slot) { bodies.append(body) }
    }
    unsafe dead.removeAll(keepingCapacity: dead.count <= 64)
    return bodies
  }

  /// Closes the holes when they are more than half of the table, and drops those at its end at once.
  ///
  /// Needs the drainer's right and no buried entries. Keeps the order; costs O(1) per hole in the long run.
  mutating func compactIfNeeded(_ table: borrowing Table) {
    guard holes > 0, unsafe dead.isEmpty else { return }
    let used = table.used.load(ordering: .relaxed)
    if holes == used {
      truncate(table, to: 0, removedHoles: holes)
      return
    }
    if holes > 16, holes * 2 > used {
      compact(table)
      return
    }
    // The common pattern of subscribing and cancelling one observer leaves its hole at the end.
    var last = used
    while usedInTail > 0, unsafe tail!.pointee.entries[usedInTail - 1].body == nil {
      unsafe (tail!.pointee.entries + (usedInTail - 1)).deinitialize(count: 1)
      usedInTail -= 1
      last -= 1
      holes -= 1
    }
    if last != used { table.used.store(last, ordering: .releasing) }
  }

  private mutating func compact(_ table: borrowing Table) {
    let used = table.used.load(ordering: .relaxed)
    var target = unsafe table.head.load(ordering: .relaxed)!
    var targetIndex = 0
    var kept = 0
    unsafe table.forEach(end: used) { source in
      guard unsafe source.pointee.body != nil else { return true }
      if unsafe targetIndex == target.pointee.capacity {
        unsafe target = unsafe target.pointee.next!
        targetIndex = 0
      }
      let destination = unsafe target.pointee.entries + targetIndex
      if unsafe destination != source {
        // The destination is a hole, or was moved from and left as one: swapping keeps every slot initialised.
        unsafe Self.move(source, to: destination)
      }
      targetIndex += 1
      kept += 1
      return true
    }
    truncate(table, to: kept, removedHoles: used - kept)
  }

  /// Moves an entry into a hole, leaves a hole behind, and tells the token.
  private static func move(_ source: Table.Slot, to destination: Table.Slot) {
    let stamp = unsafe source.pointee.stamp.load(ordering: .relaxed)
    let token = unsafe source.pointee.token
    unsafe destination.pointee.stamp.store(stamp, ordering: .relaxed)
    unsafe destination.pointee.body = unsafe source.pointee.body.take()
    unsafe destination.pointee.token = unsafe token
    unsafe source.pointee.stamp.store(stamp | Stamp.cancelled, ordering: .relaxed)
    unsafe source.pointee.token = nil
    if let token = unsafe token {
      unsafe token._withUnsafeGuaranteedRef { unsafe $0.slot = UnsafeMutableRawPointer(destination) }
    }
  }

  /// Deinitialises everything behind `count` entries and gives back the chunks that are not needed, but one.
  private mutating func truncate(_ table: borrowing Table, to count: Int, removedHoles: Int) {
    let used = table.used.load(ordering: .relaxed)
    var position = 0
    unsafe table.forEach(end: used) { slot in
      if position >= count { unsafe slot.deinitialize(count: 1) }
      position += 1
      return true
    }
    holes -= removedHoles
    var remaining = count
    var chunk = unsafe table.head.load(ordering: .relaxed)!
    while unsafe remaining > chunk.pointee.capacity, let next = unsafe chunk.pointee.next {
      remaining -= unsafe chunk.pointee.capacity
      unsafe chunk = unsafe next
    }
    unsafe tail = unsafe chunk
    usedInTail = remaining
    var spare = unsafe chunk.pointee.next
    unsafe chunk.pointee.next = nil
    while let current = unsafe spare {
      unsafe spare = unsafe current.pointee.next
      unsafe current.pointee.entries.deallocate()
      unsafe current.deallocate()
    }
    table.used.store(count, ordering: .releasing)
  }

  /// Destroys all entries and gives all memory back, when the source goes away.
  mutating func destroy(_ table: borrowing Table) {
    unsafe table.forEach(end: table.used.load(ordering: .relaxed)) { slot in
      unsafe slot.deinitialize(count: 1)
      return true
    }
    var chunk = unsafe table.head.load(ordering: .relaxed)
    while let current = unsafe chunk {
      unsafe chunk = unsafe current.pointee.next
      unsafe current.pointee.entries.deallocate()
      unsafe current.deallocate()
    }
  }
}
