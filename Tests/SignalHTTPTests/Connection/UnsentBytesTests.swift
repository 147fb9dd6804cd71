// SPDX-License-Identifier: MIT
import Glibc
import Testing

@testable import SignalHTTP

@Suite struct `What the system takes for a peer` {
  /// The bytes that a socket takes for a peer that reads nothing.
  private func taken(unsentBytes: Int32) throws -> Int {
    let bound = try BoundSocket(.tcp(host: "127.0.0.1", port: 0), mode: 0, backlog: 1, unsentBytes: unsentBytes)
    let address = try #require(bound.address)
    let peer = try SocketHandle.open(for: address)
    _ = unsafe address.withSockaddr { unsafe connect(peer.descriptor, $0, $1) }
    var wanted = pollfd(fd: bound.handle.descriptor, events: Int16(POLLIN), revents: 0)
    #expect(unsafe poll(&wanted, 1, 10_000) == 1)
    let descriptor = accept(bound.handle.descriptor, nil, nil)
    try #require(descriptor >= 0)
    let socket = SocketHandle(owning: descriptor)
    _ = fcntl(descriptor, F_SETFL, O_NONBLOCK)
    let bytes = [UInt8](repeating: 0, count: 1 << 16)
    var total = 0
    while total < 64 << 20, case .bytes(let count) = unsafe bytes.withUnsafeBytes({ unsafe socket.send($0) }) {
      total += count
    }
    return total
  }

  @Test func `beyond what it can send it takes as much as the limit says, and the rest stays here`() throws {
    let few = try taken(unsentBytes: 64 << 10)
    let many = try taken(unsentBytes: 16 << 20)
    // What the peer's own buffer takes is sent, and the same for both.
    #expect(few > 0 && few + 64 << 10 < many, "\(few), \(many)")
  }
}
