// SPDX-License-Identifier: MIT

/// Reading the few fields of the handshake: lists of tokens (RFC 9110 §5.6.1, §5.6.2).
enum HandshakeFields {
  /// The elements of a list that may be spread over several fields, without the white space around them; empty ones
  /// are left out, as RFC 9110 §5.6.1.2 wants of a recipient.
  static func elements(_ fields: [[UInt8]]) -> [ArraySlice<UInt8>] {
    fields.flatMap { field in
      field.split(separator: UInt8(ascii: ",")).map(trimmed).filter { !$0.isEmpty }
    }
  }

  /// Whether a list has a token, in any case of its letters; `token` is in lower case.
  static func list(_ fields: [[UInt8]], has token: String) -> Bool {
    elements(fields).contains { element in element.lazy.map(lowercase).elementsEqual(token.utf8) }
  }

  /// Whether an element can be the name of a subprotocol.
  static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(isTokenByte)
  }

  /// A value without the white space around it.
  static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    var rest = bytes
    while let first = rest.first, first == 0x20 || first == 0x09 { rest.removeFirst() }
    while let last = rest.last, last == 0x20 || last == 0x09 { rest.removeLast() }
    return rest
  }

  private static func lowercase(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"), UInt8(ascii: "&"),
      UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."),
      UInt8(ascii: "^"), UInt8(ascii: "_"), UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      true
    default: false
    }
  }
}
