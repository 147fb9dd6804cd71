// SPDX-License-Identifier: MIT

/// A hash table of names that are kept elsewhere, by their numbers: 0, 1, 2 and so on.
///
/// The hashes are those of the standard library, with a key of the process: nobody can choose names that collide.
struct NameTable {
  private var slots: [UInt32]
  private var hashes: [Int] = []

  /// An empty table.
  ///
  /// - Parameter capacity: As many names as there will be at most.
  init(capacity: Int) {
    var size = 4
    while size < 2 * capacity { size *= 2 }
    slots = Array(repeating: 0, count: size)
    hashes.reserveCapacity(capacity)
  }

  /// The number of a name; nil when it is not there.
  ///
  /// - Parameter isName: Whether the name with a number is the one.
  func find(_ hash: Int, _ isName: (Int) -> Bool) -> Int? {
    var slot = hash & (slots.count - 1)
    while slots[slot] != 0 {
      let number = Int(slots[slot]) - 1
      if hashes[number] == hash, isName(number) { return number }
      slot = (slot + 1) & (slots.count - 1)
    }
    return nil
  }

  /// Adds a name that is not there; its number is the next.
  mutating func add(_ hash: Int) {
    var slot = hash & (slots.count - 1)
    while slots[slot] != 0 { slot = (slot + 1) & (slots.count - 1) }
    hashes.append(hash)
    slots[slot] = UInt32(hashes.count)
  }

  /// The hash of a name, by its bytes after unescaping.
  static func hash(_ name: Span<UInt8>) -> Int {
    var hasher = Hasher()
    unsafe name.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }
}
