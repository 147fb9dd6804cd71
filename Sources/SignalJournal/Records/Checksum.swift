// SPDX-License-Identifier: MIT

/// The CRC-32C (Castagnoli) of bytes, as in RFC 3720 §B.4: eight bytes at a time by tables.
struct Checksum {
  private(set) var value: UInt32

  /// Continues a checksum, or starts a new one.
  init(after value: UInt32 = 0) { self.value = value }

  mutating func append(_ bytes: Span<UInt8>) {
    let tables = Checksum.tables
    var state = ~value
    // The indices are bounded by their types and by the loops; checking them would double the time.
    unsafe tables.withUnsafeBufferPointer { tables in
      unsafe bytes.withUnsafeBytes { bytes in
        var index = 0
        while index + 8 <= bytes.count {
          let word = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: index, as: UInt64.self))
          let low = UInt32(truncatingIfNeeded: word) ^ state
          let high = UInt32(truncatingIfNeeded: word >> 32)
          state = unsafe tables[7 << 8 | Int(low & 255)] ^ tables[6 << 8 | Int(low >> 8 & 255)]
          state = unsafe state ^ tables[5 << 8 | Int(low >> 16 & 255)] ^ tables[4 << 8 | Int(low >> 24)]
          state = unsafe state ^ tables[3 << 8 | Int(high & 255)] ^ tables[2 << 8 | Int(high >> 8 & 255)]
          state = unsafe state ^ tables[1 << 8 | Int(high >> 16 & 255)] ^ tables[Int(high >> 24)]
          index += 8
        }
        while index < bytes.count {
          state = unsafe state >> 8 ^ tables[Int((state ^ UInt32(bytes[index])) & 255)]
          index += 1
        }
      }
    }
    value = ~state
  }

  mutating func append(_ bytes: [UInt8]) { append(bytes.span) }

  mutating func append(_ number: UInt64) {
    var state = ~value
    var rest = number
    for _ in 0..<8 {
      state = state >> 8 ^ Checksum.tables[Int((state ^ UInt32(truncatingIfNeeded: rest)) & 255)]
      rest >>= 8
    }
    value = ~state
  }

  mutating func append(_ number: Int64) { append(UInt64(bitPattern: number)) }

  /// Eight tables of 256 entries: the n-th is that of a byte followed by n zero bytes.
  private static let tables: [UInt32] = {
    var tables = [UInt32](repeating: 0, count: 8 * 256)
    for index in 0..<256 {
      var entry = UInt32(index)
      for _ in 0..<8 { entry = entry & 1 == 0 ? entry >> 1 : entry >> 1 ^ 0x82F6_3B78 }
      tables[index] = entry
    }
    for index in 256..<8 * 256 {
      let shorter = tables[index - 256]
      tables[index] = shorter >> 8 ^ tables[Int(shorter & 255)]
    }
    return tables
  }()
}
