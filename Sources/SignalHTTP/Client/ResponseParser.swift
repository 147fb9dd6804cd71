// SPDX-License-Identifier: MIT

/// A response as the client sees it.
package struct HTTPClientResponse: Equatable, Sendable {
  /// The status of the final response, or 101.
  package var status: Int
  /// The reason phrase after the status.
  package var reason: String
  /// The field lines in their order.
  package var fields: [Field] = []
  /// The content, without its framing.
  package var body: [UInt8] = []
  /// Statuses of the 1xx responses that came before.
  package var interim: [Int] = []

  /// A response without fields and content.
  package init(status: Int, reason: String) {
    self.status = status
    self.reason = reason
  }

  /// One field line.
  package struct Field: Equatable, Sendable {
    /// The name as it was sent.
    package let name: String
    /// The value without white space around it.
    package let value: String
  }

  /// The values of all lines of a name, ignoring case.
  package func values(_ name: String) -> [String] {
    fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
  }

  /// The value of a field that appears once; nil when it does not, or more than once.
  package func value(_ name: String) -> String? {
    let all = values(name)
    return all.count == 1 ? all[0] : nil
  }

  /// The content as text; what is not UTF-8 becomes U+FFFD.
  package var text: String { String(decoding: body, as: UTF8.self) }
}

/// Finds responses in received bytes (RFC 9112 §4–§7, a client's part), however they are split.
///
/// It is strict where a lenient client would hide a server's fault: two framings at once, a bare line feed, a folded
/// line or a length that is not a number are errors.
package struct ResponseParser {
  private enum Framing {
    case none
    case length(Int)
    case chunked(ChunkedBodyParser)
    case untilEnd
  }

  /// Bytes of a head at most.
  private static let headLimit = 64 << 10

  private var input: [UInt8] = []
  private var position = 0
  /// No end of a head begins before this offset.
  private var searched = 0
  private var framing = Framing.none
  /// Whether the connection can be used for another request after this response.
  package private(set) var keepsAlive = true

  /// At the beginning of a connection.
  package init() {}

  /// Adds what has been received.
  package mutating func receive(_ bytes: [UInt8]) {
    if position == input.count {
      input = bytes
      searched = position
    } else {
      input.removeFirst(position)
      input += bytes
    }
    searched = max(0, searched - position)
    position = 0
  }

  /// Bytes after the response, which belong to what comes next.
  package mutating func takeRest() -> [UInt8] {
    defer {
      input = []
      position = 0
    }
    return Array(input[position...])
  }

  // MARK: Head

  /// Takes a head; nil when it is incomplete.
  ///
  /// `method` is that of the request, which decides whether there is a body.
  package mutating func takeHead(answering method: String) throws(ClientError) -> HTTPClientResponse? {
    guard let end = endOfHead() else {
      guard input.count - position <= Self.headLimit else { throw .responseTooLarge }
      return nil
    }
    let lines = try Self.lines(input[position..<end])
    position = end + 4
    guard let statusLine = lines.first, var response = Self.status(statusLine.utf8) else { throw .malformedResponse }
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: ":") else { throw .malformedResponse }
      let name = line[..<colon]
      guard HandshakeFields.isToken(Array(name.utf8)[...]) else { throw .malformedResponse }
      let value = HandshakeFields.trimmed(Array(line[line.index(after: colon)...].utf8)[...])
      response.fields.append(.init(name: String(name), value: String(decoding: value, as: UTF8.self)))
    }
    try chooseFraming(response, method, isVersion1_1: statusLine.hasPrefix("HTTP/1.1"))
    return response
  }

  /// The offset of the empty line's CRLF CRLF.
  private mutating func endOfHead() -> Int? {
    var index = max(position, searched)
    defer { searched = index }
    while index + 4 <= input.count {
      if input[index] == 0x0D, input[index + 1] == 0x0A, input[index + 2] == 0x0D, input[index + 3] == 0x0A {
        return index
      }
      index += 1
    }
    return nil
  }

  private static func lines(_ head: ArraySlice<UInt8>) throws(ClientError) -> [String] {
    var lines: [String] = []
    var line: [UInt8] = []
    var index = head.startIndex
    while index < head.endIndex {
      if head[index] == 0x0D, index + 1 < head.endIndex, head[index + 1] == 0x0A {
        lines.append(String(decoding: line, as: UTF8.self))
        line = []
        index += 2
      } else {
        guard head[index] >= 0x20 || head[index] == 0x09, head[index] != 0x7F else { throw .malformedResponse }
        line.append(head[index])
        index += 1
      }
    }
    return lines + [String(decoding: line, as: UTF8.self)]
  }

  /// `HTTP/1.1 200 OK`: the version, three digits, a space, any words.
  private static func status(_ line: String.UTF8View) -> HTTPClientResponse? {
    let bytes = Array(line)
    guard bytes.count >= 13, bytes[8] == 0x20, bytes[12] == 0x20 else { return nil }
    let version = String(decoding: bytes[..<8], as: UTF8.self)
    guard version == "HTTP/1.1" || version == "HTTP/1.0" else { return nil }
    guard let status = number(bytes[9..<12]), status >= 100 else { return nil }
    return HTTPClientResponse(status: status, reason: String(decoding: bytes[13...], as: UTF8.self))
  }

  /// A number that consists only of digits, at most 18 of them.
  private static func number(_ digits: some Collection<UInt8>) -> Int? {
    guard !digits.isEmpty, digits.count <= 18 else { return nil }
    var value = 0
    for digit in digits {
      guard digit >= 0x30, digit <= 0x39 else { return nil }
      value = value * 10 + Int(digit - 0x30)
    }
    return value
  }

  /// RFC 9112 §6.3.
  private mutating func chooseFraming(
    _ response: HTTPClientResponse, _ method: String, isVersion1_1: Bool
  ) throws(ClientError) {
    let connection = response.values("Connection").map { Array($0.utf8) }
    keepsAlive = isVersion1_1 && !HandshakeFields.list(connection, has: "close")
    let codings = response.values("Transfer-Encoding")
    let lengths = response.values("Content-Length")
    guard codings.isEmpty || lengths.isEmpty else { throw .malformedResponse }
    let length = try lengths.first.map { text throws(ClientError) in
      guard let length = Self.number(text.utf8), lengths.allSatisfy({ $0 == text }) else { throw .malformedResponse }
      return length
    }
    if method == "HEAD" || response.status < 200 || response.status == 204 || response.status == 304 {
      framing = .none
    } else if let coding = codings.first {
      guard codings.count == 1, coding.lowercased() == "chunked" else { throw .malformedResponse }
      framing = .chunked(ChunkedBodyParser())
    } else if let length {
      framing = .length(length)
    } else {
      framing = .untilEnd
      keepsAlive = false
    }
  }

  // MARK: Body

  /// Appends the available part of the body, and returns whether it was the last.
  ///
  /// - Parameters:
  ///   - limit: bytes of the body at most, `body` included.
  ///   - isEnded: the server has ended the connection.
  package mutating func takeBody(into body: inout [UInt8], limit: Int, isEnded: Bool) throws(ClientError) -> Bool {
    switch framing {
    case .none: return true
    case .length(let length):
      guard length <= limit - body.count else { throw .responseTooLarge }
      let count = min(length, input.count - position)
      body += input[position..<(position + count)]
      position += count
      framing = .length(length - count)
      if count == length { return true }
    case .chunked(var chunks):
      var limits = HTTPLimits()
      limits.bodyBytes = .max
      let before = body.count
      let outcome: (consumed: Int, isComplete: Bool)
      do throws(HTTPParseError) {
        outcome = try Array(input[position...]).withView { view throws(HTTPParseError) in
          try chunks.parse(view, into: &body, limits: limits)
        }
      } catch {
        throw .malformedResponse
      }
      guard body.count <= max(limit, before) else { throw .responseTooLarge }
      position += outcome.consumed
      framing = .chunked(chunks)
      if outcome.isComplete { return true }
    case .untilEnd:
      guard input.count - position <= limit - body.count else { throw .responseTooLarge }
      body += input[position...]
      position = input.count
      if isEnded { return true }
    }
    if isEnded { throw .closed }
    return false
  }
}
