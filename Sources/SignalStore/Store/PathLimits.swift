// SPDX-License-Identifier: MIT

import JSON

/// The limits of a path and of a pattern, checked before memory is taken for it.
public struct PathLimits: Equatable, Sendable {
  /// Maximum number of segments; 32 by default.
  ///
  /// Bounds the work of matching.
  public var depth: Int
  /// Maximum number of UTF-8 bytes of one segment; 255 by default, as in a file name.
  public var segmentBytes: Int
  /// Maximum number of UTF-8 bytes of the whole path, separators included; 1024 by default.
  public var bytes: Int

  /// Limits with the defaults, except for those given.
  public init(depth: Int = 32, segmentBytes: Int = 255, bytes: Int = 1024) {
    self.depth = depth
    self.segmentBytes = segmentBytes
    self.bytes = bytes
  }
}

extension PathLimits {
  /// Checks plain text that is meant as a path, or as a pattern when `wildcards` is true.
  func validate(_ bytes: Span<UInt8>, wildcards: Bool) throws(PathError) {
    if bytes.isEmpty { throw .empty }
    if bytes.count > self.bytes { throw .tooLong(limit: self.bytes) }
    var count = 0
    var start = 0
    var isASCII = true
    // One iteration past the end closes the last segment.
    for index in 0...bytes.count {
      if index < bytes.count {
        let byte = bytes[index]
        if byte != PathOrder.slash {
          if byte < 0x20 || byte == 0x7F { throw .controlCharacter }
          if byte >= 0x80 {
            isASCII = false
            // U+0080–U+009F are C2 80 – C2 9F, and in valid UTF-8 C2 only ever begins a character.
            if byte < 0xA0, index > 0, bytes[index - 1] == 0xC2 { throw .controlCharacter }
          }
          continue
        }
      }
      count += 1
      if count > depth { throw .tooDeep(limit: depth) }
      try validateSegment(bytes.extracting(start..<index), wildcards: wildcards)
      start = index + 1
    }
    if !isASCII {
      do { _ = try UTF8Span(validating: bytes) } catch { throw .invalidUTF8 }
    }
  }

  private func validateSegment(_ segment: Span<UInt8>, wildcards: Bool) throws(PathError) {
    if segment.isEmpty { throw .emptySegment }
    if segment.count > segmentBytes { throw .segmentTooLong(limit: segmentBytes) }
    if segment.count > 2 { return }
    switch (segment[0], segment[segment.count - 1]) {
    case (UInt8(ascii: "."), UInt8(ascii: ".")): throw .dotSegment
    case (UInt8(ascii: "*"), UInt8(ascii: "*")): if !wildcards { throw .wildcard }
    default: break
    }
  }

  /// The bytes that a percent-encoded text stands for (RFC 3986 §2.1), not yet validated.
  ///
  /// An encoded "/" is a separator like a plain one, because no segment can hold one.
  func percentDecoded(_ text: Span<UInt8>) throws(PathError) -> [UInt8] {
    // Every byte is encoded in three at most, so a longer text cannot become a path of legal length.
    if text.count / 3 > bytes { throw .tooLong(limit: bytes) }
    var decoded: [UInt8] = []
    decoded.reserveCapacity(min(text.count, bytes))
    var index = 0
    while index < text.count {
      var byte = text[index]
      index += 1
      if byte == UInt8(ascii: "%") {
        guard index + 2 <= text.count, let high = text[index].hexDigit, let low = text[index + 1].hexDigit
        else { throw .malformedPercent }
        byte = high << 4 | low
        index += 2
      }
      if decoded.count == bytes { throw .tooLong(limit: bytes) }
      decoded.append(byte)
    }
    return decoded
  }
}
