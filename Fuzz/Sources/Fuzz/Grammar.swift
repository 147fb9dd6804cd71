// SPDX-License-Identifier: MIT

/// RFC 8259's grammar written down as plainly as possible: one function per production, one byte at a time.
struct Grammar {
  private var rest: ArraySlice<UInt8>

  /// Whether the whole source is a JSON text in UTF-8.
  static func accepts(_ source: [UInt8]) -> Bool {
    guard String(validating: source, as: UTF8.self) != nil else { return false }
    var grammar = Grammar(rest: source[...])
    grammar.space()
    guard grammar.value() else { return false }
    grammar.space()
    return grammar.rest.isEmpty
  }

  private mutating func take(word: String) -> Bool {
    guard rest.starts(with: word.utf8) else { return false }
    rest = rest.dropFirst(word.utf8.count)
    return true
  }

  private mutating func take(_ character: Unicode.Scalar) -> Bool {
    guard let byte = rest.first, UInt32(byte) == character.value else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func take(in range: ClosedRange<UInt8>) -> Bool {
    guard let byte = rest.first, range.contains(byte) else { return false }
    rest = rest.dropFirst()
    return true
  }

  private mutating func space() {
    while take(" ") || take("\t") || take("\n") || take("\r") {}
  }

  private mutating func value() -> Bool {
    switch rest.first {
    case UInt8(ascii: "["): array()
    case UInt8(ascii: "{"): object()
    case UInt8(ascii: "\""): string()
    default: take(word: "null") || take(word: "true") || take(word: "false") || number()
    }
  }

  private mutating func array() -> Bool {
    guard take("[") else { return false }
    space()
    if take("]") { return true }
    repeat {
      space()
      guard value() else { return false }
      space()
    } while take(",")
    return take("]")
  }

  private mutating func object() -> Bool {
    guard take("{") else { return false }
    space()
    if take("}") { return true }
    repeat {
      space()
      guard string() else { return false }
      space()
      guard take(":") else { return false }
      space()
      guard value() else { return false }
      space()
    } while take(",")
    return take("}")
  }

  private mutating func digits() -> Bool {
    guard take(in: 0x30...0x39) else { return false }
    while take(in: 0x30...0x39) {}
    return true
  }

  private mutating func number() -> Bool {
    _ = take("-")
    guard take("0") || (rest.first != UInt8(ascii: "0") && digits()) else { return false }
    if take("."), !digits() { return false }
    if take("e") || take("E") {
      _ = take("+") || take("-")
      return digits()
    }
    return true
  }

  private mutating func string() -> Bool {
    guard take("\"") else { return false }
    while true {
      if take("\"") { return true }
      if take("\\") {
        if take("u") {
          for _ in 0..<4 {
            guard take(in: 0x30...0x39) || take(in: 0x41...0x46) || take(in: 0x61...0x66) else { return false }
          }
        } else {
          guard
            take("\"") || take("\\") || take("/") || take("b") || take("f") || take("n") || take("r") || take("t")
          else { return false }
        }
      } else {
        guard take(in: 0x20...0xFF) else { return false }
      }
    }
  }
}
