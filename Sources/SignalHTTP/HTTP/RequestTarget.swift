// SPDX-License-Identifier: MIT

/// Distinguishes the four forms of a target and finds its parts (RFC 9112 §3.2, RFC 3986).
///
/// A target is checked byte by byte and kept as it came: nothing is decoded or normalised here. A path contains
/// `pchar`, `/` and what browsers leave unencoded, a query visible ASCII; see `ByteSet`. Percent signs need two digits,
/// which may be those of any byte (RFC 3986 §2.1): whoever decodes a path judges what is in it, as `PropertyPath` does.
struct RequestTarget {
  private let head: ByteView
  private let range: Range<Int>

  init(in head: ByteView, at range: Range<Int>) {
    self.head = head
    self.range = range
  }

  /// Fills in the parts of the target; `index.method` is already known.
  func parse(into index: inout HeadIndex) throws(HTTPParseError) {
    index.target = HeadRange(range.lowerBound, range.upperBound)
    if index.method == .connect {
      index.form = .authority
      let authority = try authority(range)
      guard authority.port != nil else { throw .malformedTarget }
      set(authority, at: range.lowerBound, in: &index)
    } else if head.byte(at: range.lowerBound) == ASCII.slash {
      index.form = .origin
      try parsePath(from: range.lowerBound, into: &index)
    } else if range.count == 1, head.byte(at: range.lowerBound) == ASCII.asterisk {
      guard index.method == .options else { throw .malformedTarget }
      index.form = .asterisk
    } else {
      try parseAbsolute(into: &index)
    }
  }

  /// `http://authority/path?query` or, where there is TLS, `https:` (RFC 9110 §4.2); no other scheme is served.
  private func parseAbsolute(into index: inout HeadIndex) throws(HTTPParseError) {
    let target = head[range]
    let schemeEnd = range.lowerBound + (target.firstIndex(of: ASCII.colon) ?? 0)
    let scheme = head[range.lowerBound..<schemeEnd]
    let authorityStart = schemeEnd + 3
    let isSecured = scheme.equalsIgnoringCase("https")
    guard isSecured || scheme.equalsIgnoringCase("http"),
      authorityStart < range.upperBound, head[schemeEnd..<authorityStart].equals("://")
    else { throw .malformedTarget }
    guard index.isSecured || !isSecured else { throw .securedTarget }
    var end = authorityStart
    while end < range.upperBound, head.byte(at: end) != ASCII.slash, head.byte(at: end) != ASCII.question { end += 1 }
    index.form = .absolute
    set(try authority(authorityStart..<end), at: authorityStart, in: &index)

    if end < range.upperBound, head.byte(at: end) == ASCII.slash {
      try parsePath(from: end, into: &index)
    } else {
      if end == range.upperBound, index.method == .options {
        // RFC 9112 §3.2.4: the form in which `OPTIONS *` passes through proxies.
        index.form = .asterisk
        return
      }
      // An empty path means `/` (RFC 9110 §4.2.3); the one before the authority is used for it.
      index.path = HeadRange(authorityStart - 1, authorityStart)
      try parseQuery(from: end, into: &index)
    }
  }

  private func authority(_ range: Range<Int>) throws(HTTPParseError) -> Authority {
    guard let authority = Authority(head[range]) else { throw .malformedTarget }
    return authority
  }

  private func set(_ authority: Authority, at start: Int, in index: inout HeadIndex) {
    index.host = HeadRange(start, start + authority.host.count)
    index.port = authority.port
  }

  private func parsePath(from start: Int, into index: inout HeadIndex) throws(HTTPParseError) {
    var offset = start
    while true {
      // The space after the target stops the search at the latest.
      offset = head.pathEnd(from: offset)
      guard offset < range.upperBound, head.byte(at: offset) == ASCII.percent else { break }
      try checkEncodedByte(at: offset)
      offset += 3
    }
    index.path = HeadRange(start, offset)
    try parseQuery(from: offset, into: &index)
  }

  private func parseQuery(from start: Int, into index: inout HeadIndex) throws(HTTPParseError) {
    guard start < range.upperBound else { return }
    guard head.byte(at: start) == ASCII.question else { throw .malformedTarget }
    var offset = start + 1
    while true {
      while offset < range.upperBound, ByteSet.query.contains(head.byte(at: offset)) { offset += 1 }
      guard offset < range.upperBound else { break }
      guard head.byte(at: offset) == ASCII.percent else { throw .malformedTarget }
      try checkEncodedByte(at: offset)
      offset += 3
    }
    index.query = HeadRange(start + 1, offset)
  }

  private func checkEncodedByte(at offset: Int) throws(HTTPParseError) {
    guard offset + 3 <= range.upperBound, PercentEncoding.byte(at: offset, in: head) != nil else {
      throw .malformedPercentEncoding
    }
  }
}
