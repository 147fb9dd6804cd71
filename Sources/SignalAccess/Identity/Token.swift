// SPDX-License-Identifier: MIT

/// A token of the server: `sgn_<id>_<43 letters>`, of which the letters are 256 random bits in ``Base64URL``.
///
/// Nothing about it can be guessed, so that one SHA-256 protects it in the file, without a slow hash.
package struct Token: Sendable {
  /// The name by which it is listed, logged and revoked.
  package let id: String
  /// The secret itself, to be shown once.
  package let text: String

  /// The longest id, in bytes.
  package static let idBytes = 64
  /// The longest token, in bytes.
  package static let mostBytes = prefix.utf8.count + idBytes + 1 + letters
  static let prefix = "sgn_"
  private static let letters = 43

  /// Makes a token.
  ///
  /// - Returns: nil when the id is none, or when the system has no random bytes.
  package init?(id: String) {
    guard Self.isID(id), let bytes = SecretBytes.random(32) else { return nil }
    self.id = id
    text = "\(Self.prefix)\(id)_\(Base64URL.encode(bytes))"
  }

  /// Whether a text can be an id: 1 to 64 letters, digits, dots, hyphens and underscores.
  package static func isID(_ text: String) -> Bool {
    (1...idBytes).contains(text.utf8.count) && text.utf8.allSatisfy(isIDByte)
  }

  private static func isIDByte(_ byte: UInt8) -> Bool { byte == UInt8(ascii: ".") || Base64URL.contains(byte) }

  /// The id in the text of a token, known or not; nil when the text is not of this form.
  package static func id(in text: Span<UInt8>) -> String? {
    let count = text.count - prefix.utf8.count - letters - 1
    guard (1...idBytes).contains(count), hasPrefix(text) else { return nil }
    let start = prefix.utf8.count
    guard text[start + count] == UInt8(ascii: "_") else { return nil }
    for index in start..<start + count where !isIDByte(text[index]) { return nil }
    for index in start + count + 1..<text.count where !Base64URL.contains(text[index]) { return nil }
    return String(copying: unsafe UTF8Span(unchecked: text.extracting(start..<start + count)))
  }

  /// The id in the text of a token that is not accepted, to be logged; nil where it may hold a secret.
  ///
  /// A good token that was pasted twice, or with something behind it, is of the form of one with a longer id, in which the
  /// secret stands: as many letters behind an underscore as a secret has.
  package static func loggableID(in text: Span<UInt8>) -> String? {
    guard let id = id(in: text) else { return nil }
    let start = prefix.utf8.count
    for index in start..<start + id.utf8.count where text[index] == UInt8(ascii: "_") {
      if (index + 1...index + letters).allSatisfy({ Base64URL.contains(text[$0]) }) { return nil }
    }
    return id
  }

  /// Whether a text begins as tokens do.
  package static func hasPrefix(_ text: Span<UInt8>) -> Bool {
    let prefix = prefix.utf8.span
    guard text.count >= prefix.count else { return false }
    for index in prefix.indices where text[index] != prefix[index] { return false }
    return true
  }
}

extension Token: CustomStringConvertible {
  /// The id, without the secret.
  package var description: String { "the token \(id)" }
}
