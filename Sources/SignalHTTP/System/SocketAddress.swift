// SPDX-License-Identifier: MIT
import Glibc

/// An IPv4 or IPv6 address with a port, or the path of a unix socket, as the system calls take it.
public struct SocketAddress: Sendable, CustomStringConvertible {
  // `sockaddr_storage` by value: large enough for both families, no allocation.
  private var storage: sockaddr_storage
  private let length: socklen_t

  /// Resolves `host` to the first of its addresses: a literal (`127.0.0.1`, `::1`, `[::1]`) or a name.
  ///
  /// - Throws: `SystemError` when the name cannot be resolved.
  init(resolving host: String, port: UInt16, passive: Bool = false) throws(SystemError) {
    var name = host
    if name.hasPrefix("["), name.hasSuffix("]") { name = String(name.dropFirst().dropLast()) }
    var hints = unsafe addrinfo()
    unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    unsafe hints.ai_flags = AI_NUMERICSERV | (passive ? AI_PASSIVE : 0)
    var list: UnsafeMutablePointer<addrinfo>?
    let status = unsafe getaddrinfo(name, String(port), &hints, &list)
    guard status == 0, let first = unsafe list else {
      throw SystemError("resolve \(host)", code: status == EAI_SYSTEM ? errno : ENOENT)
    }
    // The list belongs to the resolver; it is freed once the first entry has been copied.
    defer { unsafe freeaddrinfo(first) }
    storage = sockaddr_storage()
    length = unsafe first.pointee.ai_addrlen
    unsafe withUnsafeMutableBytes(of: &storage) { target in
      unsafe target.copyMemory(
        from: UnsafeRawBufferPointer(start: first.pointee.ai_addr, count: Int(first.pointee.ai_addrlen)))
    }
  }

  /// The address a socket is bound to: with port 0 asked for, the port the system picked.
  init(boundTo descriptor: Int32) throws(SystemError) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let status = unsafe withUnsafeMutablePointer(to: &storage) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        unsafe getsockname(descriptor, $0, &length)
      }
    }
    guard status == 0 else { throw SystemError("read the bound address") }
    self.storage = storage
    self.length = length
  }

  /// The address of a unix socket.
  ///
  /// - Throws: `SystemError` when the path is longer than the system takes.
  init(unixPath path: String) throws(SystemError) {
    let bytes = Array(path.utf8)
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    // Zero-terminated.
    guard start + bytes.count < MemoryLayout<sockaddr_un>.size, !bytes.contains(0) else {
      throw SystemError("use \(path)", code: ENAMETOOLONG)
    }
    storage = sockaddr_storage()
    storage.ss_family = sa_family_t(AF_UNIX)
    length = socklen_t(start + bytes.count + 1)
    unsafe withUnsafeMutableBytes(of: &storage) { unsafe $0[start...].copyBytes(from: bytes) }
  }

  /// - Parameter address: Its bytes in network order, in the first four of the word.
  init(ipv4 address: UInt64, port: UInt16) {
    storage = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // The storage is large enough for it, and aligned for any address.
    unsafe withUnsafeMutableBytes(of: &storage) { target in
      var own = sockaddr_in()
      own.sin_family = sa_family_t(AF_INET)
      own.sin_port = port.bigEndian
      unsafe own.sin_addr.s_addr = withUnsafeBytes(of: address) { unsafe $0.load(as: UInt32.self) }
      unsafe target.storeBytes(of: own, as: sockaddr_in.self)
    }
  }

  /// - Parameter address: Its bytes in network order.
  init(ipv6 address: (UInt64, UInt64), zone: UInt32, port: UInt16) {
    storage = sockaddr_storage()
    length = socklen_t(MemoryLayout<sockaddr_in6>.size)
    // The storage is large enough for it, and aligned for any address.
    unsafe withUnsafeMutableBytes(of: &storage) { target in
      var own = sockaddr_in6()
      own.sin6_family = sa_family_t(AF_INET6)
      own.sin6_port = port.bigEndian
      own.sin6_scope_id = zone
      unsafe withUnsafeMutableBytes(of: &own.sin6_addr) { unsafe $0.storeBytes(of: address, as: (UInt64, UInt64).self) }
      unsafe target.storeBytes(of: own, as: sockaddr_in6.self)
    }
  }

  var family: Int32 { Int32(storage.ss_family) }

  /// Calls `body` with the address in the form that `bind` and `connect` take.
  func withSockaddr<Result: ~Copyable, Failure>(
    _ body: (UnsafePointer<sockaddr>, socklen_t) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try unsafe withUnsafePointer(to: storage) { (pointer) throws(Failure) -> Result in
      try unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { (pointer) throws(Failure) -> Result in
        try unsafe body(pointer, length)
      }
    }
  }

  /// The port, in host byte order.
  public var port: UInt16 {
    var copy = storage
    // Both families keep the port in the same place, right after the family.
    return unsafe withUnsafeBytes(of: &copy) { bytes in
      unsafe UInt16(bytes[2]) << 8 | UInt16(bytes[3])
    }
  }

  /// The numeric host: `127.0.0.1`, or `::1` without brackets.
  public var host: String {
    var name = [CChar](repeating: 0, count: Int(NI_MAXHOST))
    let status = unsafe withSockaddr { address, length in
      unsafe getnameinfo(address, length, &name, socklen_t(name.count), nil, 0, NI_NUMERICHOST)
    }
    guard status == 0 else { return "?" }
    return String(zeroTerminated: name)
  }

  /// The path of a unix socket.
  private var path: String {
    let start = MemoryLayout<sockaddr_un>.offset(of: \.sun_path) ?? 2
    return unsafe withUnsafeBytes(of: storage) { bytes in
      unsafe String(decoding: bytes[start..<Int(length)].prefix { $0 != 0 }, as: UTF8.self)
    }
  }

  /// Host and port as they stand in a URL: `127.0.0.1:8080`, `[::1]:8080`; of a unix socket `unix:` and its path.
  public var description: String {
    switch family {
    case AF_UNIX: "unix:\(path)"
    case AF_INET6: "[\(host)]:\(port)"
    default: "\(host):\(port)"
    }
  }
}
