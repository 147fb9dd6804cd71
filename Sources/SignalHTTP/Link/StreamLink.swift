// SPDX-License-Identifier: MIT
import Dispatch

/// The owner of a ``StreamLink``; called on its loop.
package protocol StreamLinkOwner: AnyObject, Sendable {
  /// Bytes can be sent.
  func opened(_ link: StreamLink, on loop: isolated EventLoop)
  /// Bytes came, of any number.
  func received(_ bytes: [UInt8], over link: StreamLink, on loop: isolated EventLoop)
  /// Called once, and last; not after ``StreamLink/leave(on:)``.
  func ended(_ link: StreamLink, _ error: ClientError, on loop: isolated EventLoop)
}

/// A client's connection on an event loop, for a protocol of its owner's: nothing on the loop waits for it.
///
///     connecting ── connected ──▶ open ── either side ends it ──▶ ended
///         └── broken ───────────────────────────────────────────▶ ended
///
/// Silence is up to its owner.
///
// Unchecked: only its loop touches it, which the compiler checks by the parameter `loop`; it crosses threads once, with
// the socket that has been connected elsewhere.
package final class StreamLink: @unchecked Sendable {
  /// Bytes that may wait for the peer to take them before it is no longer read.
  private static let highWaterMark = 64 << 20

  private weak var owner: (any StreamLinkOwner)?
  private var connection: Connection?
  private var isEnded = false
  /// Whether the server has spoken before TLS was agreed on.
  package private(set) var wasGreeted = false

  private init(_ owner: any StreamLinkOwner) { self.owner = owner }

  /// Begins to connect, on another thread, because a name has to be resolved and TLS agreed on.
  ///
  /// - Parameters:
  ///   - tls: the trusted authorities; the system's unless given.
  ///   - greeting: What the server may say in the clear before TLS; the first that is received, behind ``StreamLinkOwner``'s
  ///     `opened`.
  ///   - timeout: for the connection and TLS.
  package static func connect(
    to endpoint: Endpoint, tls: TLSContext?, greeting: PlainGreeting? = nil, timeout: Duration,
    owner: any StreamLinkOwner, on loop: isolated EventLoop
  ) -> StreamLink {
    let link = StreamLink(owner)
    let home = loop
    DispatchQueue.global().async {
      let outcome: Result<ConnectedSocket, ClientError>
      var greeting = greeting
      do throws(ClientError) {
        let deadline = Deadline(after: timeout)
        outcome = .success(try BlockingSocket.open(endpoint, tls, deadline, greeting: &greeting).release())
      } catch {
        outcome = .failure(error)
      }
      let line = greeting?.line ?? []
      home.submit { loop in link.adopt(outcome, line, on: loop) }
    }
    return link
  }

  private func adopt(
    _ outcome: Result<ConnectedSocket, ClientError>, _ greeting: [UInt8], on loop: isolated EventLoop
  ) {
    switch outcome {
    case .failure(let error): end(error, on: loop)
    case .success(let socket):
      let transport = Transport(socket, loop.sealedBuffers)
      // Left meanwhile: the socket closes here.
      guard let owner else { return end(.closed, on: loop) }
      var limits = Limits()
      limits.highWaterMark = Self.highWaterMark
      limits.sendTimeout = .seconds(10)
      let connections = LoopConnections(limits: limits)
      connections.count.add()
      do throws(SystemError) {
        connection = try Connection.adopt(
          transport, of: .ofOutgoing, session: StreamSession(self), connections: connections, on: loop)
      } catch {
        return end(.broken(code: error.code), on: loop)
      }
      wasGreeted = !greeting.isEmpty
      owner.opened(self, on: loop)
      if wasGreeted { self.owner?.received(greeting, over: self, on: loop) }
    }
  }

  /// Sends bytes at the end of the turn.
  package func send(_ bytes: [UInt8], on loop: isolated EventLoop) { connection?.send(bytes, on: loop) }

  /// Ends the connection when everything has been sent; its owner is not called any more.
  package func leave(on loop: isolated EventLoop) {
    owner = nil
    isEnded = true
    connection?.close(on: loop)
    connection = nil
  }

  /// Drops the connection; its owner is not called any more.
  package func drop(on loop: isolated EventLoop) {
    owner = nil
    isEnded = true
    connection?.abort(on: loop)
    connection = nil
  }

  fileprivate func receive(_ bytes: Span<UInt8>, on loop: isolated EventLoop) {
    // The pointer is used only for the copy.
    owner?.received(unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }, over: self, on: loop)
  }

  fileprivate func end(_ error: ClientError, on loop: isolated EventLoop) {
    guard !isEnded else { return }
    isEnded = true
    let owner = self.owner
    self.owner = nil
    connection?.abort(on: loop)
    connection = nil
    owner?.ended(self, error, on: loop)
  }
}

/// What the connection of a ``StreamLink`` speaks.
private final class StreamSession: Session {
  private let link: StreamLink

  init(_ link: StreamLink) { self.link = link }

  var takesInput: Bool { true }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake {
    let count = bytes.count
    link.receive(bytes.span, on: loop)
    return Intake(consumed: count, isHeldBack: false)
  }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { link.end(.closed, on: loop) }
  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) { link.end(.timedOut, on: loop) }
  func drain(_ connection: Connection, on loop: isolated EventLoop) { link.end(.closed, on: loop) }
  func closed(on loop: isolated EventLoop) { link.end(.closed, on: loop) }
}
