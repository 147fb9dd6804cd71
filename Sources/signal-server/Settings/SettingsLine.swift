// SPDX-License-Identifier: MIT

/// One line of a settings file behind its indentation, consumed from the left.
struct SettingsLine {
  private var rest: ArraySlice<UInt8>
  let source: SettingSource

  init(_ content: ArraySlice<UInt8>, at source: SettingSource) {
    rest = content
    self.source = source
  }

  /// Consumes `- `, the mark of a list item.
  mutating func skipItemMark() -> Bool {
    guard rest.first == UInt8(ascii: "-"), rest.count == 1 || rest[rest.startIndex + 1].isBlank else { return false }
    rest = rest.dropFirst()
    skipBlanks()
    return true
  }

  /// Consumes a key and its colon.
  mutating func key() throws(ConfigurationError) -> String {
    if rest.first == UInt8(ascii: "\t") { throw .syntax("indentation is spaces, not tabs", source) }
    if rest.starts(with: "---".utf8) || rest.starts(with: "...".utf8) {
      throw .syntax("a settings file is one document", source)
    }
    let key: String
    if let quoted = try quoted() {
      key = quoted
      skipBlanks()
      guard rest.first == UInt8(ascii: ":") else { throw .syntax("expected 'key: value'", source) }
    } else {
      // What stands behind a comment's mark is no key.
      guard let colon = rest.indices.first(where: { isColon(at: $0) || isComment(at: $0) }), isColon(at: colon) else {
        throw .syntax("expected 'key: value'", source)
      }
      let written = rest[..<colon]
      try refuseReserved(written)
      key = try text(written.trimmingBlanks())
      rest = rest[colon...]
    }
    rest = rest.dropFirst()
    guard !key.isEmpty, rest.isEmpty || rest.first?.isBlank == true else {
      throw .syntax("expected 'key: value'", source)
    }
    return key
  }

  /// Whether nothing stands after the colon, so that the lines below may belong to the key.
  mutating func isBare() -> Bool {
    skipBlanks()
    return isAtEnd
  }

  /// Consumes what stands after the colon.
  mutating func value() throws(ConfigurationError) -> SettingsFile.Value {
    skipBlanks()
    if isAtEnd { return .nothing }
    if rest.first == UInt8(ascii: "[") { return .list(try list()) }
    if let quoted = try quoted() {
      try expectEnd()
      return .scalar(quoted)
    }
    let plain = try plain(endingAt: [])
    return plain == "~" || plain == "null" ? .nothing : .scalar(plain)
  }

  /// Consumes the scalar of a list item.
  mutating func item() throws(ConfigurationError) -> String {
    guard case .scalar(let text) = try value() else { throw .syntax("a list item is one value", source) }
    return text
  }

  private mutating func list() throws(ConfigurationError) -> [String] {
    var items: [String] = []
    rest = rest.dropFirst()
    skipBlanks()
    while rest.first != UInt8(ascii: "]") {
      let text = if let quoted = try quoted() { quoted } else { try plain(endingAt: [",", "]"]) }
      items.append(text)
      skipBlanks()
      if rest.first == UInt8(ascii: ",") {
        rest = rest.dropFirst()
        skipBlanks()
      } else if rest.first != UInt8(ascii: "]") {
        throw .syntax("a list in brackets ends with ']' on the same line", source)
      }
    }
    rest = rest.dropFirst()
    try expectEnd()
    return items
  }

  /// Consumes a scalar without quotes, up to a comment, the end of the line or one of `ends`.
  private mutating func plain(endingAt ends: [Unicode.Scalar]) throws(ConfigurationError) -> String {
    var end = rest.startIndex
    while end < rest.endIndex {
      if isComment(at: end) { break }
      if ends.contains(Unicode.Scalar(rest[end])) { break }
      if isColon(at: end, before: ends) { throw .syntax("a value with ': ' in it needs quotes", source) }
      end += 1
    }
    let written = rest[..<end].trimmingBlanks()
    guard !written.isEmpty else { throw .syntax("a value is missing", source) }
    try refuseReserved(written)
    // Inside brackets these would open or close a collection; outside they are ordinary characters.
    if !ends.isEmpty, written.contains(where: { "[]{}".utf8.contains($0) }) {
      throw .syntax("a value that contains brackets needs quotes", source)
    }
    rest = rest[end...]
    return try text(written)
  }

  /// Consumes a scalar in quotes; nil when none stands here.
  private mutating func quoted() throws(ConfigurationError) -> String? {
    guard let quote = rest.first, quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else { return nil }
    let isDouble = quote == UInt8(ascii: "\"")
    var bytes: [UInt8] = []
    var index = rest.startIndex + 1
    while index < rest.endIndex {
      let byte = rest[index]
      index += 1
      if byte == quote {
        if !isDouble, index < rest.endIndex, rest[index] == quote {
          index += 1
        } else {
          rest = rest[index...]
          return try text(bytes[...])
        }
      }
      if isDouble, byte == UInt8(ascii: "\\") {
        guard index < rest.endIndex, let escaped = Self.escapes[rest[index]] else {
          throw .syntax("this escape is not supported", source)
        }
        bytes.append(escaped)
        index += 1
      } else {
        bytes.append(byte)
      }
    }
    throw .syntax("a quoted value ends on the same line", source)
  }

  private static let escapes: [UInt8: UInt8] = [
    UInt8(ascii: "\""): UInt8(ascii: "\""), UInt8(ascii: "\\"): UInt8(ascii: "\\"),
    UInt8(ascii: "/"): UInt8(ascii: "/"), UInt8(ascii: "n"): UInt8(ascii: "\n"), UInt8(ascii: "t"): UInt8(ascii: "\t"),
  ]

  /// Whether only blanks and a comment are left.
  ///
  /// A comment needs a blank before it, which the callers have consumed.
  private var isAtEnd: Bool { rest.isEmpty || rest.first == UInt8(ascii: "#") }

  private mutating func expectEnd() throws(ConfigurationError) {
    let start = rest.startIndex
    skipBlanks()
    guard rest.isEmpty || (rest.first == UInt8(ascii: "#") && rest.startIndex > start) else {
      throw .syntax("nothing may follow the value", source)
    }
  }

  /// Whether a colon that ends a key stands here; inside brackets the characters in `ends` may follow it, too.
  private func isColon(at index: Int, before ends: [Unicode.Scalar] = []) -> Bool {
    guard rest[index] == UInt8(ascii: ":") else { return false }
    guard index + 1 < rest.endIndex else { return true }
    let next = rest[index + 1]
    return next.isBlank || ends.contains(Unicode.Scalar(next))
  }

  /// Whether a comment begins here, inside what has been looked at so far.
  private func isComment(at index: Int) -> Bool {
    rest[index] == UInt8(ascii: "#") && index > rest.startIndex && rest[index - 1].isBlank
  }

  /// Refuses what has a meaning of its own in YAML: anchors, aliases, tags, block scalars, flow mappings, directives.
  private func refuseReserved(_ written: ArraySlice<UInt8>) throws(ConfigurationError) {
    guard let first = written.first else { return }
    let alone = written.count == 1 || written[written.startIndex + 1].isBlank
    if "&*!|>%@`{}[],#\"'".utf8.contains(first) || (alone && "?:-".utf8.contains(first)) {
      throw .syntax("a value or key that begins with '\(Unicode.Scalar(first))' needs quotes", source)
    }
  }

  private func text(_ bytes: ArraySlice<UInt8>) throws(ConfigurationError) -> String {
    guard let text = String(validating: bytes, as: UTF8.self) else { throw .syntax("not UTF-8", source) }
    return text
  }

  private mutating func skipBlanks() { rest = rest.drop { $0.isBlank } }
}

extension UInt8 {
  /// Whether it separates words in YAML.
  var isBlank: Bool { self == UInt8(ascii: " ") || self == UInt8(ascii: "\t") }
}

extension ArraySlice<UInt8> {
  fileprivate func trimmingBlanks() -> ArraySlice<UInt8> {
    var slice = drop { $0.isBlank }
    while slice.last?.isBlank == true { slice.removeLast() }
    return slice
  }
}
