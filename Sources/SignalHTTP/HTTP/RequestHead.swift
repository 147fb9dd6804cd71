// SPDX-License-Identifier: MIT

/// The head of a request, parsed in place: a view of the receive buffer with the offsets of its parts.
///
/// It is passed as `borrowing` and valid only during the call it was passed to; it cannot be copied, so that it cannot
/// be kept by mistake. Code that needs the request for longer creates an `HTTPRequest` from it.
package struct RequestHead: ~Copyable {
  /// The bytes of the head, with the empty line at its end.
  package let bytes: ByteView
  let index: HeadIndex
  /// The parser's table; `index.fieldCount` lines of it are this head's.
  let lines: [FieldLine]

  @inline(__always)
  init(bytes: ByteView, index: HeadIndex, lines: [FieldLine]) {
    self.bytes = bytes
    self.index = index
    self.lines = lines
  }

  // MARK: Request line

  /// The registered method; nil for any other token.
  package var knownMethod: HTTPMethod.Known? { index.method }

  /// The method.
  ///
  /// Making one of an unregistered name may allocate.
  package var method: HTTPMethod {
    if let known = index.method { HTTPMethod(known) } else { HTTPMethod(token: bytes[index.methodName.range]) }
  }

  /// The target as it came.
  package var target: ByteView { bytes[index.target.range] }
  package var targetForm: TargetForm { index.form }
  /// The path, percent-encoded, beginning with `/`; empty for the authority and asterisk forms.
  package var path: ByteView { bytes[index.path.range] }
  /// The query, encoded, without its question mark; nil when there is none.
  package var query: ByteView? { index.query.map { bytes[$0.range] } }
  /// The host that the request is for, from the target or else from `Host`; empty only in HTTP/1.0.
  package var host: ByteView { bytes[index.host.range] }
  /// The port of the host; nil when it is the scheme's default.
  package var port: UInt16? { index.port }
  /// 0 or 1.
  package var minorVersion: UInt8 { index.minorVersion }

  // MARK: Framing and connection

  /// Where the body ends.
  package var framing: BodyFraming { index.framing }
  /// Whether the connection stays open after the response (RFC 9112 §9.3).
  package var keepsAlive: Bool {
    !index.options.contains(.close) && (index.minorVersion > 0 || index.options.contains(.keepAlive))
  }
  /// Whether the client waits for 100 (Continue) before it sends the body.
  package var expectsContinue: Bool { index.expectsContinue }
  /// Whether the client asks to change the protocol (RFC 9110 §7.8); the new protocol is in `.upgrade`.
  package var wantsUpgrade: Bool {
    index.minorVersion > 0 && index.options.contains(.upgrade) && has(.upgrade)
  }

  // MARK: Fields

  package func has(_ field: KnownField) -> Bool { index.present & field.bit != 0 }

  /// Whether there are fields in which a proxy names its client.
  var namesClient: Bool {
    index.present & (KnownField.forwarded.bit | KnownField.xForwardedFor.bit | KnownField.xForwardedProto.bit) != 0
  }

  /// The value of the first line of a field, without white space around it; nil when there is none.
  package subscript(field: KnownField) -> ByteView? {
    guard has(field) else { return nil }
    for position in 0..<index.fieldCount where lines[position].known == field {
      return bytes[lines[position].value.range]
    }
    return nil
  }

  /// The value of a field that may occur only once; nil when there is none.
  ///
  /// - Throws: `HTTPParseError.repeatedField` when it occurs more often: which of them counts would be a guess.
  package func single(_ field: KnownField) throws(HTTPParseError) -> ByteView? {
    guard index.repeated & field.bit == 0 else { throw .repeatedField }
    return self[field]
  }

  /// Calls `body` with the elements of a list field, over all its lines, in order (RFC 9110 §5.6.1).
  package func forEachElement<Failure>(
    of field: KnownField, _ body: (ByteView) throws(Failure) -> Void
  ) throws(Failure) {
    guard has(field) else { return }
    for position in 0..<index.fieldCount where lines[position].known == field {
      for element in FieldList(bytes[lines[position].value.range]) { try body(element) }
    }
  }

  /// The number of field lines.
  package var fieldCount: Int { index.fieldCount }

  /// Name and value of one line, by its position in the head.
  package func field(at position: Int) -> (name: ByteView, value: ByteView) {
    precondition(position < index.fieldCount, "no such field line")
    return (bytes[lines[position].name.range], bytes[lines[position].value.range])
  }
}
