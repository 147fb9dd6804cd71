// SPDX-License-Identifier: MIT

public import Synchronization

/// The observers of one source, in the order in which they subscribed.
///
/// Entries are in chunks that never move. Appending and marking is done under the lock of the source. Reading without
/// the lock, removing closures, and compacting requires the right to drain. `used` is published after what it counts.
@safe @usableFromInline
struct ObserverTable: ~Copyable {
  @usableFromInline typealias Slot = UnsafeMutablePointer<ObserverEntry>

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

  /// Calls `body` for the first `end` entries, in order, until it returns false.
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
      // Nothing is published after the last entry, so the link is read only when more entries are.
      if remaining > 0 { unsafe chunk = unsafe current.pointee.next }
    }
  }

  /// The entry with this stamp, by a search through the chunks and then inside one.
  ///
  /// Needs the lock or the right to drain.
  @usableFromInline
  func slot(withOrder order: UInt64) -> Slot? {
    var remaining = used.load(ordering: .acquiring)
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
      if remaining > 0 { unsafe chunk = unsafe current.pointee.next }
    }
    return nil
  }

  private static func order(of slot: Slot) -> UInt64 {
    unsafe slot.pointee.stamp.load(ordering: .relaxed) & Stamp.order
  }
}
