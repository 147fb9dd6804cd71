// SPDX-License-Identifier: MIT
import Glibc

/// What carries the bytes of a connection: a socket, with TLS on it or without.
///
/// Without TLS each call is the socket's own, behind one comparison with nil.
struct Transport: ~Copyable {
  /// What a reception needs room for.
  static let receiveBufferBytes = 128 << 10

  private let socket: SocketHandle
  private let tls: TLSChannel?

  init(_ socket: consuming SocketHandle, _ tls: TLSChannel? = nil) {
    self.socket = socket
    self.tls = tls
  }

  var descriptor: Int32 { socket.descriptor }

  /// Something has been taken to be sent that the socket has not; it goes by ``flush()``.
  var hasRest: Bool { tls?.hasRest ?? false }

  /// Bytes can be sent: there is no handshake that has to come first.
  var isEstablished: Bool { tls?.isEstablished ?? true }

  /// What a reception counts of a turn that has brought none of the application's bytes: a step of a handshake takes as long
  /// as thousands of them.
  var cost: Int { 4096 }

  func disableNagle() { socket.disableNagle() }

  /// Says the first word of a client, if there is one to be said before its request.
  func begin() -> TransferOutcome { tls?.begin(on: socket) ?? .bytes(0) }

  /// Gives socket and TLS to another owner, on another thread perhaps.
  consuming func release() -> ConnectedSocket { ConnectedSocket(descriptor: socket.release(), tls: tls) }

  /// Takes over what has been released.
  ///
  /// - Parameter buffers: Those of the thread that it is used on from now on.
  init(_ connected: ConnectedSocket, _ buffers: @autoclosure () -> TLSBuffers) {
    socket = SocketHandle(owning: connected.descriptor)
    tls = connected.tls
    if let tls { tls.buffers = buffers() }
  }

  /// Why the peer could not be understood, for a log.
  var failure: String? {
    guard let reason = tls?.reason, !reason.isEmpty else { return nil }
    return reason
  }

  /// Receives what is there; `.bytes(0)` when all that came is the transport's own.
  ///
  /// - Parameter isDrained: Set when nothing more is there for now. The end of the peer may be, all the same.
  func receive(into buffer: UnsafeMutableRawBufferPointer, isDrained: inout Bool) -> TransferOutcome {
    if let tls { return unsafe tls.receive(from: socket, into: buffer, isDrained: &isDrained) }
    let outcome = unsafe socket.receive(into: buffer)
    if case .bytes(let count) = outcome { isDrained = count < buffer.count }
    return outcome
  }

  /// Receives what nobody wants to know.
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

  /// Sends what has been taken before; `.bytes(0)` when nothing of it is left.
  func flush() -> TransferOutcome { tls?.flush(to: socket) ?? .bytes(0) }

  /// Tells the peer that nothing more will be sent; what it still sends can be received.
  func endSending() {
    tls?.end(to: socket)
    socket.endSending()
  }
}

/// A connection that has been made and that nobody owns yet.
// Handed over once, from the thread that has made it to the loop that uses it.
struct ConnectedSocket: @unchecked Sendable {
  fileprivate let descriptor: Int32
  fileprivate let tls: TLSChannel?
}
