// SPDX-License-Identifier: MIT
import Dispatch

/// How a ``WebSocketLink`` ended.
package enum WebSocketLinkEnd: Sendable {
  /// No connection was made, or it broke.
  case broken(ClientError)
  /// The upgrade was answered with an ordinary response.
  case refused(HTTPClientResponse)
  /// The server closed, with a code and a reason if it sent them.
  case closed(CloseFrame)
  /// The server violated RFC 6455 or sent more than is taken.
  case failed(WebSocketError)
}

/// The owner of a ``WebSocketLink``; called on its loop.
package protocol WebSocketLinkOwner: AnyObject, Sendable {
  /// The WebSocket is open.
  func opened(_ link: WebSocketLink, on loop: isolated EventLoop)
  /// A text message came.
  func received(_ message: [UInt8], over link: WebSocketLink, on loop: isolated EventLoop)
  /// Called once, and last; not after ``WebSocketLink/leave(on:)``.
  func ended(_ link: WebSocketLink, _ end: WebSocketLinkEnd, on loop: isolated EventLoop)
}

/// A client's WebSocket on an event loop: nothing on the loop waits for it.
///
///     connecting ── 101 ──▶ open ── close, or the server's close ──▶ ended
///         └── refused, broken ─────────────────────────────────────▶ ended
///
/// It has no notion of time but while it connects and closes; silence is up to its owner.
///
// Unchecked: only its loop touches it, which the compiler checks by the parameter `loop`; it crosses threads once, with
// the socket that has been connected elsewhere.
package final class WebSocketLink: @unchecked Sendable {
  /// How long the server may take to answer our close, and to take what is still to be sent.
  package static let closeTimeout = Duration.seconds(1)
  /// Bytes of a refusal at most.
  fileprivate static let refusalBytes = 64 << 10
  /// Bytes that may wait for the server to take them before its messages are no longer read.
  private static let highWaterMark = 64 << 20

  private enum Stage { case connecting, handshake, open, closing, ended }

  private weak var owner: (any WebSocketLinkOwner)?
  private let endpoint: Endpoint
  private let target: String
  private let subprotocol: String
  private let key = WebSocketHandshake.makeKey()
  private var stage = Stage.connecting
  private var connection: Connection?
  private var response = ResponseParser()
  private var refusal: HTTPClientResponse?
  private var machine: WebSocketMachine
  /// Called when the other thread is done; nil when nobody waits for it.
  private var whenConnected: ((isolated EventLoop) -> Void)?
  /// Frames that are sent together by ``flush(on:)``.
  private var frames: [UInt8] = []

  private init(
    _ owner: any WebSocketLinkOwner, _ endpoint: Endpoint, _ target: String, _ subprotocol: String,
    messageBytes: Int
  ) {
    self.owner = owner
    self.endpoint = endpoint
    self.target = target
    self.subprotocol = subprotocol
    var limits = WebSocketLimits()
    limits.messageBytes = messageBytes
    machine = WebSocketMachine(role: .client, limits: limits, acceptsBinary: false)
  }

  /// Begins to connect, on another thread, because a name has to be resolved and TLS agreed on.
  ///
  /// - Parameters:
  ///   - target: the path and query, already percent-encoded.
  ///   - tls: the trusted authorities; the system's unless given.
  ///   - messageBytes: a longer message ends the connection.
  ///   - timeout: for the connection and TLS; the owner bounds what follows.
  package static func connect(
    to endpoint: Endpoint, target: String, subprotocol: String, tls: TLSContext?, messageBytes: Int,
    timeout: Duration, owner: any WebSocketLinkOwner, on loop: isolated EventLoop
  ) -> WebSocketLink {
    let link = WebSocketLink(owner, endpoint, target, subprotocol, messageBytes: messageBytes)
    let home = loop
    DispatchQueue.global().async {
      let outcome: Result<ConnectedSocket, ClientError>
      do throws(ClientError) {
        outcome = .success(try BlockingSocket.open(endpoint, tls, Deadline(after: timeout)).release())
      } catch {
        outcome = .failure(error)
      }
      home.submit { loop in link.connected(outcome, on: loop) }
    }
    return link
  }

  /// Calls `body` when no other thread works for the link any more; at once if none does.
  package func afterConnecting(on loop: isolated EventLoop, _ body: @escaping (isolated EventLoop) -> Void) {
    if stage == .connecting { whenConnected = body } else { body(loop) }
  }

  private func connected(_ outcome: Result<ConnectedSocket, ClientError>, on loop: isolated EventLoop) {
    adopt(outcome, on: loop)
    whenConnected?(loop)
    whenConnected = nil
  }

  private func adopt(_ outcome: Result<ConnectedSocket, ClientError>, on loop: isolated EventLoop) {
    switch outcome {
    case .failure(let error): end(.broken(error), on: loop)
    case .success(let socket):
      let transport = Transport(socket, loop.sealedBuffers)
      // Left meanwhile: the socket closes here.
      guard let owner else { return end(.broken(.closed), on: loop) }
      var limits = Limits()
      limits.highWaterMark = Self.highWaterMark
      limits.sendTimeout = .seconds(60)
      let connections = LoopConnections(limits: limits)
      connections.count.add()
      stage = .handshake
      do throws(SystemError) {
        connection = try Connection.adopt(
          transport, of: .ofOutgoing, session: LinkSession(self), connections: connections, on: loop)
      } catch {
        return end(.broken(.broken(code: error.code)), on: loop)
      }
      var request: [UInt8] = []
      WebSocketHandshake.appendRequest(
        host: endpoint.authority, target: target, key: key, subprotocols: [subprotocol], fields: [], to: &request)
      connection?.send(request, on: loop)
      withExtendedLifetime(owner) {}
    }
  }

  // MARK: Sending

  /// Adds a text message, for ``flush(on:)``; nothing happens when closing has begun.
  package func send(_ message: Span<UInt8>, on loop: isolated EventLoop) {
    _ = machine.send(.text, message, to: &frames)
  }

  /// Sends what has been added, at the end of the turn.
  package func flush(on loop: isolated EventLoop) {
    guard !frames.isEmpty else { return }
    var block: [UInt8] = []
    swap(&block, &frames)
    connection?.send(block, on: loop)
  }

  /// Closes, without waiting: its owner is not called any more, and a server that does not answer is dropped soon.
  package func leave(_ code: CloseCode = .normal, on loop: isolated EventLoop) {
    owner = nil
    switch stage {
    case .open:
      stage = .closing
      machine.close(code, to: &frames)
      flush(on: loop)
      connection?.setDeadline(after: Self.closeTimeout, on: loop)
    case .handshake: connection?.abort(on: loop)
    case .connecting, .closing, .ended: break
    }
  }

  // MARK: Receiving

  fileprivate func receive(_ bytes: inout MutableSpan<UInt8>, on loop: isolated EventLoop) {
    guard stage == .handshake else { return take(&bytes, on: loop) }
    // The pointer is used only for the copy.
    response.receive(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) })
    do throws(ClientError) {
      guard try takeHead(isEnded: false, on: loop) else { return }
    } catch {
      return end(.broken(error), on: loop)
    }
    var rest = response.takeRest()
    var span = rest.mutableSpan
    take(&span, on: loop)
  }

  /// Takes the server's answer to the handshake; whether the WebSocket is open.
  private func takeHead(isEnded: Bool, on loop: isolated EventLoop) throws(ClientError) -> Bool {
    if refusal == nil {
      guard let head = try response.takeHead(answering: "GET") else { return false }
      guard head.status == 101 else {
        refusal = head
        return try takeHead(isEnded: isEnded, on: loop)
      }
      func values(_ name: String) -> [[UInt8]] { head.values(name).map { Array($0.utf8) } }
      guard
        WebSocketHandshake.accepts(
          upgrade: values("Upgrade"), connection: values("Connection"), accept: values("Sec-WebSocket-Accept"),
          protocols: values("Sec-WebSocket-Protocol"), extensions: values("Sec-WebSocket-Extensions"), key: key,
          offered: [subprotocol])
      else { throw .handshakeFailed }
      stage = .open
      owner?.opened(self, on: loop)
      return true
    }
    guard var answer = refusal else { return false }
    let isWhole = try response.takeBody(into: &answer.body, limit: Self.refusalBytes, isEnded: isEnded)
    refusal = answer
    if isWhole { end(.refused(answer), on: loop) }
    return false
  }

  private func take(_ bytes: inout MutableSpan<UInt8>, on loop: isolated EventLoop) {
    var position = 0
    while stage == .open || stage == .closing {
      let event = machine.next(in: &bytes, at: &position, replies: &frames)
      switch event {
      case .needMore: return flush(on: loop)
      case .message(let message):
        // The pointer is used only for the copy.
        let text = message.payload.withBytes(in: bytes) { bytes in
          unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
        }
        owner?.received(text, over: self, on: loop)
      case .pong, .replied: break
      case .end(let end):
        flush(on: loop)
        switch end {
        case .closedByPeer(let frame), .closedByUs(let frame): self.end(.closed(frame), on: loop)
        case .failed(let error): self.end(.failed(error), on: loop)
        }
      }
    }
  }

  // MARK: End

  fileprivate func peerEnded(on loop: isolated EventLoop) {
    // A refusal without a length lasts to the end of the connection.
    if stage == .handshake, refusal != nil { _ = try? takeHead(isEnded: true, on: loop) }
    end(.broken(.closed), on: loop)
  }

  fileprivate func end(_ end: WebSocketLinkEnd, on loop: isolated EventLoop) {
    guard stage != .ended else { return }
    stage = .ended
    let owner = self.owner
    self.owner = nil
    // A close frame of ours may still have to be sent.
    if case .broken = end { connection?.abort(on: loop) } else { connection?.close(on: loop) }
    connection = nil
    owner?.ended(self, end, on: loop)
  }
}

/// What the connection of a ``WebSocketLink`` speaks.
private final class LinkSession: Session {
  private let link: WebSocketLink

  init(_ link: WebSocketLink) { self.link = link }

  var takesInput: Bool { true }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    let count = bytes.count
    link.receive(&bytes, on: loop)
    return Intake(consumed: count, isHeldBack: false)
  }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { link.peerEnded(on: loop) }
  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) { link.end(.broken(.timedOut), on: loop) }
  func drain(_ connection: Connection, on loop: isolated EventLoop) { link.leave(on: loop) }
  func closed(on loop: isolated EventLoop) { link.end(.broken(.closed), on: loop) }
}

extension EventLoop {
  /// How often the deadlines of a client's loop are checked.
  private static let clientSweepMilliseconds = 500

  /// Creates the loop of a client; it runs until ``endClient()``.
  package static func forClient(label: String) throws(SystemError) -> EventLoop {
    try EventLoop(label: label, sweepMilliseconds: clientSweepMilliseconds)
  }

  /// Lets the links that were left finish, then stops.
  package func endClient() {
    drain(within: WebSocketLink.closeTimeout) { self.submit { $0.stop() } }
  }
}
