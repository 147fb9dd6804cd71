// SPDX-License-Identifier: MIT

/// Items and the tick at which each is due.
///
/// A hierarchical timing wheel, as G. Varghese and T. Lauck described it in 1987.
///
/// Inserting and removing take constant time, whatever the number of items. Seven levels of 64 slots each; a slot of
/// level n spans 64^n ticks, and its items are distributed to the levels below when the wheel reaches it. Items are
/// kept in one array and linked by their indices in it, so that nothing is allocated per item.
struct TimerWheel<Item: Sendable>: Sendable {
  /// Identifies an item in the wheel; it may be reused once the item is removed.
  typealias Place = Int32

  private static var bits: Int { 6 }
  private static var slots: Int { 64 }
  private static var levels: Int { 7 }
  private static var none: Place { -1 }

  /// Ticks beyond this, counted from 0, are treated as equal: 1390 years when a tick is 10 ms.
  static var horizon: UInt64 { (1 << UInt64(bits * levels)) - 1 }

  private struct Entry: Sendable {
    var item: Item?
    var tick: UInt64
    /// The slot's neighbours, or for an entry that is free the next free one.
    var next: Place
    var previous: Place
    var slot: Int32
  }

  private var entries: ContiguousArray<Entry> = []
  private var free = none
  /// The first entry of each slot; empty before the first item.
  private var heads: [Place] = []
  /// Which slots of each level have an entry.
  private var occupied = [UInt64](repeating: 0, count: levels)
  /// The slot that is being emptied; nothing is inserted into it meanwhile.
  private var opened: Int?
  /// Everything up to this tick has been taken, except from `opened`.
  private var current: UInt64 = 0
  /// The number of items.
  private(set) var count = 0

  /// The tick at which something has to be done: an item is due, or a slot has to be distributed; nil when it is empty.
  var next: UInt64? { opened == nil ? nextSlot()?.start : current }

  /// Inserts an item; one that is already due is taken at the tick after the last one taken.
  mutating func insert(_ item: Item, at tick: UInt64, now: UInt64) -> Place {
    if heads.isEmpty { heads = Array(repeating: Self.none, count: Self.levels * Self.slots) }
    // An empty wheel can skip ahead, which puts near items into a low level.
    if count == 0 { current = max(current, min(now, Self.horizon - 1)) }
    count += 1
    let place: Place
    if free == Self.none {
      place = Place(entries.count)
      entries.append(Entry(item: item, tick: 0, next: Self.none, previous: Self.none, slot: 0))
    } else {
      place = free
      free = entries[Int(place)].next
      entries[Int(place)].item = item
    }
    link(place, at: tick)
    return place
  }

  /// The item at a place; nil when there is none, also for an invalid place.
  func item(at place: Place) -> Item? { entries.indices.contains(Int(place)) ? entries[Int(place)].item : nil }

  /// Removes an item before it is due.
  @discardableResult
  mutating func remove(_ place: Place) -> Item {
    unlink(place)
    return release(place)
  }

  /// Moves an item to another tick.
  mutating func move(_ place: Place, to tick: UInt64) {
    unlink(place)
    link(place, at: tick)
  }

  /// Removes and returns the next item that is due at `now` or before, nil when there is none or the budget is used up.
  ///
  /// - Parameter budget: Decreased by one for each entry that is taken or moved, so that a caller with a lock can
  ///   release it in between.
  mutating func takeNext(through now: UInt64, budget: inout Int) -> Item? {
    while budget > 0 {
      if let slot = opened {
        let place = heads[slot]
        guard place != Self.none else {
          opened = nil
          continue
        }
        budget -= 1
        unlink(place)
        if entries[Int(place)].tick <= current { return release(place) }
        link(place, at: entries[Int(place)].tick)
      } else if let (slot, start) = nextSlot(), start <= now {
        current = start
        opened = slot
      } else {
        current = max(current, min(now, Self.horizon - 1))
        return nil
      }
    }
    return nil
  }

  // MARK: Slots

  /// The nearest slot that has an entry, and the tick at which it begins.
  private func nextSlot() -> (slot: Int, start: UInt64)? {
    for level in 0..<Self.levels where occupied[level] != 0 {
      let shift = UInt64(level * Self.bits)
      let position = (current >> shift) & 63
      let later = occupied[level] & ~(UInt64.max >> (63 - position))
      guard later != 0 else { continue }
      let slot = UInt64(later.trailingZeroBitCount)
      let block = (current >> (shift + 6)) << (shift + 6)
      return (level * Self.slots + Int(slot), block | (slot << shift))
    }
    return nil
  }

  private mutating func link(_ place: Place, at tick: UInt64) {
    let tick = min(max(tick, current + 1), Self.horizon)
    // The highest group of bits in which the tick differs from the present one gives the level.
    let level = (63 - (tick ^ current).leadingZeroBitCount) / Self.bits
    let position = Int((tick >> UInt64(level * Self.bits)) & 63)
    let slot = level * Self.slots + position
    let head = heads[slot]
    entries[Int(place)].tick = tick
    entries[Int(place)].slot = Int32(slot)
    entries[Int(place)].previous = Self.none
    entries[Int(place)].next = head
    if head != Self.none { entries[Int(head)].previous = place }
    heads[slot] = place
    occupied[level] |= 1 << UInt64(position)
  }

  private mutating func unlink(_ place: Place) {
    let entry = entries[Int(place)]
    if entry.next != Self.none { entries[Int(entry.next)].previous = entry.previous }
    if entry.previous != Self.none {
      entries[Int(entry.previous)].next = entry.next
      return
    }
    let slot = Int(entry.slot)
    heads[slot] = entry.next
    if entry.next == Self.none { occupied[slot / Self.slots] &= ~(1 << UInt64(slot % Self.slots)) }
  }

  private mutating func release(_ place: Place) -> Item {
    guard let item = entries[Int(place)].item else { preconditionFailure("The place of an item has one.") }
    entries[Int(place)].item = nil
    entries[Int(place)].next = free
    free = place
    count -= 1
    return item
  }
}
