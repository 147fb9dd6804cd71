// SPDX-License-Identifier: MIT

/// Strings and keys.
///
/// All of these take either and return nil for any other kind of node.
extension JSONTree {
  /// Whether there is an escape in the string; without one, ``contentRange(of:)`` is its value.
  @inlinable
  public func hasEscape(_ node: Node) -> Bool {
    isString(node) && record(node).flag
  }

  /// Where the content is in the text's bytes: without quotes, escapes as written.
  @inlinable
  public func contentRange(of node: Node) -> Range<Int>? {
    isString(node) ? record(node).content : nil
  }

  /// Calls `body` with the unescaped UTF-8 bytes.
  ///
  /// They are a view of the text, and nothing is allocated, unless there is an escape in the string. A lone surrogate
  /// escape reads as U+FFFD.
  @inlinable
  public func withUTF8<Result, Failure: Error>(
    of node: Node, _ body: (Span<UInt8>) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    guard let range = contentRange(of: node) else { return nil }
    if hasEscape(node) { return try body(unescaped(node).span) }
    return try body(text.bytes.span.extracting(range))
  }

  /// The string, unescaped; a lone surrogate escape becomes U+FFFD.
  public func string(_ node: Node) -> String? {
    guard isString(node) else { return nil }
    let content = StringContent(record(node))
    if content.hasEscape { return String(decoding: unescaped(node), as: UTF8.self) }
    return String(decoding: text.bytes[content.range], as: UTF8.self)
  }

  /// Whether there is an escape of one half of a surrogate pair without the other, so that the string is no Unicode text
  /// (RFC 8259 §8.2).
  public func hasLoneSurrogate(_ node: Node) -> Bool {
    guard hasEscape(node), let range = contentRange(of: node) else { return false }
    let source = text.bytes.span
    var reader = StringContent.Reader(range)
    while reader.next(in: source) != nil {}
    return reader.hasLoneSurrogate
  }

  /// Whether the unescaped string is exactly these UTF-8 bytes; nothing is allocated.
  public func string(_ node: Node, equals other: Span<UInt8>) -> Bool? {
    guard isString(node) else { return nil }
    return StringContent(record(node)).equals(other, in: text.bytes.span)
  }

  /// Negative, zero or positive as the unescaped string sorts before, with or after these UTF-8 bytes.
  ///
  /// Bytes sort as their scalars do. Nothing is allocated.
  public func compare(_ node: Node, with other: Span<UInt8>) -> Int? {
    guard isString(node) else { return nil }
    let source = text.bytes.span
    var reader = StringContent.Reader(record(node).content)
    var index = 0
    while let byte = reader.next(in: source) {
      guard index < other.count else { return 1 }
      let difference = Int(byte) - Int(other.byte(at: index))
      if difference != 0 { return difference }
      index += 1
    }
    return index < other.count ? -1 : 0
  }

  @inlinable
  func isString(_ node: Node) -> Bool {
    let kind = kind(of: node)
    return kind == .string || kind == .key
  }

  @usableFromInline
  func unescaped(_ node: Node) -> [UInt8] {
    StringContent(record(node)).unescaped(in: text.bytes.span)
  }
}
