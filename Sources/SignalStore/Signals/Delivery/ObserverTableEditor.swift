// SPDX-License-Identifier: MIT

import Synchronization

/// The state for changing an ``ObserverTable``; guarded by the lock of the source.
@safe
struct ObserverTableEditor: ~Copyable {
  /// The chunk for the next entry, and the number of its entries.
  private var tail: UnsafeMutablePointer<ObserverTable.Chunk>?
  private var usedInTail = 0
  /// Entries whose closure was removed.
  ///
  /// They hold nothing to release.
  private var holes = 0

  /// Entries cancelled while a drainer was running, which has to remove their closures.
  private(set) var dead: [ObserverTable.Slot] = unsafe []

  init() {}

  /// Appends an entry.
  mutating func append(_ entry: consuming ObserverEntry, to table: borrowing ObserverTable) -> ObserverTable.Slot {
    if unsafe tail == nil || usedInTail == tail!.pointee.capacity { addChunk(to: table) }
    let slot = unsafe tail!.pointee.entries + usedInTail
    unsafe slot.initialize(to: entry)
    usedInTail += 1
    // Release ordering: a drainer that reads this count finds the entry and its chunk complete.
    table.used.add(1, ordering: .releasing)
    return unsafe slot
  }

  private mutating func addChunk(to table: borrowing ObserverTable) {
    let capacity = unsafe tail.map { unsafe min($0.pointee.capacity * 2, ObserverTable.largestChunk) } ?? 2
    let chunk = UnsafeMutablePointer<ObserverTable.Chunk>.allocate(capacity: 1)
    unsafe chunk.initialize(
      to: ObserverTable.Chunk(entries: .allocate(capacity: capacity), capacity: capacity, next: nil))
    if let current = unsafe tail {
      unsafe current.pointee.next = unsafe chunk
    } else {
      unsafe table.head.store(chunk, ordering: .relaxed)
    }
    unsafe tail = unsafe chunk
    usedInTail = 0
  }

  /// Records a marked entry whose closure the drainer has to remove.
  mutating func bury(_ slot: ObserverTable.Slot) {
    unsafe dead.append(slot)
  }

  /// Removes the closure of a marked entry.
  ///
  /// Needs the right to drain.
  mutating func takeClosure(of slot: ObserverTable.Slot) -> ErasedClosure? {
    holes += 1
    return unsafe slot.pointee.closure.take()
  }

  /// Removes the closures of all buried entries.
  ///
  /// Needs the right to drain.
  mutating func takeDead() -> [ErasedClosure] {
    var closures: [ErasedClosure] = []
    let buried = unsafe dead
    unsafe closures.reserveCapacity(buried.count)
    unsafe buried.forEach { slot in
      if let closure = unsafe takeClosure(of: slot) { closures.append(closure) }
    }
    unsafe dead.removeAll(keepingCapacity: buried.count <= 64)
    return closures
  }

  /// Closes the holes when they are more than half of the table, and drops those at its end at once.
  ///
  /// Needs the right to drain and no buried entries. Keeps the order; amortized O(1) per hole.
  mutating func compactIfNeeded(_ table: borrowing ObserverTable) {
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
    while usedInTail > 0, unsafe tail!.pointee.entries[usedInTail - 1].closure == nil {
      usedInTail -= 1
      last -= 1
      holes -= 1
    }
    if last != used { table.used.store(last, ordering: .releasing) }
  }

  private mutating func compact(_ table: borrowing ObserverTable) {
    let used = table.used.load(ordering: .relaxed)
    var target = unsafe table.head.load(ordering: .relaxed)!
    var targetIndex = 0
    var kept = 0
    unsafe table.forEach(end: used) { source in
      guard unsafe source.pointee.closure != nil else { return true }
      if unsafe targetIndex == target.pointee.capacity {
        unsafe target = unsafe target.pointee.next!
        targetIndex = 0
      }
      let destination = unsafe target.pointee.entries + targetIndex
      if unsafe destination != source {
        // The destination is a hole, or was moved from and so became one.
        unsafe Self.move(source, to: destination)
      }
      targetIndex += 1
      kept += 1
      return true
    }
    truncate(table, to: kept, removedHoles: used - kept)
  }

  /// Moves an entry into a hole, leaving a hole in its place, and updates the token.
  private static func move(_ source: ObserverTable.Slot, to destination: ObserverTable.Slot) {
    let stamp = unsafe source.pointee.stamp.load(ordering: .relaxed)
    let token = unsafe source.pointee.token
    unsafe destination.pointee.stamp.store(stamp, ordering: .relaxed)
    unsafe destination.pointee.closure = unsafe source.pointee.closure.take()
    unsafe destination.pointee.token = unsafe token
    unsafe source.pointee.stamp.store(stamp | Stamp.cancelled, ordering: .relaxed)
    unsafe source.pointee.token = nil
    if let token = unsafe token {
      unsafe token._withUnsafeGuaranteedRef { unsafe $0.slot = UnsafeMutableRawPointer(destination) }
    }
  }

  /// Drops everything after `count` entries, which are all holes, and frees the chunks no longer needed.
  private mutating func truncate(_ table: borrowing ObserverTable, to count: Int, removedHoles: Int) {
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

  /// Destroys all entries and frees all memory, when the source is deallocated.
  mutating func destroy(_ table: borrowing ObserverTable) {
    unsafe table.forEach(end: table.used.load(ordering: .relaxed)) { slot in
      unsafe slot.pointee.closure?.release()
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
