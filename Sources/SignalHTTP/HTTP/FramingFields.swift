// SPDX-License-Identifier: MIT

/// Collects, line by line, the fields that determine the host of a request, the end of its body and the persistence of
/// the connection, and evaluates them at the end of the head (RFC 9112 §3.2, §6, §9.3).
///
/// Everything that two parsers could understand differently is refused: both framings, repeated or listed lengths even
/// when they are equal, codings other than one final `chunked`.
struct FramingFields {
  private var contentLength: Int?
  private var codings = TransferCodings()
  private var hasUnknownExpectation = false

  /// Examines one line of a field that the server knows.
  @inline(__always)
  mutating func note(
    _ field: KnownField, _ value: HeadRange, in head: ByteView, _ index: inout HeadIndex
  ) throws(HTTPParseError) {
    switch field {
    case .host:
      guard index.repeated & field.bit == 0 else { throw .repeatedHost }
      guard let authority = Authority(head[value.range]) else { throw .malformedHost }
      // RFC 9112 §3.2.2: the host of the target takes precedence; a malformed `Host` is refused nevertheless.
      guard index.form == .origin || index.host == .empty else { return }
      index.host = HeadRange(Int(value.lower), Int(value.lower) + authority.host.count)
      index.port = authority.port
    case .contentLength:
      guard index.repeated & field.bit == 0 else { throw .repeatedContentLength }
      contentLength = try Self.length(head[value.range])
    case .transferEncoding: try codings.append(head[value.range])
    case .connection: try noteConnection(head[value.range], &index)
    case .expect: noteExpectation(head[value.range], &index)
    default: break
    }
  }

  /// Evaluates the fields together.
  @inline(__always)
  func conclude(_ head: ByteView, _ limits: HTTPLimits, _ index: inout HeadIndex) throws(HTTPParseError) {
    guard index.present & KnownField.host.bit != 0 || index.minorVersion == 0 else { throw .missingHost }
    if index.present & KnownField.transferEncoding.bit != 0 {
      // The more dangerous fault is reported first: an unknown coding with a length is smuggling, not just an
      // unsupported coding.
      guard contentLength == nil else { throw .conflictingFraming }
      guard index.minorVersion > 0 else { throw .transferEncodingInOldVersion }
      try codings.conclude()
      index.framing = .chunked
    } else if let contentLength {
      guard contentLength <= limits.bodyBytes else { throw .bodyTooLarge }
      index.framing = .sized(contentLength)
    }
    guard !hasUnknownExpectation else { throw .unsupportedExpectation }
    // RFC 9110 §10.1.1: ignored in HTTP/1.0, and without a body there is nothing to continue with.
    if index.minorVersion == 0 || index.framing == .none || index.framing == .sized(0) { index.expectsContinue = false }
  }

  /// Parses one decimal number without a sign or anything around it (RFC 9110 §8.6); leading zeros are allowed.
  private static func length(_ value: ByteView) throws(HTTPParseError) -> Int {
    // As many digits as the greatest number has.
    guard value.count > 0, value.count <= 19 else { throw .malformedContentLength }
    var length = 0
    for byte in value {
      guard ASCII.isDigit(byte) else { throw .malformedContentLength }
      let (product, overflows) = length.multipliedReportingOverflow(by: 10)
      let (sum, overflowsToo) = product.addingReportingOverflow(Int(byte - ASCII.zero))
      guard !overflows, !overflowsToo else { throw .malformedContentLength }
      length = sum
    }
    return length
  }

  private func noteConnection(_ value: ByteView, _ index: inout HeadIndex) throws(HTTPParseError) {
    if value.equalsIgnoringCase("keep-alive") {
      // The option that nearly every client sends.
      index.options.insert(.keepAlive)
      return
    }
    for option in FieldList(value) {
      guard option.isToken else { throw .malformedFieldValue }
      if option.equalsIgnoringCase("close") {
        index.options.insert(.close)
      } else if option.equalsIgnoringCase("keep-alive") {
        index.options.insert(.keepAlive)
      } else if option.equalsIgnoringCase("upgrade") {
        index.options.insert(.upgrade)
      }
    }
  }

  private mutating func noteExpectation(_ value: ByteView, _ index: inout HeadIndex) {
    for expectation in FieldList(value) {
      if expectation.equalsIgnoringCase("100-continue") {
        index.expectsContinue = true
      } else {
        hasUnknownExpectation = true
      }
    }
  }

  /// Whether a name equals that of a framing field except for an underscore: gateways that convert names to variables
  /// (RFC 3875 §4.1.18) do not distinguish the two.
  @inline(__always)
  static func isDisguised(_ name: ByteView) -> Bool {
    switch name.count {
    case 14: name.equalsIgnoringCase(ByteView("content_length"))
    case 17: name.equalsIgnoringCase(ByteView("transfer_encoding"))
    default: false
    }
  }
}

/// The codings of all `Transfer-Encoding` lines, in order (RFC 9112 §6.1, §7).
private struct TransferCodings {
  private var isChunked = false
  private var hasUnknown = false

  /// Adds the codings of one line.
  ///
  /// Stricter than required of a list: an empty element is refused, because parsers differ in how they treat it.
  mutating func append(_ value: ByteView) throws(HTTPParseError) {
    var offset = 0
    while true {
      let nameEnd = value.firstIndex(notIn: .token, from: offset)
      // Nothing may follow `chunked`, not even `chunked`; and it has no parameters (§7).
      guard nameEnd > offset, !isChunked else { throw .malformedTransferEncoding }
      if value[offset..<nameEnd].equalsIgnoringCase("chunked") { isChunked = true } else { hasUnknown = true }
      offset = nameEnd
      try skipParameters(value, &offset)
      if offset == value.count { return }
      // `skipParameters` stops at the end or at a comma.
      offset += 1
      while offset < value.count, ASCII.isBlank(value.byte(at: offset)) { offset += 1 }
    }
  }

  private func skipParameters(_ value: ByteView, _ offset: inout Int) throws(HTTPParseError) {
    func skipBlanks(_ offset: inout Int) {
      while offset < value.count, ASCII.isBlank(value.byte(at: offset)) { offset += 1 }
    }
    while true {
      skipBlanks(&offset)
      guard offset < value.count, value.byte(at: offset) != ASCII.comma else { return }
      guard value.byte(at: offset) == ASCII.semicolon, !isChunked else { throw .malformedTransferEncoding }
      offset += 1
      skipBlanks(&offset)
      let nameEnd = value.firstIndex(notIn: .token, from: offset)
      guard nameEnd > offset else { throw .malformedTransferEncoding }
      offset = nameEnd
      skipBlanks(&offset)
      guard offset < value.count, value.byte(at: offset) == ASCII.equals else { throw .malformedTransferEncoding }
      offset += 1
      skipBlanks(&offset)
      let tokenEnd = value.firstIndex(notIn: .token, from: offset)
      guard let end = tokenEnd > offset ? tokenEnd : QuotedString.end(in: value, from: offset) else {
        throw .malformedTransferEncoding
      }
      offset = end
    }
  }

  func conclude() throws(HTTPParseError) {
    guard !hasUnknown else { throw .unsupportedTransferCoding }
  }
}
