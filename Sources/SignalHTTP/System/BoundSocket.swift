// SPDX-License-Identifier: MIT
import Glibc

/// A listening socket; it is closed with the object, and its file removed if it has one.
final class BoundSocket: Sendable {
  let handle: SocketHandle
  /// Where it listens, with the port that the system picked if 0 was asked for.
  let endpoint: Endpoint
  /// The address of a TCP socket.
  let address: SocketAddress?
  private let file: SocketFile?

  /// Begins to listen.
  ///
  /// - Parameters:
  ///   - mode: The permissions of the file of a unix socket.
  ///   - backlog: Connections that may wait to be accepted.
  ///   - unsentBytes: What the system takes for a peer of a TCP socket before it can be sent.
  /// - Throws: `SystemError` when the address cannot be resolved or bound, or when the path of a unix socket is taken
  ///   by anything but a stale socket.
  init(_ endpoint: Endpoint, mode: UInt16, backlog: Int32, unsentBytes: Int32) throws(SystemError) {
    switch endpoint {
    case .tcp(let host, let port), .tls(let host, let port):
      let wanted = try SocketAddress(resolving: host, port: port, passive: true)
      let handle = try SocketHandle.bound(to: wanted)
      handle.limitUnsent(unsentBytes)
      let bound = try SocketAddress(boundTo: handle.descriptor)
      try handle.listen(on: wanted, backlog: backlog)
      self.handle = handle
      let (host, port) = (bound.host, bound.port)
      self.endpoint = endpoint.isSecured ? .tls(host: host, port: port) : .tcp(host: host, port: port)
      address = bound
      file = nil
    case .unix(let path):
      let wanted = try SocketAddress(unixPath: path)
      try SocketFile.makeRoom(at: path, wanted)
      handle = try SocketHandle.bound(to: wanted, mode: mode)
      self.endpoint = endpoint
      address = nil
      file = SocketFile(path)
      // The umask has removed permissions; until this call the file lets in fewer than it should, never more.
      guard unsafe chmod(path, mode_t(mode)) == 0 else { throw SystemError("set the mode of \(path)") }
      try handle.listen(on: wanted, backlog: backlog)
    }
  }

  // Before the socket is closed: until then no other server takes the file for a stale one and replaces it.
  deinit { file?.remove() }
}

/// The file of a unix socket that this process created.
private struct SocketFile: Sendable {
  private let path: String
  private let device: dev_t
  private let number: ino_t

  /// The file that has just been created; nil when it is already gone.
  init?(_ path: String) {
    guard let status = Self.status(of: path) else { return nil }
    self.path = path
    device = status.st_dev
    number = status.st_ino
  }

  /// Removes the file, unless another one has taken its place.
  func remove() {
    guard let status = Self.status(of: path), status.st_dev == device, status.st_ino == number else { return }
    _ = unsafe unlink(path)
  }

  /// Removes a stale socket, left by a server that has died.
  ///
  /// - Throws: `SystemError` when something else is there, or a socket with a listener.
  static func makeRoom(at path: String, _ address: SocketAddress) throws(SystemError) {
    guard let status = status(of: path) else {
      if errno == ENOENT { return }
      throw SystemError("look at \(path)")
    }
    guard status.st_mode & S_IFMT == S_IFSOCK else {
      throw SystemError("replace \(path), which is not a socket", code: EEXIST)
    }
    let probe = try SocketHandle.open(for: address)
    let connected = unsafe address.withSockaddr { unsafe connect(probe.descriptor, $0, $1) }
    // A full queue has a listener, too.
    if connected == 0 || errno == EAGAIN { throw SystemError("bind \(address)", code: EADDRINUSE) }
    guard errno == ECONNREFUSED else { throw SystemError("find out who listens on \(address)") }
    guard unsafe unlink(path) == 0 || errno == ENOENT else { throw SystemError("remove the stale socket \(path)") }
  }

  private static func status(of path: String) -> stat? {
    var status = stat()
    return unsafe lstat(path, &status) == 0 ? status : nil
  }
}
