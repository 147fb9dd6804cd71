// SPDX-License-Identifier: MIT

/// Parses the head of a request: request line, fields, and the framing of the body (RFC 9112 §3, §5, §6).
///
/// One parser serves all connections of a loop, one head at a time: the table of field lines keeps its storage, so that
/// parsing allocates nothing. It takes complete heads, as `HeadScanner` finds them, but does not rely on the scanner:
/// every byte is checked here too, and bytes that are not a head are an error like any other.
package struct RequestHeadParser: Sendable {
  private let limits: HTTPLimits
  private let isSecured: Bool
  /// Capacity for as many lines as a head may have; the beginning of it is in use.
  private var lines: [FieldLine]

  /// - Parameter isSecured: The requests come over TLS.
  package init(limits: HTTPLimits = HTTPLimits(), isSecured: Bool = false) {
    self.limits = limits
    self.isSecured = isSecured
    lines = Array(repeating: FieldLine(name: .empty, value: .empty, known: nil), count: max(limits.fields, 0))
  }

  /// Parses `head`, which begins with the request (perhaps with empty lines before it) and ends with its empty line.
  ///
  /// The result refers to the bytes of `head` and is valid as long as they are.
  package mutating func parse(_ head: ByteView) throws(HTTPParseError) -> RequestHead {
    // As CRLF CRLF is at the end, every search below stops there at the latest.
    let count = head.count
    guard count >= 4, count <= UInt32.max, head.endsWithEmptyLine else { throw .incompleteMessage }
    var index = HeadIndex()
    index.isSecured = isSecured
    var offset = 0
    while head.byte(at: offset) == ASCII.cr {
      guard offset + 4 < count, head.byte(at: offset + 1) == ASCII.lf else { throw .incompleteMessage }
      offset += 2
    }
    try parseRequestLine(head, &offset, &index)
    try parseFieldLines(head, &offset, &index)
    guard offset + 2 == count else { throw .incompleteMessage }
    return RequestHead(bytes: head, index: index, lines: lines)
  }

  private func parseRequestLine(
    _ head: ByteView, _ offset: inout Int, _ index: inout HeadIndex
  ) throws(HTTPParseError) {
    let methodEnd = head.tokenEnd(from: offset)
    guard methodEnd > offset, head.byte(at: methodEnd) == ASCII.space else { throw .malformedMethod }
    guard methodEnd - offset <= limits.methodBytes else { throw .methodTooLong }
    index.methodName = HeadRange(offset, methodEnd)
    index.method = HTTPMethod.Known(head[offset..<methodEnd])

    let target = methodEnd + 1
    let targetEnd = head.firstInvisible(from: target)
    guard targetEnd > target, head.byte(at: targetEnd) == ASCII.space else { throw .malformedRequestLine }
    guard targetEnd - target <= limits.targetBytes else { throw .targetTooLong }

    let version = targetEnd + 1
    if !HTTPVersion.isCurrent(head, at: version) {
      for place in version..<version + HTTPVersion.lineBytes {
        guard place < head.count else { throw .incompleteMessage }
        try HTTPVersion.check(head, start: version, at: place)
      }
      // RFC 9110 §2.5: a higher minor version is served as the highest one known.
      index.minorVersion = head.byte(at: version + 7) == ASCII.zero ? 0 : 1
    }
    try RequestTarget(in: head, at: target..<targetEnd).parse(into: &index)
    offset = version + HTTPVersion.lineBytes
  }

  private mutating func parseFieldLines(
    _ head: ByteView, _ offset: inout Int, _ index: inout HeadIndex
  ) throws(HTTPParseError) {
    var facts = FramingFields()
    var count = 0
    // Taken once, so that storing a line checks nothing but the capacity.
    var table = lines.mutableSpan
    while offset < head.count, head.byte(at: offset) != ASCII.cr {
      guard count < table.count else { throw .tooManyFields }
      let nameEnd = head.tokenEnd(from: offset)
      guard nameEnd < head.count, head.byte(at: nameEnd) == ASCII.colon, nameEnd > offset else {
        throw FieldLine.nameError(in: head, from: offset, at: nameEnd)
      }
      let lineEnd = head.firstControl(from: nameEnd + 1)
      guard lineEnd + 1 < head.count, head.byte(at: lineEnd) == ASCII.cr, head.byte(at: lineEnd + 1) == ASCII.lf else {
        throw FieldLine.lineError(in: head, at: lineEnd)
      }
      var value = nameEnd + 1
      while value < lineEnd, ASCII.isBlank(head.byte(at: value)) { value += 1 }
      var valueEnd = lineEnd
      while valueEnd > value, ASCII.isBlank(head.byte(at: valueEnd - 1)) { valueEnd -= 1 }

      let name = head[offset..<nameEnd]
      let known = KnownField(token: name)
      table[count] = FieldLine(name: HeadRange(offset, nameEnd), value: HeadRange(value, valueEnd), known: known)
      count += 1
      if let known {
        if index.present & known.bit != 0 { index.repeated |= known.bit }
        index.present |= known.bit
        try facts.note(known, HeadRange(value, valueEnd), in: head, &index)
      } else if FramingFields.isDisguised(name) {
        throw .ambiguousFieldName
      }
      offset = lineEnd + 2
    }
    index.fieldCount = count
    try facts.conclude(head, limits, &index)
  }
}

extension FieldLine {
  /// The error when there is no name between `start` and `end`, where a byte that is not part of a token ended the
  /// search.
  static func nameError(in head: ByteView, from start: Int, at end: Int) -> HTTPParseError {
    guard end < head.count else { return .incompleteMessage }
    switch head.byte(at: end) {
    case ASCII.colon: return .emptyFieldName
    case ASCII.space, ASCII.tab:
      if end == start { return .foldedLine }
      var next = end
      while next < head.count, ASCII.isBlank(head.byte(at: next)) { next += 1 }
      return next < head.count && head.byte(at: next) == ASCII.colon ? .spaceBeforeColon : .malformedFieldName
    case ASCII.cr: return .missingColon
    case ASCII.lf: return .bareLineFeed
    case 0..<0x20, 0x7F: return .controlCharacter
    default: return .malformedFieldName
    }
  }

  /// The error when no line ends at `end`, where there is a control character.
  static func lineError(in head: ByteView, at end: Int) -> HTTPParseError {
    guard end < head.count else { return .incompleteMessage }
    switch head.byte(at: end) {
    case ASCII.cr: return .bareCarriageReturn
    case ASCII.lf: return .bareLineFeed
    default: return .controlCharacter
    }
  }
}
