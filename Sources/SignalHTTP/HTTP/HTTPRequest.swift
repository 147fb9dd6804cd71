// SPDX-License-Identifier: MIT

/// A request with its body, which may be kept indefinitely and passed to other threads.
///
/// It owns one copy of the head's bytes and looks fields up in it: strings are created only on access. Until then
/// everything is as it was received, checked but not decoded.
public struct HTTPRequest: Sendable {
  /// The method.
  public let method: HTTPMethod
  /// The body, without its framing; empty when there is none.
  public let body: [UInt8]
  private let bytes: [UInt8]
  private let index: HeadIndex
  private let lines: [FieldLine]

  /// Copies a head out of the receive buffer.
  package init(copying head: borrowing RequestHead, body: [UInt8]) {
    method = head.method
    self.body = body
    bytes = head.bytes.array
    index = head.index
    lines = Array(head.lines[..<head.fieldCount])
  }

  /// Calls `read` with the head in its borrowed form, valid during the call.
  package func withHead<Result, Failure>(
    _ read: (borrowing RequestHead) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try bytes.withView { (view) throws(Failure) in
      try read(RequestHead(bytes: view, index: index, lines: lines))
    }
  }

  /// Approximate memory in bytes.
  var heldBytes: Int { bytes.count + body.count + lines.count * MemoryLayout<FieldLine>.stride }

  private func text(_ range: HeadRange) -> String { String(decoding: bytes[range.range], as: UTF8.self) }

  /// The target as it came, for example `/a%20b?c=d`.
  public var target: String { text(index.target) }

  /// The path as it came, percent-encoded, beginning with `/`; empty for `OPTIONS *` and for CONNECT.
  public var path: String { text(index.path) }

  /// The path with its percent-encoding resolved.
  ///
  /// An encoded slash becomes an ordinary slash; split `path` first where that makes a difference. It may contain control
  /// characters, such as those of `%00` and `%0D%0A`.
  ///
  /// - Throws: `HTTPParseError.malformedUTF8` when the result would not be UTF-8.
  public var decodedPath: String {
    get throws(HTTPParseError) {
      try withHead { (head) throws(HTTPParseError) in try PercentEncoding.string(head.path) }
    }
  }

  /// The query as it came, without its question mark; nil when there is none.
  public var query: String? { index.query.map(text) }

  /// The form-decoded names and values of the query, in order (`+` is a space; a name without `=` has an empty value).
  ///
  /// - Throws: `HTTPParseError.malformedUTF8` when a name or a value is not UTF-8.
  public func queryItems() throws(HTTPParseError) -> [(name: String, value: String)] {
    try withHead { (head) throws(HTTPParseError) in
      var items: [(name: String, value: String)] = []
      guard let query = head.query else { return items }
      for item in FormItems(query) { items.append((try item.name, try item.value)) }
      return items
    }
  }

  /// The form-decoded value of the first query item of this name; nil when there is none.
  ///
  /// - Throws: `HTTPParseError.malformedUTF8` when the value is not UTF-8.
  public func queryValue(_ name: String) throws(HTTPParseError) -> String? {
    try withHead { (head) throws(HTTPParseError) in
      guard let query = head.query else { return nil }
      for item in FormItems(query) where item.isNamed(name) { return try item.value }
      return nil
    }
  }

  /// The host that the request is for, with its port if one was given; empty only in HTTP/1.0.
  public var authority: String {
    let host = text(index.host)
    return index.port.map { "\(host):\($0)" } ?? host
  }

  /// 0 or 1: the minor version of HTTP/1.
  public var minorVersion: Int { Int(index.minorVersion) }

  /// The values of all lines of a field, joined by `, ` as RFC 9110 §5.2 combines them; nil when there are none.
  ///
  /// Bytes that are not UTF-8 become U+FFFD. Cost: one comparison per line.
  public subscript(field: HTTPFieldName) -> String? {
    withHead { head in
      Array(field.name.utf8).withView { name in
        var combined: String?
        for position in 0..<head.fieldCount {
          let (lineName, value) = head.field(at: position)
          guard lineName.equalsIgnoringCase(name) else { continue }
          combined = combined.map { $0 + ", " + value.string } ?? value.string
        }
        return combined
      }
    }
  }

  /// Whether the client asks to make the connection a WebSocket (RFC 6455 §4.1); whether rightly, is found out when it
  /// is.
  public var asksForWebSocket: Bool {
    withHead { head in
      var isAsked = false
      head.forEachElement(of: .upgrade) { if $0.equalsIgnoringCase("websocket") { isAsked = true } }
      return head.wantsUpgrade && isAsked
    }
  }

  /// All field lines, in order, as strings.
  public var fields: HTTPFields {
    withHead { head in
      var fields = HTTPFields()
      for position in 0..<head.fieldCount {
        let (name, value) = head.field(at: position)
        fields.append(parsed: name.string, value.string)
      }
      return fields
    }
  }
}
