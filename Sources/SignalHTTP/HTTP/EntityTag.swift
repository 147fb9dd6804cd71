// SPDX-License-Identifier: MIT

/// The tag of one state of a resource (RFC 9110 §8.8.3), parsed in place: `"x7.1042"` or `W/"x7.1042"`.
package struct EntityTag {
  /// Whether the tag promises only equal meaning, not equal bytes.
  package let isWeak: Bool
  /// The tag with its quotes.
  package let opaque: ByteView
}

extension RequestHead {
  /// How a tag of the request is compared with the current one (RFC 9110 §8.8.3.2).
  package enum TagComparison: Sendable {
    /// Both must be strong: for `If-Match`, before something is changed.
    case strong
    /// Strength does not matter: for `If-None-Match`.
    case weak
  }

  /// Whether `If-Match` or `If-None-Match` contains the current tag; nil when the field is missing.
  ///
  /// `tag` is the current strong tag with its quotes, nil when the resource does not exist. `*` matches any existing
  /// state. The whole list is validated, also after a match.
  ///
  /// - Throws: `HTTPParseError.malformedEntityTag`.
  package func entityTags(
    in field: KnownField, contain tag: ByteView?, by comparison: TagComparison
  ) throws(HTTPParseError) -> Bool? {
    guard has(field) else { return nil }
    guard let tag else {
      try forEachEntityTag(in: field) { _ in }
      return false
    }
    return try entityTags(in: field, by: comparison) { $0.equals(tag) }
  }

  /// The same for an existing resource that may have several tags.
  ///
  /// - Parameter isCurrent: Whether a tag, given with its quotes, is one of them.
  package func entityTags(
    in field: KnownField, by comparison: TagComparison, where isCurrent: (ByteView) -> Bool
  ) throws(HTTPParseError) -> Bool? {
    guard has(field) else { return nil }
    var isMatched = false
    try forEachEntityTag(in: field) { candidate in
      guard let candidate else {
        isMatched = true
        return
      }
      if comparison == .strong, candidate.isWeak { return }
      if !isMatched, isCurrent(candidate.opaque) { isMatched = true }
    }
    return isMatched
  }

  /// Calls `body` with every tag of a field, or once with nil for `*`.
  ///
  /// - Throws: `HTTPParseError.malformedEntityTag` when the field is neither `*` nor a list of at least one tag.
  package func forEachEntityTag(in field: KnownField, _ body: (EntityTag?) -> Void) throws(HTTPParseError) {
    var count = 0
    var hasAsterisk = false
    for position in 0..<fieldCount where lines[position].known == field {
      let value = self.field(at: position).value
      var index = 0
      while index < value.count {
        let byte = value.byte(at: index)
        if byte == ASCII.comma || ASCII.isBlank(byte) {
          index += 1
          continue
        }
        count += 1
        if byte == ASCII.asterisk {
          hasAsterisk = true
          index += 1
          body(nil)
        } else {
          body(try Self.entityTag(in: value, at: &index))
        }
        // Must be followed by a comma or the end.
        while index < value.count, ASCII.isBlank(value.byte(at: index)) { index += 1 }
        guard index == value.count || value.byte(at: index) == ASCII.comma else { throw .malformedEntityTag }
      }
    }
    guard count > 0, !hasAsterisk || count == 1 else { throw .malformedEntityTag }
  }

  /// Parses quotes with visible bytes between them; a backslash escapes nothing here, unlike in a quoted string.
  private static func entityTag(in value: ByteView, at index: inout Int) throws(HTTPParseError) -> EntityTag {
    var start = index
    let isWeak = value.byte(at: start) == UInt8(ascii: "W")
    if isWeak {
      guard start + 1 < value.count, value.byte(at: start + 1) == ASCII.slash else { throw .malformedEntityTag }
      start += 2
    }
    guard start < value.count, value.byte(at: start) == ASCII.quote else { throw .malformedEntityTag }
    var end = start + 1
    while end < value.count, value.byte(at: end) != ASCII.quote {
      guard value.byte(at: end) > 0x20, value.byte(at: end) != 0x7F else { throw .malformedEntityTag }
      end += 1
    }
    guard end < value.count else { throw .malformedEntityTag }
    index = end + 1
    return EntityTag(isWeak: isWeak, opaque: value[start..<end + 1])
  }
}
