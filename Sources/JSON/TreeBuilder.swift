// SPDX-License-Identifier: MIT

/// Finds the nodes of a compact text that is known to be valid.
///
/// It trusts the grammar, not the memory: whatever the bytes are, it reads inside them and ends.
enum TreeBuilder {
  /// The root's record, and all records when there is more than the root.
  static func build(_ source: Span<UInt8>) -> (root: JSONTree.Record, all: [JSONTree.Record]) {
    guard !source.isEmpty else { return (JSONTree.Record(.null, start: 0, end: 0, next: 1), []) }
    let first = source.byte(at: 0)
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "["), source.count > 2 else {
      var position = 0
      return (value(source, at: &position, index: 0), [])
    }
    let records = containers(source)
    return (records[0], records)
  }

  /// No container: what `next` of the outermost one says while it is open.
  private static let none = UInt32.max

  private static func containers(_ source: Span<UInt8>) -> [JSONTree.Record] {
    var records: [JSONTree.Record] = []
    // Typical texts have a node per six to eight bytes; denser ones grow the array once or twice.
    records.reserveCapacity(source.count / 6 + 4)
    // The innermost open container. Its record's `next` holds the one around it until it is closed.
    var open = none
    var position = 0

    while position < source.count {
      let byte = source.byte(at: position)
      switch byte {
      case UInt8(ascii: ","), UInt8(ascii: ":"):
        position += 1
      case UInt8(ascii: "]"), UInt8(ascii: "}"):
        position += 1
        guard open != none else { return records }
        let container = Int(open)
        open = records[container].next
        let next = UInt32(truncatingIfNeeded: records.count)
        records[container].next = next
        records[container].end = UInt32(truncatingIfNeeded: position)
        if open != none, records[Int(open)].kind == .object { records[container - 1].next = next }
      default:
        let index = UInt32(truncatingIfNeeded: records.count)
        var record = value(source, at: &position, index: index)
        if open != none {
          // Objects count their keys, arrays their elements: of the two nodes of a member only one is counted.
          let parent = Int(open)
          if record.kind == .key || records[parent].kind == .array { records[parent].tag += 1 << 4 }
        }
        if byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") {
          record.next = open
          open = index
        }
        records.append(record)
      }
    }
    return records
  }

  /// The record of the value or key at `position`, which advances past it; for a container, past its first byte.
  ///
  /// `next` is right for scalars and for keys of scalars.
  @inline(__always)
  private static func value(_ source: Span<UInt8>, at position: inout Int, index: UInt32) -> JSONTree.Record {
    let start = position
    switch source.byte(at: start) {
    case UInt8(ascii: "\""):
      let (end, hasEscape) = string(source, from: start + 1)
      position = end
      // In a compact text a colon follows keys, and nothing else that ends with a quote.
      if end < source.count, source.byte(at: end) == UInt8(ascii: ":") {
        return JSONTree.Record(.key, flag: hasEscape, start: start, end: end, next: index + 2)
      }
      return JSONTree.Record(.string, flag: hasEscape, start: start, end: end, next: index + 1)
    case UInt8(ascii: "{"):
      position = start + 1
      return JSONTree.Record(.object, start: start, end: source.count, next: index + 1)
    case UInt8(ascii: "["):
      position = start + 1
      return JSONTree.Record(.array, start: start, end: source.count, next: index + 1)
    case UInt8(ascii: "t"):
      position = min(start + 4, source.count)
      return JSONTree.Record(.true, start: start, end: position, next: index + 1)
    case UInt8(ascii: "f"):
      position = min(start + 5, source.count)
      return JSONTree.Record(.false, start: start, end: position, next: index + 1)
    case UInt8(ascii: "n"):
      position = min(start + 4, source.count)
      return JSONTree.Record(.null, start: start, end: position, next: index + 1)
    default:
      let (end, isInteger) = number(source, from: start + 1)
      position = end
      return JSONTree.Record(.number, flag: isInteger, start: start, end: end, next: index + 1)
    }
  }

  /// The end of a number, and whether it has neither fraction nor exponent.
  ///
  /// A number ends where one of `,` `]` `}` stands, or the text.
  @inline(__always)
  private static func number(_ source: Span<UInt8>, from start: Int) -> (end: Int, isInteger: Bool) {
    var position = start
    var isInteger = true
    while position < source.count {
      let byte = source.byte(at: position)
      if !Validator.isDigit(byte) {
        if byte == UInt8(ascii: ",") || byte | 0x20 == UInt8(ascii: "}") { break }
        // A point or an exponent; the sign of a mantissa is before `start`.
        isInteger = false
      }
      position += 1
    }
    return (position, isInteger)
  }

  /// The offset after the closing quote, and whether there is a backslash before it.
  @inline(__always)
  private static func string(_ source: Span<UInt8>, from start: Int) -> (end: Int, hasEscape: Bool) {
    var position = start
    var hasEscape = false
    while true {
      while position + 8 <= source.count {
        let marks = SWAR.quoteOrBackslash(source.word(at: position))
        if marks != 0 {
          position += SWAR.firstIndex(marks)
          break
        }
        position += 8
      }
      guard position < source.count else { return (source.count, hasEscape) }
      let byte = source.byte(at: position)
      if byte == UInt8(ascii: "\"") { return (position + 1, hasEscape) }
      if byte == UInt8(ascii: "\\") {
        hasEscape = true
        position += 2
      } else {
        position += 1
      }
    }
  }
}
