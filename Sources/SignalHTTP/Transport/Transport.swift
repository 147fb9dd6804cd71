// SPDX-License-Identifier: MIT
import CTLS
import Glibc

/// The transport of a connection: a socket, with or without TLS.
///
/// Without TLS each call costs the socket's own call and one comparison with nil.
struct Transport: ~Copyable {
  /// The size of buffer that `receive` needs.
  static let receiveBufferBytes = 128 << 10
  /// What a reception without application data counts against the turn's limit: a handshake step takes as long as
  /// thousands of bytes.
  static let handshakeCost = 4096

  private let socket: SocketHandle
  private let tls: TLSChannel?

  init(_ socket: consuming SocketHandle, _ tls: TLSChannel? = nil) {
    self.socket = socket
    self.tls = tls
  }

  var descriptor: Int32 { socket.descriptor }

  /// Whether output has been accepted that the socket has not taken; ``flush()`` sends it.
  var hasRest: Bool { tls?.hasRest ?? false }

  /// Whether bytes can be sent: no handshake has to be completed first.
  var isEstablished: Bool { tls?.isEstablished ?? true }

  /// The verified certificate of the client, once the handshake is complete; nil when it has shown none.
  var clientCertificate: ClientCertificate? { tls?.clientCertificate }

  func disableNagle() { socket.disableNagle() }

  /// Starts the handshake on a client with TLS; does nothing otherwise.
  func begin() -> TransferOutcome { tls?.begin(on: socket) ?? .bytes(0) }

  /// Hands socket and TLS to another owner, perhaps on another thread.
  consuming func release() -> ConnectedSocket { ConnectedSocket(descriptor: socket.release(), tls: tls) }

  /// Takes over a released transport.
  ///
  /// - Parameter buffers: Those of the thread that will use it.
  init(_ connected: ConnectedSocket, _ buffers: @autoclosure () -> TLSBuffers) {
    socket = SocketHandle(owning: connected.descriptor)
    tls = connected.tls
    if let tls { tls.buffers = buffers() }
  }

  /// Why TLS with the peer failed, for a log.
  var failure: String? {
    guard let reason = tls?.reason, !reason.isEmpty else { return nil }
    return reason
  }

  /// Receives what is available; `.bytes(0)` when there was no application data.
  ///
  /// - Parameters:
  ///   - most: As many bytes as are wanted; more come where they cannot be left, as under TLS.
  ///   - isDrained: Set when nothing more is available for now, except perhaps the peer's end.
  func receive(
    into buffer: UnsafeMutableRawBufferPointer, atMost most: Int = .max, isDrained: inout Bool
  ) -> TransferOutcome {
    if let tls { return unsafe tls.receive(from: socket, into: buffer, isDrained: &isDrained) }
    let wanted = min(buffer.count, most)
    let outcome = unsafe socket.receive(into: UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted]))
    if case .bytes(let count) = outcome { isDrained = count < wanted }
    return outcome
  }

  /// Receives bytes that are thrown away.
  func discard(into buffer: UnsafeMutableRawBufferPointer) -> TransferOutcome { unsafe socket.receive(into: buffer) }

  /// Sends bytes; when not all of them are taken, the socket is full.
  func send(_ bytes: UnsafeRawBufferPointer) -> TransferOutcome {
    guard let tls else { return unsafe socket.send(bytes) }
    var block = unsafe iovec(iov_base: UnsafeMutableRawPointer(mutating: bytes.baseAddress), iov_len: bytes.count)
    return unsafe withUnsafeMutablePointer(to: &block) {
      unsafe tls.send(UnsafeMutableBufferPointer(start: $0, count: 1), to: socket)
    }
  }

  /// Sends several blocks, in order.
  func send(_ blocks: UnsafeMutableBufferPointer<iovec>) -> TransferOutcome {
    if let tls { return unsafe tls.send(blocks, to: socket) }
    return unsafe socket.send(blocks)
  }

  /// Sends accepted output that is still pending; `.bytes(0)` when none is left.
  func flush() -> TransferOutcome { tls?.flush(to: socket) ?? .bytes(0) }

  /// Ends our side of the connection; what the peer still sends can be received.
  func endSending() {
    tls?.end(to: socket)
    socket.endSending()
  }
}

/// A connected socket that has no owner yet.
// Unchecked: handed over once, from the thread that connected it to the loop that uses it.
struct ConnectedSocket: @unchecked Sendable {
  fileprivate let descriptor: Int32
  fileprivate let tls: TLSChannel?
}
