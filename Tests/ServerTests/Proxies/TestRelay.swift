// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP

/// A proxy of one connection that speaks the PROXY protocol: it puts a header before what it passes on, unchanged, both ways.
final class TestRelay: Sendable {
  /// Where a client finds it.
  let port: UInt16

  /// - Parameter header: Sent to the server before anything else.
  init(to server: UInt16, header: [UInt8]) throws {
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = Self.loopback(0)
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // The address is only looked at, or filled, during each call.
    let isListening = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(listener, address, length) == 0 && listen(listener, 8) == 0
          && getsockname(listener, address, &length) == 0
      }
    }
    guard isListening else { throw ClientError.broken(code: errno) }
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread {
      let client = accept(listener, nil, nil)
      let upstream = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
      var target = Self.loopback(server)
      let isConnected = unsafe withUnsafePointer(to: &target) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe connect(upstream, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
        }
      }
      if isConnected, unsafe send(upstream, header, header.count, Int32(MSG_NOSIGNAL)) == header.count {
        Self.copy(client, upstream)
      }
      for descriptor in [listener, client, upstream] { close(descriptor) }
    }
  }

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    return address
  }

  /// Copies what either sends to the other, until one has ended.
  private static func copy(_ one: Int32, _ other: Int32) {
    var entries = [one, other].map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
    var bytes = [UInt8](repeating: 0, count: 64 << 10)
    while unsafe poll(&entries, 2, -1) > 0 {
      for (index, entry) in entries.enumerated() where entry.revents != 0 {
        let count = unsafe recv(entry.fd, &bytes, bytes.count, 0)
        guard count > 0, unsafe send(entries[1 - index].fd, bytes, count, Int32(MSG_NOSIGNAL)) == count else { return }
      }
    }
  }
}
