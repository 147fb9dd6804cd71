// SPDX-License-Identifier: MIT

/// A WebSocket to a server, for a thread that waits for messages.
///
/// Pings are answered and the server's close is echoed while ``receive(timeout:)`` runs. It is used by one thread;
/// every call has a timeout.
package final class WebSocketClient {
  /// What a server sends.
  package enum Event: Equatable, Sendable {
    /// A text message; UTF-8.
    case text([UInt8])
    /// A binary message.
    case binary([UInt8])
    /// A pong with its payload.
    case pong([UInt8])
    /// The server's close frame, answered; nothing comes after it.
    case closed(CloseFrame)
  }

  /// A frame as received, for tests of the wire format.
  package struct Frame: Equatable, Sendable {
    /// Its opcode.
    package let opcode: Opcode
    /// FIN.
    package let isFinal: Bool
    /// Its payload.
    package let payload: [UInt8]

    /// A frame, for comparison with a received one.
    package init(opcode: Opcode, isFinal: Bool, payload: [UInt8]) {
      self.opcode = opcode
      self.isFinal = isFinal
      self.payload = payload
    }
  }

  /// The connection, for access below WebSocket.
  package let socket: BlockingSocket
  /// The server's 101.
  package let response: HTTPClientResponse
  /// The subprotocol that the server chose.
  package var subprotocol: String? { response.value("Sec-WebSocket-Protocol") }
  /// The server's close frame, once received.
  package private(set) var closeFrame: CloseFrame?

  private var machine: WebSocketMachine
  private var frames = FrameReader()
  private var input: [UInt8]
  private var position = 0

  /// Connects and asks for an upgrade.
  ///
  /// - Parameters:
  ///   - target: the path and query, already percent-encoded.
  ///   - tls: see `BlockingSocket`.
  ///   - subprotocols: offered, in order of preference.
  ///   - fields: further field lines, for example `Origin`.
  ///   - limits: of what the server may send; by default 64 MiB.
  ///   - receiveBuffer: see `BlockingSocket`.
  /// - Throws: `upgradeRefused` with the server's response when it is not 101.
  package init(
    _ endpoint: Endpoint, target: String, tls: TLSContext? = nil, subprotocols: [String] = [],
    fields: [(String, String)] = [],
    timeout: Duration = .seconds(10), limits: WebSocketLimits = WebSocketClient.largeLimits, receiveBuffer: Int32? = nil
  ) throws(ClientError) {
    let deadline = Deadline(after: timeout)
    socket = try BlockingSocket(endpoint, tls: tls, timeout: timeout, receiveBuffer: receiveBuffer)
    let http = HTTPClient(socket, authority: endpoint.authority)
    let key = WebSocketHandshake.makeKey()
    guard HTTPClient.isVisible(target), HTTPClient.isVisible(http.authority) else { throw .malformedRequest }
    guard fields.allSatisfy({ HandshakeFields.isToken(Array($0.0.utf8)[...]) && HTTPClient.isLine($0.1) }),
      subprotocols.allSatisfy({ HandshakeFields.isToken(Array($0.utf8)[...]) })
    else { throw .malformedRequest }
    var request: [UInt8] = []
    WebSocketHandshake.appendRequest(
      host: http.authority, target: target, key: key, subprotocols: subprotocols, fields: fields, to: &request)
    try socket.send(request, by: deadline)
    let response = try http.receive(by: deadline)
    guard response.status == 101 else { throw .upgradeRefused(response) }
    func values(_ name: String) -> [[UInt8]] { response.values(name).map { Array($0.utf8) } }
    guard
      WebSocketHandshake.accepts(
        upgrade: values("Upgrade"), connection: values("Connection"), accept: values("Sec-WebSocket-Accept"),
        protocols: values("Sec-WebSocket-Protocol"), extensions: values("Sec-WebSocket-Extensions"), key: key,
        offered: subprotocols)
    else { throw .handshakeFailed }
    self.response = response
    input = http.takeRest()
    machine = WebSocketMachine(role: .client, limits: limits)
  }

  /// 64 MiB for a message: a client trusts its server more than a server trusts its clients.
  package static var largeLimits: WebSocketLimits {
    var limits = WebSocketLimits()
    limits.messageBytes = 64 << 20
    return limits
  }

  // MARK: Sending

  /// Sends a text message.
  ///
  /// - Throws: `closed` when closing has begun.
  package func send(_ text: String, timeout: Duration = .seconds(10)) throws(ClientError) {
    try send(.text, Array(text.utf8), timeout: timeout)
  }

  /// Sends a message in one frame; text must be UTF-8.
  ///
  /// - Throws: `closed` when closing has begun.
  package func send(_ kind: MessageKind, _ payload: [UInt8], timeout: Duration = .seconds(10)) throws(ClientError) {
    var output: [UInt8] = []
    guard machine.send(kind, payload.span, to: &output) else { throw .closed }
    try socket.send(output, by: Deadline(after: timeout))
  }

  /// Sends a ping with at most 125 bytes.
  package func ping(_ payload: [UInt8] = [], timeout: Duration = .seconds(10)) throws(ClientError) {
    var output: [UInt8] = []
    machine.ping(payload, to: &output)
    try socket.send(output, by: Deadline(after: timeout))
  }

  /// Sends bytes as they are, whether or not they are valid frames.
  package func send(raw bytes: [UInt8], timeout: Duration = .seconds(10)) throws(ClientError) {
    try socket.send(bytes, by: Deadline(after: timeout))
  }

  /// Closes: sends a close frame and waits for the server's, and for the end of the connection.
  ///
  /// Messages that arrive meanwhile are dropped.
  package func close(
    _ code: CloseCode = .normal, reason: String = "", timeout: Duration = .seconds(10)
  ) throws(ClientError) {
    let deadline = Deadline(after: timeout)
    var output: [UInt8] = []
    machine.close(code, reason: reason, to: &output)
    try socket.send(output, by: deadline)
    while closeFrame == nil { _ = try next(by: deadline) }
    guard socket.awaitEnd(by: deadline) else { throw .timedOut }
  }

  // MARK: Receiving

  /// Waits for what the server sends next; nil on timeout, when nothing is lost.
  ///
  /// - Throws: `closed` when the connection ended without a close frame, or after one; `webSocket` when the server
  ///   violated the protocol, which has been reported to it then.
  package func receive(timeout: Duration = .seconds(10)) throws(ClientError) -> Event? {
    do {
      return try next(by: Deadline(after: timeout))
    } catch .timedOut {
      return nil
    }
  }

  private func next(by deadline: Deadline) throws(ClientError) -> Event {
    while true {
      if let event = try takeEvent(by: deadline) { return event }
      guard closeFrame == nil else { throw .closed }
      try fill(by: deadline)
    }
  }

  /// The next event in the received bytes.
  private func takeEvent(by deadline: Deadline) throws(ClientError) -> Event? {
    while true {
      var replies: [UInt8] = []
      var bytes = input.mutableSpan
      let event = machine.next(in: &bytes, at: &position, replies: &replies)
      var told: Event?
      switch event {
      case .needMore: return nil
      case .message(let message):
        let payload = message.payload.copied(from: bytes)
        told = message.kind == .text ? .text(payload) : .binary(payload)
      case .pong(let payload): told = .pong(payload.copied(from: bytes))
      case .replied: break
      case .end(.closedByPeer(let frame)), .end(.closedByUs(let frame)):
        closeFrame = frame
        told = .closed(frame)
      case .end(.failed(let error)):
        // Reports the reason to the server, if it still receives.
        try? socket.send(replies, by: deadline)
        throw .webSocket(error)
      }
      try socket.send(replies, by: deadline)
      if let told { return told }
    }
  }

  /// Waits for the next frame and returns it as it is; nothing is answered.
  ///
  /// For tests of fragments, pings and closes. A connection is read either by this or by ``receive(timeout:)``; to
  /// switch between them, all received frames must have been taken.
  package func receiveFrame(timeout: Duration = .seconds(10)) throws(ClientError) -> Frame {
    let deadline = Deadline(after: timeout)
    while true {
      do throws(WebSocketError) {
        if let frame = try frames.next(in: &input, at: &position) { return frame }
      } catch {
        throw .webSocket(error)
      }
      try fill(by: deadline)
    }
  }

  /// Whether the server ends the connection in time.
  package func awaitEnd(timeout: Duration = .seconds(10)) -> Bool { socket.awaitEnd(by: Deadline(after: timeout)) }

  private func fill(by deadline: Deadline) throws(ClientError) {
    input.removeAll(keepingCapacity: true)
    position = 0
    guard try socket.receive(into: &input, by: deadline) > 0 else { throw .closed }
  }
}

/// Joins the pieces of each frame.
private struct FrameReader {
  private var parser = FrameParser(role: .client, frameLimit: .max)
  private var payload: [UInt8] = []

  mutating func next(in input: inout [UInt8], at position: inout Int) throws(WebSocketError) -> WebSocketClient.Frame? {
    var bytes = input.mutableSpan
    while true {
      switch try parser.next(in: &bytes, at: &position) {
      case .needMore: return nil
      case .control(let opcode, let content):
        return WebSocketClient.Frame(opcode: opcode, isFinal: true, payload: content.copied(from: bytes))
      case .data(let slice):
        payload += Payload.inBuffer(slice.range).copied(from: bytes)
        guard slice.endsFrame else { continue }
        defer { payload = [] }
        return WebSocketClient.Frame(opcode: slice.opcode, isFinal: slice.isFinal, payload: payload)
      }
    }
  }
}

extension Payload {
  /// The bytes, in an array of their own.
  fileprivate func copied(from buffer: borrowing MutableSpan<UInt8>) -> [UInt8] {
    withBytes(in: buffer) { bytes in
      // The pointer is used only for the copy.
      unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
  }
}
