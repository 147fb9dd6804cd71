// SPDX-License-Identifier: MIT

import Testing

@testable import SignalJournal

@Suite("Checksum") struct ChecksumTests {
  // RFC 3720 §B.4, and the usual text.
  private static let known: [(bytes: [UInt8], checksum: UInt32)] = [
    ([UInt8](repeating: 0, count: 32), 0x8A91_36AA), ([UInt8](repeating: 0xFF, count: 32), 0x62A8_AB43),
    ([UInt8](0..<32), 0x46DD_794E), ([UInt8]((0..<32).reversed()), 0x113F_DB5C),
    ([UInt8]("123456789".utf8), 0xE306_9283), ([], 0),
  ]

  @Test(arguments: known)
  func `known texts have the checksums of the standard`(bytes: [UInt8], expected: UInt32) {
    var checksum = Checksum()
    checksum.append(bytes)
    #expect(checksum.value == expected)
  }

  @Test func `it is the same however the bytes are cut`() {
    let bytes = (0..<100).map { UInt8(truncatingIfNeeded: $0 &* 37) }
    var whole = Checksum()
    whole.append(bytes)
    for cut in 0...bytes.count {
      var parts = Checksum()
      parts.append(Array(bytes[..<cut]))
      parts = Checksum(after: parts.value)
      parts.append(Array(bytes[cut...]))
      #expect(parts.value == whole.value, "cut at \(cut)")
    }
  }

  @Test func `a number counts as its eight bytes, the least significant first`() {
    var (number, bytes) = (Checksum(after: 7), Checksum(after: 7))
    number.append(0x0102_0304_0506_0708 as UInt64)
    bytes.append([8, 7, 6, 5, 4, 3, 2, 1])
    #expect(number.value == bytes.value)
  }
}
