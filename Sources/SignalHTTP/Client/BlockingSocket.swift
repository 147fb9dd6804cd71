// SPDX-License-Identifier: MIT
internal import Glibc

/// A TCP or unix socket connection for a thread that may block: each call waits, at most until its deadline.
///
/// Internally the socket is non-blocking and `poll` waits, so that no call can hang on a silent peer. The descriptor is
/// closed with the object.
package final class BlockingSocket {
  private let transport: Transport
  /// Receives data before it is copied to its destination.
  private let scratch = RawBuffer(count: Transport.receiveBufferBytes)

  /// Connects, to the first address of a host that answers.
  ///
  /// - Parameters:
  ///   - tls: The trusted authorities, for an endpoint with TLS; the system's unless given.
  ///   - receiveBuffer: the system's receive buffer in bytes; small ones make a slow reader. By default its own choice.
  /// - Throws: `unresolvable`, `badPath`, `unreachable`, `untrusted` or `timedOut`.
  package init(
    _ endpoint: Endpoint, tls: TLSContext? = nil, timeout: Duration, receiveBuffer: Int32? = nil
  ) throws(ClientError) {
    transport = try Self.open(endpoint, tls, Deadline(after: timeout), receiveBuffer)
  }

  /// Takes over a connected stream socket, for example one of a pair.
  package init(adopting descriptor: Int32) {
    transport = Transport(SocketHandle(owning: descriptor))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
  }

  // MARK: Connecting

  /// Connects, and returns the non-blocking transport.
  ///
  /// - Throws: `unresolvable`, `badPath`, `unreachable`, `untrusted` or `timedOut`.
  ///
  /// - Parameter name: The name that the certificate must have; that of the endpoint's host unless given.
  static func open(
    _ endpoint: Endpoint, _ tls: TLSContext?, _ deadline: Deadline, _ receiveBuffer: Int32? = nil,
    as name: String? = nil
  ) throws(ClientError) -> Transport {
    var silence: PlainGreeting?
    return try open(endpoint, tls, deadline, receiveBuffer, as: name, greeting: &silence)
  }

  /// Connects, and returns the non-blocking transport; the server may greet in the clear before TLS is agreed on.
  ///
  /// - Parameter greeting: What it may say, if anything, which takes what it says.
  /// - Throws: As the other; `broken` when the greeting is no line, `untrusted` when it is another one.
  static func open(
    _ endpoint: Endpoint, _ tls: TLSContext?, _ deadline: Deadline, _ receiveBuffer: Int32? = nil,
    as name: String? = nil, greeting: inout PlainGreeting?
  ) throws(ClientError) -> Transport {
    let handle = try connect(endpoint, deadline, receiveBuffer)
    guard case .tls(let host, _) = endpoint else { return Transport(handle) }
    if let expected = greeting {
      let said = try line(from: handle, expected, by: deadline)
      guard said.isEmpty || said.starts(with: expected.start.utf8) else {
        throw .untrusted(reason: "the server says something else than is expected before TLS")
      }
      greeting?.line = said
    }
    let transport = Transport(handle, try channel(to: name ?? host, tls))
    try handshake(transport, by: deadline)
    return transport
  }

  /// Takes a line that the server sends by itself; empty when it sends nothing for a while.
  private static func line(
    from handle: borrowing SocketHandle, _ greeting: PlainGreeting, by deadline: Deadline
  ) throws(ClientError) -> [UInt8] {
    var line: [UInt8] = []
    var room = [UInt8](repeating: 0, count: greeting.limit)
    let patience = Deadline(after: greeting.patience)
    while line.last != UInt8(ascii: "\n") {
      do throws(ClientError) {
        try wait(for: Int16(POLLIN), on: handle.descriptor, line.isEmpty ? min(patience, deadline) : deadline)
      } catch .timedOut where line.isEmpty {
        return []
      }
      // What is behind the line is not taken: it would be of TLS. The pointers are valid during the calls.
      let count = unsafe room.withUnsafeMutableBytes {
        unsafe recv(handle.descriptor, $0.baseAddress, $0.count - line.count, Int32(MSG_PEEK))
      }
      if count < 0, errno == EAGAIN || errno == EINTR { continue }
      guard count > 0 else { throw count == 0 ? .closed : .broken(code: errno) }
      let part = room[..<count]
      let end = part.firstIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? count
      _ = unsafe room.withUnsafeMutableBytes { unsafe recv(handle.descriptor, $0.baseAddress, end, 0) }
      line += room[..<end]
      guard line.count < greeting.limit || line.last == UInt8(ascii: "\n") else { throw .broken(code: EMSGSIZE) }
    }
    return line
  }

  private static func channel(to host: String, _ context: TLSContext?) throws(ClientError) -> TLSChannel {
    let trusted: TLSContext
    do throws(TLSError) {
      if let context { trusted = context } else { trusted = try TLSContext(trusting: nil) }
    } catch {
      throw .untrusted(reason: error.description)
    }
    let name = host.hasPrefix("[") && host.hasSuffix("]") ? String(host.dropFirst().dropLast()) : host
    guard let channel = TLSChannel(trusted, host: name, TLSBuffers()) else {
      throw .untrusted(reason: "\(host) is not a name that a certificate can have")
    }
    return channel
  }

  /// Continues the handshake until bytes can be sent.
  private static func handshake(_ transport: borrowing Transport, by deadline: Deadline) throws(ClientError) {
    // No request has been sent yet, so only the server's part of the handshake can arrive.
    let scratch = RawBuffer(count: Transport.receiveBufferBytes)
    guard transport.begin() != .failed else { throw .untrusted(reason: transport.failure ?? "the connection broke") }
    while !transport.isEstablished {
      var isDrained = false
      switch unsafe transport.receive(into: scratch.bytes, isDrained: &isDrained) {
      case .bytes: continue
      case .wouldBlock: try wait(for: Int16(POLLIN), on: transport.descriptor, deadline)
      case .ended: throw .untrusted(reason: "the server has ended the connection")
      case .failed: throw .untrusted(reason: transport.failure ?? "the connection broke")
      }
    }
  }

  private static func connect(
    _ endpoint: Endpoint, _ deadline: Deadline, _ receiveBuffer: Int32?
  ) throws(ClientError) -> SocketHandle {
    switch endpoint {
    case .tcp(let host, let port), .tls(let host, let port):
      return try connect(host, port, endpoint, deadline, receiveBuffer)
    case .unix(let path):
      guard let address = try? SocketAddress(unixPath: path) else { throw .badPath(path) }
      switch try unsafe address.withSockaddr({ (address, length) throws(ClientError) -> Attempt in
        try unsafe connect(AF_UNIX, address, length, deadline, receiveBuffer)
      }) {
      case .connected(let handle): return handle
      case .failed(let code): throw .unreachable(endpoint, code: code)
      }
    }
  }

  private static func connect(
    _ host: String, _ port: UInt16, _ endpoint: Endpoint, _ deadline: Deadline, _ receiveBuffer: Int32?
  ) throws(ClientError) -> SocketHandle {
    var name = host
    if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    guard unsafe getaddrinfo(name, String(port), &hints, &list) == 0, let first = unsafe list else {
      throw .unresolvable(host: host)
    }
    // The list belongs to the resolver; its entries are used only until it is freed here.
    defer { unsafe freeaddrinfo(first) }
    var next: UnsafeMutablePointer<addrinfo>? = unsafe first
    var code = ENOENT
    while let address = unsafe next {
      switch try unsafe connect(
        address.pointee.ai_family, address.pointee.ai_addr, address.pointee.ai_addrlen, deadline, receiveBuffer)
      {
      case .connected(let handle): return handle
      case .failed(let reason): code = reason
      }
      unsafe next = address.pointee.ai_next
    }
    throw .unreachable(endpoint, code: code)
  }

  /// The result of an attempt to connect to one address.
  private enum Attempt: ~Copyable {
    case connected(SocketHandle)
    case failed(Int32)
  }

  private static func connect(
    _ family: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t, _ deadline: Deadline,
    _ receiveBuffer: Int32?
  ) throws(ClientError) -> Attempt {
    let type = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
    let descriptor = socket(family, type, 0)
    guard descriptor >= 0 else { return .failed(errno) }
    let handle = SocketHandle(owning: descriptor)
    if family != AF_UNIX { handle.disableNagle() }
    if var receiveBuffer {
      _ = unsafe setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, socklen_t(MemoryLayout<Int32>.size))
    }
    let status = unsafe Glibc.connect(descriptor, address, length)
    var code = status == 0 ? 0 : errno
    if code == EINPROGRESS || code == EINTR { code = try outcome(of: descriptor, deadline) }
    return code == 0 ? .connected(handle) : .failed(code)
  }

  private static func outcome(of descriptor: Int32, _ deadline: Deadline) throws(ClientError) -> Int32 {
    try wait(for: Int16(POLLOUT), on: descriptor, deadline)
    var code: Int32 = 0
    var length = socklen_t(MemoryLayout<Int32>.size)
    // Both pointers are valid during the call.
    return unsafe getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &code, &length) == 0 ? code : errno
  }

  /// Waits for any of some events, an error or the end, and returns those that have occurred.
  @discardableResult
  private static func wait(
    for events: Int16, on descriptor: Int32, _ deadline: Deadline
  ) throws(ClientError) -> Int16 {
    while true {
      var entry = pollfd(fd: descriptor, events: events, revents: 0)
      // One entry, valid during the call.
      let count = unsafe poll(&entry, 1, deadline.milliseconds)
      if count > 0 { return entry.revents }
      if count == 0 { throw .timedOut }
      guard errno == EINTR else { throw .broken(code: errno) }
    }
  }

  // MARK: Sending and receiving

  /// Sends all bytes.
  ///
  /// - Throws: `timedOut` when the peer does not accept them, after some of them may have been sent; `broken` when it
  ///   never will.
  package func send(_ bytes: [UInt8], by deadline: Deadline) throws(ClientError) {
    _ = try send(bytes, orUntil: 0, by: deadline)
  }

  /// Sends all bytes, unless the peer accepts no more for the moment and has sent something itself.
  ///
  /// - Returns: whether all bytes are sent.
  package func sendUntilAnswered(_ bytes: [UInt8], by deadline: Deadline) throws(ClientError) -> Bool {
    try send(bytes, orUntil: Int16(POLLIN), by: deadline)
  }

  private func send(_ bytes: [UInt8], orUntil events: Int16, by deadline: Deadline) throws(ClientError) -> Bool {
    var sent = 0
    while sent < bytes.count {
      // The pointer is valid during the call; the slice lies within the array.
      let outcome = unsafe bytes.withUnsafeBytes {
        unsafe transport.send(UnsafeRawBufferPointer(rebasing: $0[sent...]))
      }
      switch outcome {
      case .bytes(let count): sent += count
      case .wouldBlock:
        let ready = try Self.wait(for: Int16(POLLOUT) | events, on: transport.descriptor, deadline)
        if ready & events != 0 { return false }
      case .ended, .failed: throw .broken(code: errno)
      }
    }
    while transport.hasRest {
      switch transport.flush() {
      case .bytes: break
      case .wouldBlock: try Self.wait(for: Int16(POLLOUT), on: transport.descriptor, deadline)
      case .ended, .failed: throw .broken(code: errno)
      }
    }
    return true
  }

  /// Waits for bytes and appends those that are available, at most 128 KiB.
  ///
  /// - Returns: how many; 0 when the peer has sent its last.
  /// - Throws: `timedOut`, and nothing is lost; `broken`.
  package func receive(into output: inout [UInt8], by deadline: Deadline) throws(ClientError) -> Int {
    while true {
      var isDrained = false
      switch unsafe transport.receive(into: scratch.bytes, isDrained: &isDrained) {
      case .bytes(0): continue
      case .bytes(let count):
        unsafe output.append(contentsOf: scratch.bytes[..<count])
        return count
      case .wouldBlock: try Self.wait(for: Int16(POLLIN), on: transport.descriptor, deadline)
      case .ended: return 0
      case .failed: throw .broken(code: errno)
      }
    }
  }

  /// Whether the peer ends the connection in time; what it sends before that is thrown away.
  ///
  /// A reset counts as an end, too.
  package func awaitEnd(by deadline: Deadline) -> Bool {
    var ignored: [UInt8] = []
    do throws(ClientError) {
      while try receive(into: &ignored, by: deadline) > 0 { ignored.removeAll(keepingCapacity: true) }
      return true
    } catch {
      return error != .timedOut
    }
  }

  /// Ends our side of the connection; receiving goes on.
  package func endSending() { transport.endSending() }

  /// Makes deallocation reset the connection (RST): the peer loses what it has not read yet.
  package func resetAtEnd() {
    var option = linger(l_onoff: 1, l_linger: 0)
    // The pointer is valid during the call.
    _ = unsafe setsockopt(
      transport.descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
  }
}

/// What a server says in the clear, in one line, before TLS is agreed on.
package struct PlainGreeting: Sendable {
  /// How the line begins.
  let start: String
  /// Bytes of the line at most.
  let limit: Int
  /// For its beginning: one who says nothing expects TLS.
  let patience: Duration
  /// What it has said; empty for nothing.
  fileprivate(set) var line: [UInt8] = []

  package init(start: String, limit: Int, patience: Duration) {
    self.start = start
    self.limit = limit
    self.patience = patience
  }
}
