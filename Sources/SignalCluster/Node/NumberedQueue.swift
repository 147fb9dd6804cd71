// SPDX-License-Identifier: MIT

/// Elements under numbers that grow: most are added at the end and removed at the beginning.
struct NumberedQueue<Element> {
  /// Those behind `start`, where nil stands for one that was removed, or is not there yet.
  private var slots: [Element?] = []
  private var start = 0
  /// The number of the first slot; what has a lower one is gone.
  private(set) var first: UInt64
  /// How many elements there are.
  private(set) var count = 0

  /// - Parameter first: The number that the first element gets.
  init(from first: UInt64 = 1) { self.first = first }

  /// The number that the next element gets.
  var end: UInt64 { first + UInt64(slots.count - start) }

  private func index(_ number: UInt64) -> Int { start + Int(number - first) }

  /// Adds an element under the next number.
  mutating func append(_ element: Element) {
    slots.append(element)
    count += 1
  }

  /// The element of a number; nil when there is none, or none any more.
  subscript(number: UInt64) -> Element? { number < first || number >= end ? nil : slots[index(number)] }

  /// Sets the element of a number, also of one that is higher than all; without effect when that is gone.
  mutating func set(_ number: UInt64, _ element: Element) {
    guard number >= first else { return }
    while number >= end { slots.append(nil) }
    let index = index(number)
    if slots[index] == nil { count += 1 }
    slots[index] = element
  }

  /// Changes the element of a number where it is, if there is one.
  mutating func update(_ number: UInt64, _ body: (inout Element) -> Void) {
    guard number >= first, number < end else { return }
    let index = index(number)
    if slots[index] != nil { body(&slots[index]!) }
  }

  /// Removes the element of a number; those before the first that is left are gone.
  mutating func remove(_ number: UInt64) {
    guard self[number] != nil else { return }
    slots[index(number)] = nil
    count -= 1
    while start < slots.count, slots[start] == nil { (start, first) = (start + 1, first + 1) }
    giveBackRoom()
  }

  /// Removes everything below a number, also what would be added there later.
  mutating func removeAll(below number: UInt64) {
    while first < number, start < slots.count {
      if slots[start] != nil { count -= 1 }
      slots[start] = nil
      (start, first) = (start + 1, first + 1)
    }
    first = max(first, number)
    giveBackRoom()
  }

  /// The numbers of all elements, and of those between that are gone.
  var range: Range<UInt64> { first..<end }

  /// Forgets the slots of what is gone, once they are most.
  private mutating func giveBackRoom() {
    if start == slots.count {
      slots.removeAll(keepingCapacity: true)
      start = 0
    } else if start > 1024, start > slots.count / 2 {
      slots.removeFirst(start)
      start = 0
    }
  }
}
