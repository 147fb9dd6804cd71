// SPDX-License-Identifier: MIT

/// Writing JSON by appending bytes to a buffer: no tree, no intermediate `String`.
///
/// The caller writes the punctuation (``append(literal:)``), these write the values. What is written is compact.
extension [UInt8] {
  /// Appends the text of a value as it is.
  @inlinable
  public mutating func appendJSON(_ value: JSONText) {
    append(contentsOf: value.bytes)
  }

  /// Appends `true` or `false`.
  public mutating func appendJSON(_ value: Bool) {
    append(literal: value ? "true" : "false")
  }

  /// Appends a string in quotes, with the escapes that RFC 8259 §7 requires and no others.
  public mutating func appendJSON(_ value: String) {
    appendJSON(utf8: value.utf8.span)
  }

  /// Appends UTF-8 bytes as a string in quotes: `"`, `\` and control characters are escaped, in the short form where
  /// there is one.
  ///
  /// The bytes are not validated; what is not UTF-8 makes a text that no reader accepts.
  public mutating func appendJSON(utf8 value: Span<UInt8>) {
    let plain = value.firstToEscape(from: 0)
    guard plain < value.count else { return append(quoted: value) }
    append(UInt8(ascii: "\""))
    var start = 0
    var position = plain
    while position < value.count {
      append(bytes: value.extracting(start..<position))
      appendEscape(value.byte(at: position))
      start = position + 1
      position = value.firstToEscape(from: start)
    }
    append(bytes: value.extracting(start..<position))
    append(UInt8(ascii: "\""))
  }

  /// Appends bytes that need no escape between quotes: one check of capacity, one copy.
  private mutating func append(quoted value: Span<UInt8>) {
    let size = value.count + 2
    append(addingCapacity: size) { output in
      // The buffer is the spare capacity, at least `size` bytes, and all of the first `size` are written.
      unsafe output.withUnsafeMutableBufferPointer { buffer, count in
        unsafe buffer[0] = UInt8(ascii: "\"")
        unsafe value.withUnsafeBytes { bytes in
          unsafe UnsafeMutableRawBufferPointer(buffer)[1...].copyBytes(from: bytes)
        }
        unsafe buffer[size - 1] = UInt8(ascii: "\"")
        count = size
      }
    }
  }

  private mutating func appendEscape(_ byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append(literal: "\\\"")
    case UInt8(ascii: "\\"): append(literal: "\\\\")
    case 0x08: append(literal: "\\b")
    case 0x09: append(literal: "\\t")
    case 0x0A: append(literal: "\\n")
    case 0x0C: append(literal: "\\f")
    case 0x0D: append(literal: "\\r")
    default:
      append(literal: byte < 0x10 ? "\\u000" : "\\u001")
      let digit = byte & 0x0F
      append(digit < 10 ? digit + UInt8(ascii: "0") : digit - 10 + UInt8(ascii: "a"))
    }
  }

  /// Appends an integer in decimal.
  public mutating func appendJSON(_ value: Int) {
    if value < 0 { append(UInt8(ascii: "-")) }
    appendJSON(UInt64(value.magnitude))
  }

  /// Appends an integer in decimal.
  public mutating func appendJSON(_ value: Int64) {
    if value < 0 { append(UInt8(ascii: "-")) }
    appendJSON(value.magnitude)
  }

  /// Appends an integer in decimal.
  public mutating func appendJSON(_ value: UInt64) {
    if value < 10 {
      append(UInt8(truncatingIfNeeded: value) + UInt8(ascii: "0"))
      return
    }
    // Twenty digits are enough for 2^64 - 1. They come out last first, so that their number has to be known.
    let count = value.decimalDigits
    append(addingCapacity: count) { output in
      // The buffer is the spare capacity, at least `count` bytes; each of those is written once.
      unsafe output.withUnsafeMutableBufferPointer { buffer, initialized in
        var rest = value
        var position = count
        while position > 0 {
          position -= 1
          let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10)
          unsafe buffer[position] = UInt8(truncatingIfNeeded: digit) + UInt8(ascii: "0")
          rest = quotient
        }
        initialized = count
      }
    }
  }

  /// Appends the shortest number that reads back as the same `Double`, or `null` when it is infinite or not a number,
  /// as JavaScript does.
  ///
  /// A whole number keeps `.0`.
  public mutating func appendJSON(_ value: Double) {
    guard value.isFinite else { return append(literal: "null") }
    // The standard library's description is the shortest round-trip form and fits the grammar of RFC 8259 §6.
    append(bytes: value.description.utf8.span)
  }

  /// Appends the bytes of a string literal as they are: the fixed parts of a message.
  @inlinable
  public mutating func append(literal: StaticString) {
    // A literal that is a single scalar has no pointer; interpolations cannot get here, the type has none.
    precondition(literal.hasPointerRepresentation)
    unsafe append(contentsOf: UnsafeBufferPointer(start: literal.utf8Start, count: literal.utf8CodeUnitCount))
  }

  /// Appends bytes as they are.
  @inlinable
  public mutating func append(bytes: Span<UInt8>) {
    // The pointer is used only for the copy.
    unsafe bytes.withUnsafeBufferPointer { unsafe append(contentsOf: $0) }
  }
}

extension Span<UInt8> {
  /// The offset of the first byte from `start` on that a JSON string must escape, or `count`.
  fileprivate func firstToEscape(from start: Int) -> Int {
    var position = start
    while position + 8 <= count {
      let marks = SWAR.mustEscape(word(at: position))
      if marks != 0 { return position + SWAR.firstIndex(marks) }
      position += 8
    }
    while position < count {
      let byte = byte(at: position)
      if byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      position += 1
    }
    return position
  }
}

extension UInt64 {
  /// How many decimal digits it has; 1 for zero.
  fileprivate var decimalDigits: Int {
    var count = 1
    var bound: UInt64 = 10
    while self >= bound {
      count += 1
      if count == 20 { break }
      bound *= 10
    }
    return count
  }
}
