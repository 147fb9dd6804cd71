// SPDX-License-Identifier: MIT

/// How the end of a response's body is found (RFC 9112 §6).
package enum ResponseBody: Equatable, Sendable {
  /// That many bytes follow; also for the response to HEAD, which states the size and sends nothing.
  case sized(Int)
  /// Chunks follow; only to a client of HTTP/1.1.
  case chunked
  /// The body ends with the connection.
  case untilClose
}

/// What the response says about the connection (RFC 9112 §9.3).
package enum Persistence: Equatable, Sendable {
  /// It stays open, which is the default in HTTP/1.1: nothing is written.
  case implied
  /// It stays open, which has to be stated to a client of HTTP/1.0.
  case announced
  /// It ends after this response.
  case closes
  /// Nothing is written: the fields of an upgrade state it themselves.
  case upgrades
}

/// Appends the head of a response to a connection's output: status line, date, fields, framing, empty line.
///
///     let head = ResponseHeadWriter(.ok, date: &date, second: now, to: &output)
///     head.field("Content-Type", "application/json", to: &output)
///     head.end(.sized(body.count), .implied, to: &output)
///     output.append(contentsOf: body)
///
/// It writes `Date`, `Connection`, `Content-Length` and `Transfer-Encoding` itself, depending on the status and on the
/// arguments of `end`; no caller may. No value can end its line: a control character in one is written as a space (RFC
/// 9110 §5.5).
package struct ResponseHeadWriter {
  private let status: HTTPStatus

  /// Appends the status line and, except for 1xx, the date with the lines that follow it; `second` is the current time in seconds since 1970.
  package init(_ status: HTTPStatus, date: inout DateField, second: Int64, to output: inout [UInt8]) {
    self.status = status
    let line = ByteView.statusLine(status)
    if let line {
      output.append(line)
    } else {
      // A space follows the number even when no words do (RFC 9112 §4).
      output.append("HTTP/1.1 ")
      output.append(decimal: Int(status.code))
      output.append(" \r\n")
    }
    if !status.isInformational { date.append(to: &output, second: second) }
  }

  /// Appends one field.
  ///
  /// The name is a literal in the source, which is a token.
  package func field(_ name: StaticString, _ value: ByteView, to output: inout [UInt8]) {
    guard value.firstControl(from: 0) == value.count else {
      let text = value.map { $0 < 0x20 || $0 == 0x7F ? ASCII.space : $0 }
      return text.withView { append(name, $0, to: &output) }
    }
    append(name, value, to: &output)
  }

  private func append(_ name: StaticString, _ value: ByteView, to output: inout [UInt8]) {
    assert(ByteView(name).isToken, "a field name must be a token")
    output.append(ByteView(name), ByteView(": "), value, ByteView("\r\n"))
  }

  /// Appends one field with a constant value.
  package func field(_ name: StaticString, _ value: StaticString, to output: inout [UInt8]) {
    assert(ByteView(value).firstControl(from: 0) == value.utf8CodeUnitCount, "a value must not end its line")
    append(name, ByteView(value), to: &output)
  }

  /// Appends one field whose value is kept in an array.
  package func field(_ name: StaticString, _ value: [UInt8], to output: inout [UInt8]) {
    value.withView { field(name, $0, to: &output) }
  }

  /// Appends an application's fields, except those that this writer writes itself.
  package func fields(_ fields: HTTPFields, to output: inout [UInt8]) {
    for field in fields where !Self.isOwn(field.name) {
      output.append(contentsOf: field.name.name.utf8)
      output.append(": ")
      output.append(contentsOf: field.value.utf8)
      output.append("\r\n")
    }
  }

  /// Appends the framing that the status allows, the persistence of the connection, and the empty line.
  ///
  /// 1xx, 204 and 304 have no body, whatever `body` is: no length and no coding is written for them (RFC 9110 §8.6).
  package func end(_ body: ResponseBody, _ persistence: Persistence, to output: inout [UInt8]) {
    if !status.isBodiless {
      switch body {
      case .sized(let count):
        output.append("Content-Length: ")
        output.append(decimal: count)
        output.append("\r\n")
      case .chunked: output.append("Transfer-Encoding: chunked\r\n")
      case .untilClose: break
      }
    }
    switch persistence {
    case .implied, .upgrades: output.append("\r\n")
    case .announced: output.append("Connection: keep-alive\r\n\r\n")
    case .closes: output.append("Connection: close\r\n\r\n")
    }
  }

  private static func isOwn(_ name: HTTPFieldName) -> Bool {
    switch name {
    case "Connection", "Content-Length", "Date", "Keep-Alive", "Trailer", "Transfer-Encoding", "Upgrade": true
    default: false
    }
  }
}

extension ByteView {
  fileprivate static func statusLine(_ status: HTTPStatus) -> ByteView? {
    let line = status.statusLine
    return line.utf8CodeUnitCount == 0 ? nil : ByteView(line)
  }
}

extension Array<UInt8> {
  /// Appends the interim response that asks for the body (RFC 9110 §15.2.1).
  package mutating func appendContinue() { append("HTTP/1.1 100 Continue\r\n\r\n") }

  /// Appends `data` as one chunk (RFC 9112 §7.1).
  ///
  /// Empty data writes no chunk: an empty one would end the body.
  package mutating func appendChunk(_ data: ByteView) {
    guard data.count > 0 else { return }
    appendChunkSize(data.count)
    append(data)
    append("\r\n")
  }

  /// Appends the line before a chunk's data; the data and a CRLF must follow.
  package mutating func appendChunkSize(_ count: Int) {
    precondition(count > 0, "an empty chunk would end the body")
    var shift = (UInt.bitWidth - 1 - UInt(count).leadingZeroBitCount) & ~3
    while shift >= 0 {
      append(ByteView("0123456789abcdef")[count >> shift & 15])
      shift -= 4
    }
    append("\r\n")
  }

  /// Appends the end of a chunked body.
  package mutating func appendLastChunk() { append("0\r\n\r\n") }
}
