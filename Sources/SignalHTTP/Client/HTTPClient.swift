// SPDX-License-Identifier: MIT

/// A connection to an HTTP/1.1 server that sends a request and waits for the response, as often as the server allows.
///
/// For the command line and for tests. It is used by one thread; every call has a timeout. The steps of an exchange are
/// also available one by one: sending raw bytes, receiving a head, receiving a body piece by piece.
package final class HTTPClient {
  /// The connection, for access below HTTP.
  package let socket: BlockingSocket
  /// The value of `Host`.
  package let authority: String
  /// Whether the server will take another request on this connection.
  package private(set) var isReusable = true
  private var parser = ResponseParser()
  private var isEnded = false

  /// Connects; see `BlockingSocket`.
  package convenience init(
    _ endpoint: Endpoint, tls: TLSContext? = nil, timeout: Duration = .seconds(10)
  ) throws(ClientError) {
    self.init(try BlockingSocket(endpoint, tls: tls, timeout: timeout), authority: endpoint.authority)
  }

  /// Uses an established connection.
  package init(_ socket: BlockingSocket, authority: String) {
    self.socket = socket
    self.authority = authority
  }

  // MARK: Whole exchanges

  /// Sends a request and waits for the whole response.
  ///
  /// - Parameters:
  ///   - target: the path and query, already percent-encoded.
  ///   - fields: further field lines; `Host` and `Content-Length` are added unless they are among them.
  ///   - body: the content; nil for a request without one.
  ///   - limit: bytes of the response's body at most.
  package func request(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    timeout: Duration = .seconds(10), limit: Int = 64 << 20
  ) throws(ClientError) -> HTTPClientResponse {
    let deadline = Deadline(after: timeout)
    let bytes = try Self.bytes(method, target, fields, body, authority)
    // A server that refuses a body answers before it has read all of it, and may then reset the connection.
    var isSent = false
    var failure: ClientError?
    do throws(ClientError) {
      isSent = try socket.sendUntilAnswered(bytes, by: deadline)
    } catch {
      guard case .broken = error else { throw error }
      failure = error
    }
    do throws(ClientError) {
      let response = try receive(answering: method, by: deadline, limit: limit)
      if !isSent { isReusable = false }
      return response
    } catch {
      throw failure ?? error
    }
  }

  /// Waits for the whole response to a request that has been sent.
  package func receive(
    answering method: String = "GET", timeout: Duration = .seconds(10), limit: Int = 64 << 20
  ) throws(ClientError) -> HTTPClientResponse {
    try receive(answering: method, by: Deadline(after: timeout), limit: limit)
  }

  func receive(
    answering method: String = "GET", by deadline: Deadline, limit: Int = 64 << 20
  ) throws(ClientError) -> HTTPClientResponse {
    var response = try receiveHead(answering: method, by: deadline)
    while try !parser.takeBody(into: &response.body, limit: limit, isEnded: isEnded) { try fill(by: deadline) }
    return response
  }

  // MARK: Piece by piece

  /// Sends bytes as they are.
  package func send(_ bytes: [UInt8], timeout: Duration = .seconds(10)) throws(ClientError) {
    try socket.send(bytes, by: Deadline(after: timeout))
  }

  /// Sends a request and returns as soon as the head of the final response is complete; the body follows by
  /// ``nextPiece``.
  package func open(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: [UInt8]? = nil,
    timeout: Duration = .seconds(10)
  ) throws(ClientError) -> HTTPClientResponse {
    let deadline = Deadline(after: timeout)
    try socket.send(try Self.bytes(method, target, fields, body, authority), by: deadline)
    return try receiveHead(answering: method, by: deadline)
  }

  /// The next bytes of the body of an opened response, as they arrive; nil at its end.
  ///
  /// - Throws: `timedOut`, after which it can be called again.
  package func nextPiece(timeout: Duration = .seconds(10)) throws(ClientError) -> [UInt8]? {
    let deadline = Deadline(after: timeout)
    var piece: [UInt8] = []
    while true {
      let isLast = try parser.takeBody(into: &piece, limit: .max, isEnded: isEnded)
      if !piece.isEmpty { return piece }
      if isLast { return nil }
      try fill(by: deadline)
    }
  }

  /// Whether the server ends the connection in time.
  package func awaitEnd(timeout: Duration = .seconds(10)) -> Bool { socket.awaitEnd(by: Deadline(after: timeout)) }

  /// Bytes received after the last response.
  func takeRest() -> [UInt8] { parser.takeRest() }

  private func receiveHead(answering method: String, by deadline: Deadline) throws(ClientError) -> HTTPClientResponse {
    var interim: [Int] = []
    while true {
      guard var response = try parser.takeHead(answering: method) else {
        guard !isEnded else { throw .closed }
        try fill(by: deadline)
        continue
      }
      guard response.status >= 200 || response.status == 101 else {
        interim.append(response.status)
        continue
      }
      response.interim = interim
      isReusable = parser.keepsAlive
      return response
    }
  }

  private func fill(by deadline: Deadline) throws(ClientError) {
    var bytes: [UInt8] = []
    isEnded = try socket.receive(into: &bytes, by: deadline) == 0
    if isEnded { isReusable = false }
    parser.receive(bytes)
  }

  // MARK: Writing

  /// The bytes of a request.
  private static func bytes(
    _ method: String, _ target: String, _ fields: [(String, String)], _ body: [UInt8]?, _ authority: String
  ) throws(ClientError) -> [UInt8] {
    guard HandshakeFields.isToken(Array(method.utf8)[...]), isVisible(target), isVisible(authority) else {
      throw .malformedRequest
    }
    var lines = ["\(method) \(target) HTTP/1.1"]
    func has(_ name: String) -> Bool { fields.contains { $0.0.lowercased() == name } }
    if !has("host") { lines.append("Host: \(authority)") }
    for (name, value) in fields {
      guard HandshakeFields.isToken(Array(name.utf8)[...]), isLine(value) else { throw .malformedRequest }
      lines.append("\(name): \(value)")
    }
    if let body, !has("content-length"), !has("transfer-encoding") { lines.append("Content-Length: \(body.count)") }
    return Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8) + (body ?? [])
  }

  /// Whether a text has no space and no control character, so that it cannot end its line.
  static func isVisible(_ text: String) -> Bool { !text.isEmpty && text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F } }

  /// Whether a text can be a field's value.
  static func isLine(_ text: String) -> Bool { text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 } }
}
