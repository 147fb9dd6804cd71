// SPDX-License-Identifier: MIT

/// Waits for the header of the PROXY protocol on an accepted socket, and takes it off; what follows, TLS or a request, is
/// left for the connection that the socket then becomes.
///
/// The header is looked at in the socket's own buffer until it has come as a whole. So nothing behind it has to be handed
/// on, and a connection knows its client from the beginning.
final class ProxyHeaderReader: LoopMember {
  let descriptor: Int32
  private var socket: SocketHandle?
  private let timeout: Duration
  private let peer: Peer
  private let acceptor: Acceptor
  private let entrance: Acceptor.Entrance
  private let admission: Acceptor.Admission
  private var id = ConnectionID.none

  var isNew: Bool { true }
  var blockedTime: UInt64? { nil }
  var backlog: Int { 0 }

  /// Registers the socket, which goes back to the acceptor behind its header; without one the socket is closed, and the
  /// acceptor is told why.
  ///
  /// - Parameters:
  ///   - peer: The proxy.
  ///   - timeout: The time that the header has from now on.
  static func begin(
    _ socket: consuming SocketHandle, of peer: Peer, timeout: Duration, for acceptor: Acceptor,
    _ entrance: Acceptor.Entrance, _ admission: Acceptor.Admission, on loop: isolated EventLoop
  ) throws(SystemError) {
    let reader = ProxyHeaderReader(socket, peer, timeout, acceptor, entrance, admission)
    reader.id = try loop.add(reader)
    loop.setDeadline(loop.now + timeout.nanosecondsClamped, of: reader.id)
  }

  private init(
    _ socket: consuming SocketHandle, _ peer: Peer, _ timeout: Duration, _ acceptor: Acceptor,
    _ entrance: Acceptor.Entrance, _ admission: Acceptor.Admission
  ) {
    descriptor = socket.descriptor
    self.socket = consume socket
    self.timeout = timeout
    self.peer = peer
    self.acceptor = acceptor
    self.entrance = entrance
    self.admission = admission
  }

  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop) {
    guard event.isReadable else { return }
    do throws(ProxyHeaderError) {
      guard let header = try header(loop.receiveBuffer) else {
        if event.isEnding {
          end(.proxyProtocol("the proxy has ended the connection before its header"), on: loop)
        }
        return
      }
      // Unregistered first: the connection registers it anew, and what is behind the header is reported again.
      loop.remove(id)
      let taken = unsafe UnsafeMutableRawBufferPointer(rebasing: loop.receiveBuffer.bytes[..<header.length])
      guard let socket = socket.take(), unsafe socket.receive(into: taken) == .bytes(header.length) else {
        return acceptor.refuse(peer, because: .proxyProtocol("the connection broke"), admission, on: loop)
      }
      acceptor.serve(socket, of: peer.relayed(from: header.source), entrance, admission, on: loop)
    } catch {
      end(.proxyProtocol(error.description), on: loop)
    }
  }

  /// Looks at what has arrived; nil when the header is not complete.
  private func header(_ buffer: RawBuffer) throws(ProxyHeaderError) -> ProxyHeader? {
    let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.bytes[..<ProxyHeader.mostBytes])
    guard let count = unsafe socket?.peek(into: room) else { return nil }
    // The buffer is neither moved nor modified during the call.
    return try unsafe ProxyHeader.parse(ByteView(UnsafeRawBufferPointer(rebasing: room[..<count])))
  }

  func deadlineReached(on loop: isolated EventLoop) {
    end(.proxyProtocol("no complete header of the PROXY protocol within \(timeout)"), on: loop)
  }

  func proceed(on loop: isolated EventLoop) {}
  func flush(on loop: isolated EventLoop) {}
  func drain(on loop: isolated EventLoop) { end(.draining, on: loop) }
  func abort(on loop: isolated EventLoop) { end(.draining, on: loop) }

  private func end(_ reason: ConnectionRefusal, on loop: isolated EventLoop) {
    guard socket != nil else { return }
    loop.remove(id)
    socket = nil
    acceptor.refuse(peer, because: reason, admission, on: loop)
  }
}
