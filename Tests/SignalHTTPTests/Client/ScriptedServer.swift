// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Synchronization
import Testing

/// A server for one connection that does what a test says, on a thread of its own.
///
/// It knows nothing of HTTP: the script reads and sends bytes. What the script throws is the test's failure.
final class ScriptedServer: Sendable {
  /// The accepted connection, as the script uses it.
  struct Peer {
    let socket: BlockingSocket
    private static var patience: Deadline { Deadline(after: .seconds(20)) }

    func send(_ text: String) throws { try socket.send(Array(text.utf8), by: Self.patience) }
    func send(_ bytes: [UInt8]) throws { try socket.send(bytes, by: Self.patience) }

    /// Reads until what was read ends with some text.
    func read(upTo end: String) throws -> String {
      var bytes: [UInt8] = []
      while !bytes.reversed().starts(with: end.utf8.reversed()) {
        guard try socket.receive(into: &bytes, by: Self.patience) > 0 else { throw ClientError.closed }
      }
      return String(decoding: bytes, as: UTF8.self)
    }

    /// Reads a number of bytes, at least.
    func read(count: Int) throws -> [UInt8] {
      var bytes: [UInt8] = []
      while bytes.count < count {
        guard try socket.receive(into: &bytes, by: Self.patience) > 0 else { throw ClientError.closed }
      }
      return bytes
    }

    /// Reads until the client ends the connection.
    func readToEnd() throws -> [UInt8] {
      var bytes: [UInt8] = []
      while try socket.receive(into: &bytes, by: Self.patience) > 0 {}
      return bytes
    }
  }

  let port: UInt16
  private let listener: Int32
  private let failure = Mutex<(any Error)?>(nil)
  private let finished = DispatchSemaphore(value: 0)

  init(_ script: @escaping @Sendable (Peer) throws -> Void) throws {
    (listener, port) = try Self.listen()
    let listener = listener
    Thread.detachNewThread { [self] in
      let descriptor = accept(listener, nil, nil)
      do {
        guard descriptor >= 0 else { throw ClientError.broken(code: errno) }
        try script(Peer(socket: BlockingSocket(adopting: descriptor)))
      } catch {
        failure.withLock { $0 = error }
      }
      close(listener)
      finished.signal()
    }
  }

  /// Waits until the script has come to its end.
  func finish() throws {
    guard finished.wait(timeout: .now() + 30) == .success else { throw ClientError.timedOut }
    if let error = failure.withLock({ $0 }) { throw error }
  }

  /// A port of this machine on which nobody listens.
  static func deadPort() throws -> UInt16 {
    let (descriptor, port) = try listen()
    close(descriptor)
    return port
  }

  private static func listen() throws -> (Int32, UInt16) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    // The address is only looked at, or filled, during each call.
    let status = unsafe withUnsafeMutablePointer(to: &address) { pointer in
      unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        unsafe bind(descriptor, address, length) == 0 && Glibc.listen(descriptor, 8) == 0
          && getsockname(descriptor, address, &length) == 0
      }
    }
    guard status else { throw ClientError.broken(code: errno) }
    return (descriptor, UInt16(bigEndian: address.sin_port))
  }
}

/// Runs a script against a client and fails when either side does.
func exchange(
  _ script: @escaping @Sendable (ScriptedServer.Peer) throws -> Void, _ client: (UInt16) throws -> Void
) throws {
  let server = try ScriptedServer(script)
  try client(server.port)
  try server.finish()
}
