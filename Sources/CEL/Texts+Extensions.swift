// SPDX-License-Identifier: MIT

/// What the string extension needs of UTF-8.
extension Texts {
  /// Where the code point of a number begins, counted from an offset; the end of the text if it has fewer.
  static func offset(ofCodePoint number: Int, in text: Span<UInt8>, from start: Int = 0) -> Int {
    var offset = start
    var left = number
    while left > 0, offset < text.count {
      offset += 1
      while offset < text.count, text[offset] & 0xC0 == 0x80 { offset += 1 }
      left -= 1
    }
    return offset
  }

  /// The number of the code point at which a part that is not empty begins: the first from a place on, or the last up
  /// to a place.
  static func place(
    of part: Span<UInt8>, in text: Span<UInt8>, from start: Int, isFirst: Bool, limit: Int
  ) -> (place: Int?, cost: Int) {
    let offset = offset(ofCodePoint: start, in: text)
    if isFirst {
      let (found, cost) = find(part, in: text, from: offset, limit: limit)
      return (found.map { length(text.extracting(0..<$0)) }, cost)
    }
    var last = min(offset, text.count - part.count)
    var cost = 0
    while last >= 0, cost / 8 <= limit {
      if hasPrefix(text, part, at: last) { return (length(text.extracting(0..<last)), cost / 8) }
      // One that differs late may have compared the whole part.
      cost += text[last] == part[0] ? part.count : 1
      last -= 1
    }
    return (nil, cost / 8)
  }

  /// The text without the white space of Unicode at both ends.
  static func trimmed(_ text: [UInt8]) -> [UInt8] {
    let scalars = Array(String(decoding: text, as: UTF8.self).unicodeScalars)
    guard let first = scalars.firstIndex(where: { !isSpace($0) }),
      let last = scalars.lastIndex(where: { !isSpace($0) })
    else { return [] }
    var result = String.UnicodeScalarView()
    result.append(contentsOf: scalars[first...last])
    return Array(String(result).utf8)
  }

  private static func isSpace(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0x09...0x0D, 0x20, 0x85, 0xA0, 0x1680, 0x2000...0x200A, 0x2028, 0x2029, 0x202F, 0x205F, 0x3000: true
    default: false
    }
  }

  /// The text in double quotes, with escapes for what could not stand there.
  static func quoted(_ text: [UInt8]) -> [UInt8] {
    var result: [UInt8] = [UInt8(ascii: "\"")]
    for byte in text {
      let escape: UInt8? =
        switch byte {
        case 0x07: UInt8(ascii: "a")
        case 0x08: UInt8(ascii: "b")
        case 0x09: UInt8(ascii: "t")
        case 0x0A: UInt8(ascii: "n")
        case 0x0B: UInt8(ascii: "v")
        case 0x0C: UInt8(ascii: "f")
        case 0x0D: UInt8(ascii: "r")
        case UInt8(ascii: "\""), UInt8(ascii: "\\"): byte
        default: nil
        }
      if let escape {
        result += [UInt8(ascii: "\\"), escape]
      } else {
        result.append(byte)
      }
    }
    return result + [UInt8(ascii: "\"")]
  }

  // MARK: - Base64 (RFC 4648 §4)

  private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

  static func base64(_ bytes: [UInt8]) -> [UInt8] {
    var text: [UInt8] = []
    for start in stride(from: 0, to: bytes.count, by: 3) {
      let group = bytes[start..<min(start + 3, bytes.count)]
      var bits: UInt32 = 0
      for place in 0..<3 { bits = bits << 8 | (place < group.count ? UInt32(group[start + place]) : 0) }
      for place in 0..<4 {
        let index = Int(bits >> UInt32(18 - 6 * place) & 63)
        text.append(place <= group.count ? alphabet[index] : UInt8(ascii: "="))
      }
    }
    return text
  }

  /// The bytes of a text with or without padding; nil when it is not base64.
  static func bytes(base64 text: [UInt8]) -> [UInt8]? {
    var digits = text[...]
    if text.count % 4 == 0 {
      while digits.last == UInt8(ascii: "="), text.count - digits.count < 2 { digits.removeLast() }
    }
    guard digits.count % 4 != 1 else { return nil }
    var bytes: [UInt8] = []
    var bits: UInt32 = 0
    var count = 0
    for digit in digits {
      let value: UInt8
      switch digit {
      case UInt8(ascii: "A")...UInt8(ascii: "Z"): value = digit - 65
      case UInt8(ascii: "a")...UInt8(ascii: "z"): value = digit - 71
      case UInt8(ascii: "0")...UInt8(ascii: "9"): value = digit + 4
      case UInt8(ascii: "+"), UInt8(ascii: "-"): value = 62
      case UInt8(ascii: "/"), UInt8(ascii: "_"): value = 63
      default: return nil
      }
      bits = bits << 6 | UInt32(value)
      count += 6
      if count >= 8 {
        count -= 8
        bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
      }
    }
    return bytes
  }
}
