// SPDX-License-Identifier: MIT
import CReadiness
import Glibc

/// The result of one receive or send call.
enum TransferOutcome: Equatable {
  /// That many bytes were transferred; at least one.
  case bytes(Int)
  /// Nothing now; an edge will report when it is possible again.
  case wouldBlock
  /// The peer has sent its last byte (receive only).
  case ended
  /// The socket can no longer be used.
  case failed
}

/// The one owner of a non-blocking socket's descriptor: it is closed with the handle, and only then.
struct SocketHandle: ~Copyable {
  let descriptor: Int32

  init(owning descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Passes the descriptor to another owner, who closes it.
  consuming func release() -> Int32 {
    let descriptor = descriptor
    discard self
    return descriptor
  }

  /// Opens a stream socket that does not block, of the family of an address.
  static func open(for address: SocketAddress) throws(SystemError) -> SocketHandle {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(address.family, type, 0)
    guard descriptor >= 0 else { throw SystemError("open a socket for \(address)") }
    return SocketHandle(owning: descriptor)
  }

  /// Opens a socket and binds it to `address`.
  ///
  /// `SO_REUSEADDR` lets a restart bind while old connections linger; `SO_REUSEPORT` stays off, so that a second
  /// server on the same port is an error and not a silent split of the traffic.
  ///
  /// - Parameter mode: The maximum permissions of the file of a unix socket when it is created.
  static func bound(to address: SocketAddress, mode: UInt16? = nil) throws(SystemError) -> SocketHandle {
    let handle = try open(for: address)
    handle.setOption(SOL_SOCKET, SO_REUSEADDR, 1)
    if address.family == AF_INET6 { handle.setOption(Int32(IPPROTO_IPV6), IPV6_V6ONLY, 0) }
    if let mode { fchmod(handle.descriptor, mode_t(mode)) }
    let bound = unsafe address.withSockaddr { unsafe bind(handle.descriptor, $0, $1) }
    guard bound == 0 else { throw SystemError("bind \(address)") }
    return handle
  }

  /// Accepts connections from now on.
  ///
  /// - Parameter address: The address it is bound to, for the error.
  func listen(on address: SocketAddress, backlog: Int32) throws(SystemError) {
    guard Glibc.listen(descriptor, backlog) == 0 else { throw SystemError("listen on \(address)") }
  }

  /// Disables Nagle's algorithm, with which a small answer waits for the peer's delayed acknowledgement: 44 ms instead
  /// of 2.7 under TLS.
  func disableNagle() { setOption(Int32(IPPROTO_TCP), TCP_NODELAY, 1) }

  /// Lets the system take only so many bytes that it cannot send yet, on this socket and those accepted from it.
  ///
  /// Without that, it takes megabytes for each peer that does not read. What is on its way counts as sent.
  func limitUnsent(_ bytes: Int32) { setOption(Int32(IPPROTO_TCP), TCP_NOTSENT_LOWAT, bytes) }

  private func setOption(_ level: Int32, _ name: Int32, _ value: Int32) {
    var value = value
    _ = unsafe setsockopt(descriptor, level, name, &value, socklen_t(MemoryLayout<Int32>.size))
  }

  func receive(into buffer: UnsafeMutableRawBufferPointer) -> TransferOutcome {
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0 { return .bytes(count) }
      if count == 0 { return .ended }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .failed
    }
  }

  /// Copies what has arrived, and leaves it to be received; nil when there is nothing.
  func peek(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    while true {
      let count = unsafe recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_PEEK))
      if count < 0, errno == EINTR { continue }
      return count > 0 ? count : nil
    }
  }

  func send(_ bytes: UnsafeRawBufferPointer) -> TransferOutcome {
    outcome { unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL)) }
  }

  /// Sends several blocks in one call, in order (`sendmsg`, because `writev` does not take `MSG_NOSIGNAL`).
  ///
  /// A single block is sent with `send`: then the system has no list of blocks to copy and check.
  func send(_ blocks: UnsafeMutableBufferPointer<iovec>) -> TransferOutcome {
    if blocks.count == 1 {
      return unsafe send(UnsafeRawBufferPointer(start: blocks[0].iov_base, count: blocks[0].iov_len))
    }
    var message = unsafe msghdr()
    unsafe message.msg_iov = blocks.baseAddress
    unsafe message.msg_iovlen = blocks.count
    return outcome { unsafe sendmsg(descriptor, &message, Int32(MSG_NOSIGNAL)) }
  }

  private func outcome(_ call: () -> Int) -> TransferOutcome {
    while true {
      let count = call()
      if count >= 0 { return .bytes(count) }
      if errno == EINTR { continue }
      return errno == EAGAIN || errno == EWOULDBLOCK ? .wouldBlock : .failed
    }
  }

  /// Ends our side of the connection; what the peer still sends can be received.
  func endSending() { shutdown(descriptor, Int32(SHUT_WR)) }
}
