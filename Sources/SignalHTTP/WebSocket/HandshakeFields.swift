// SPDX-License-Identifier: MIT

/// Parsing of the few fields of the handshake: lists of tokens (RFC 9110 §5.6.1, §5.6.2).
enum HandshakeFields {
  /// The elements of a list that may be spread over several fields, without the white space around them; empty ones are
  /// skipped, as RFC 9110 §5.6.1.2 requires of a recipient.
  static func elements(_ fields: [[UInt8]]) -> [ArraySlice<UInt8>] {
    fields.flatMap { field in
      field.split(separator: UInt8(ascii: ",")).map(trimmed).filter { !$0.isEmpty }
    }
  }

  /// Whether a list contains a token, ignoring case; `token` is in lower case.
  static func list(_ fields: [[UInt8]], has token: String) -> Bool {
    elements(fields).contains { element in element.lazy.map(ASCII.lowercased).elementsEqual(token.utf8) }
  }

  /// Whether an element can be the name of a subprotocol.
  static func isToken(_ bytes: ArraySlice<UInt8>) -> Bool {
    !bytes.isEmpty && bytes.allSatisfy(ByteSet.token.contains)
  }

  /// A value without the white space around it.
  static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
    guard let first = bytes.firstIndex(where: { !ASCII.isBlank($0) }),
      let last = bytes.lastIndex(where: { !ASCII.isBlank($0) })
    else { return [] }
    return bytes[first...last]
  }
}
