// SPDX-License-Identifier: MIT

/// The masking key of a client's payload (RFC 6455 §5.3), rotated so that its lowest byte applies to the next byte of
/// the payload: a payload may be processed in pieces of any length.
package struct FrameMask: Equatable, Sendable {
  /// The key; its lowest byte is the next one to apply.
  private(set) var key: UInt32

  /// A mask whose first byte on the wire is the lowest of `key`.
  @inline(__always)
  package init(key: UInt32) { self.key = key }

  /// The key as it is in the frame's header.
  var bytes: (UInt8, UInt8, UInt8, UInt8) {
    (
      UInt8(truncatingIfNeeded: key), UInt8(truncatingIfNeeded: key >> 8), UInt8(truncatingIfNeeded: key >> 16),
      UInt8(truncatingIfNeeded: key >> 24)
    )
  }

  /// Masks or unmasks a piece in place and remembers where in the key the next piece begins.
  @inline(__always)
  package mutating func apply(to bytes: inout MutableSpan<UInt8>, in range: Range<Int>) {
    precondition(range.lowerBound >= 0 && range.upperBound <= bytes.count, "masking outside of the buffer")
    // The pointer does not escape this call, and `combine` accesses only the range that was just compared with the
    // count.
    unsafe bytes.withUnsafeMutableBytes { memory in
      guard let start = memory.baseAddress else { return }
      unsafe Self.combine(start + range.lowerBound, range.count, key)
    }
    let turn = UInt32(truncatingIfNeeded: range.count & 3) &* 8
    if turn != 0 { key = key >> turn | key << (32 &- turn) }
  }

  /// In steps of 64 bytes while possible, then 8, then single ones.
  private static func combine(_ start: UnsafeMutableRawPointer, _ count: Int, _ key: UInt32) {
    let pattern = (UInt64(key) << 32 | UInt64(key)).littleEndian
    let wide = SIMD4<UInt64>(repeating: pattern)
    var offset = 0
    // Every access lies between `start` and `start + count`; loads and stores need no alignment.
    while offset &+ 64 <= count {
      let place = unsafe start + offset
      let first = unsafe place.loadUnaligned(as: SIMD4<UInt64>.self) ^ wide
      let second = unsafe place.loadUnaligned(fromByteOffset: 32, as: SIMD4<UInt64>.self) ^ wide
      unsafe place.storeBytes(of: first, as: SIMD4<UInt64>.self)
      unsafe place.storeBytes(of: second, toByteOffset: 32, as: SIMD4<UInt64>.self)
      offset &+= 64
    }
    while offset &+ 8 <= count {
      let place = unsafe start + offset
      unsafe place.storeBytes(of: place.loadUnaligned(as: UInt64.self) ^ pattern, as: UInt64.self)
      offset &+= 8
    }
    var rest = UInt64(littleEndian: pattern)
    while offset < count {
      let place = unsafe start + offset
      unsafe place.storeBytes(of: place.load(as: UInt8.self) ^ UInt8(truncatingIfNeeded: rest), as: UInt8.self)
      rest >>= 8
      offset &+= 1
    }
  }
}

/// Unpredictable masks, as a client needs for each frame (RFC 6455 §10.3).
///
/// The system is asked for several at once, because each question costs as much as the rest of a small frame.
package struct FrameMaskSource: Sendable {
  private var keys: [UInt32] = []

  package init() {}

  /// The mask of another frame.
  package mutating func next() -> FrameMask {
    if keys.isEmpty {
      keys.append(contentsOf: repeatElement(0, count: Entropy.batch / MemoryLayout<UInt32>.size))
      Entropy.fill(&keys)
    }
    return FrameMask(key: keys.removeLast())
  }
}
