// SPDX-License-Identifier: MIT

/// `format` of the string extension: `%s %d %f %e %b %o %x %X %%`, the two for doubles with a precision.
extension Evaluator {
  /// The maximum number of digits after the decimal point.
  private static let precisionLimit = 100

  func format(_ activation: borrowing Activation, _ pattern: Value, _ list: Value) -> Value {
    guard pattern.kind == .string, list.kind == .list else { return error(.noMatchingOverload) }
    let pattern = copy(activation, pattern)
    let arguments = elements(activation, of: list)
    var text: [UInt8] = []
    var position = 0
    var used = 0
    while position < pattern.count {
      let byte = pattern[position]
      position += 1
      guard byte == UInt8(ascii: "%") else {
        text.append(byte)
        continue
      }
      guard var verb = position < pattern.count ? pattern[position] : nil else { return error(.badArgument) }
      position += 1
      if verb == UInt8(ascii: "%") {
        text.append(verb)
        continue
      }
      var precision: Int?
      if verb == UInt8(ascii: ".") {
        var digits = 0
        while position < pattern.count, Lexer.isDigit(pattern[position]), digits <= Self.precisionLimit {
          digits = digits * 10 + Int(pattern[position] - UInt8(ascii: "0"))
          position += 1
        }
        guard position < pattern.count, digits <= Self.precisionLimit else { return error(.badArgument) }
        precision = digits
        verb = pattern[position]
        position += 1
      }
      guard used < arguments.count else { return error(.indexOutOfRange) }
      guard let part = formatted(activation, arguments[used], verb, precision) else { return error(.badArgument) }
      used += 1
      text += part
      guard text.count <= room, fatal == nil else {
        return exceeded()
      }
    }
    return create(text)
  }

  private func formatted(
    _ activation: borrowing Activation, _ value: Value, _ verb: UInt8, _ precision: Int?
  ) -> [UInt8]? {
    switch verb {
    case UInt8(ascii: "s"): return precision == nil ? plain(activation, value, depth: 0) : nil
    case UInt8(ascii: "d"):
      if value.kind == .double, !value.double.isFinite { return Array(Numbers.text(value.double).utf8) }
      return integer(value, radix: 10)
    case UInt8(ascii: "b"):
      return value.kind == .bool ? [value.bool ? UInt8(ascii: "1") : UInt8(ascii: "0")] : integer(value, radix: 2)
    case UInt8(ascii: "o"): return integer(value, radix: 8)
    case UInt8(ascii: "x"), UInt8(ascii: "X"):
      let isUpper = verb == UInt8(ascii: "X")
      guard value.isText else { return integer(value, radix: 16, isUpper: isUpper) }
      let digits = Array((isUpper ? "0123456789ABCDEF" : "0123456789abcdef").utf8)
      return copy(activation, value).flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
    case UInt8(ascii: "f"), UInt8(ascii: "e"):
      let number: Double
      switch value.kind {
      case .double: number = value.double
      // JSON does not distinguish 21 from 21.0, so an integer is accepted as well.
      case .int: number = Double(value.int)
      case .uint: number = Double(value.uint)
      default: return nil
      }
      if !number.isFinite { return Array(Numbers.text(number).utf8) }
      return Numbers.fixed(number, digits: precision ?? 6, isScientific: verb == UInt8(ascii: "e"))
    default: return nil
    }
  }

  private func integer(_ value: Value, radix: Int, isUpper: Bool = false) -> [UInt8]? {
    switch value.kind {
    case .int: Array(String(value.int, radix: radix, uppercase: isUpper).utf8)
    case .uint: Array(String(value.uint, radix: radix, uppercase: isUpper).utf8)
    default: nil
    }
  }

  /// What `%s` writes: texts as they are, lists and maps with their elements, the entries of a map by their keys.
  private func plain(_ activation: borrowing Activation, _ value: Value, depth: Int) -> [UInt8]? {
    guard depth < 64, fatal == nil else {
      fatal = fatal ?? .tooLarge
      return nil
    }
    charge(1 + (value.isText ? value.byteCount / 8 : 0))
    switch value.kind {
    case .null: return Array("null".utf8)
    case .bool: return Array((value.bool ? "true" : "false").utf8)
    case .int: return Array(String(value.int).utf8)
    case .uint: return Array(String(value.uint).utf8)
    case .double: return Array(Numbers.text(value.double).utf8)
    case .string, .bytes: return Array(String(decoding: copy(activation, value), as: UTF8.self).utf8)
    case .timestamp: return Array(Times.text(ofTimestamp: value).utf8)
    case .duration: return Array(Times.text(ofDuration: value).utf8)
    case .type: return Array(value.typeKind.typeName.utf8)
    case .list:
      var parts: [[UInt8]] = []
      var cursor = Cursor(value)
      while let element = next(activation, &cursor) {
        guard let part = plain(activation, element, depth: depth + 1) else { return nil }
        parts.append(part)
      }
      return Array("[".utf8) + parts.joined(separator: Array(", ".utf8)) + Array("]".utf8)
    case .map:
      var entries: [(key: [UInt8], value: [UInt8])] = []
      var cursor = Cursor(value)
      while let key = next(activation, &cursor) {
        guard let content = lookup(activation, key, in: value), let key = plain(activation, key, depth: depth + 1),
          let content = plain(activation, content, depth: depth + 1)
        else { return nil }
        entries.append((key, content))
      }
      entries.sort { $0.key.lexicographicallyPrecedes($1.key) }
      let parts = entries.map { $0.key + Array(": ".utf8) + $0.value }
      return Array("{".utf8) + parts.joined(separator: Array(", ".utf8)) + Array("}".utf8)
    case .optional, .error, .cursor: return nil
    }
  }
}
