// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP

#if canImport(Glibc)
  import Glibc
#endif

/// A server of NATS with JetStream, for as long as the test holds it.
package final class Engine: Sendable {
  /// The program; nil where there is none.
  package static let program: String? = {
    if let named = unsafe getenv("NATS_SERVER").map({ unsafe String(cString: $0) }) { return named }
    let path = unsafe getenv("PATH").map { unsafe String(cString: $0) } ?? ""
    let found = path.split(separator: ":").map { "\($0)/nats-server" }.first { (name: String) in
      unsafe access(name, X_OK) == 0
    }
    if found == nil { print("there is no nats-server, in PATH or named by NATS_SERVER: its tests are skipped") }
    return found
  }()

  package let port: UInt16
  private let process: ChildProcess
  private let folder: String

  /// - Parameters:
  ///   - certificate: A file with a certificate and its key, for TLS.
  ///   - handshakesFirst: Whether TLS begins before the server says anything.
  ///   - permissions: What clients may do, as the server's configuration says it; nil for everything.
  package init(
    maxPayload: String = "8MB", certificate: String? = nil, handshakesFirst: Bool = false, permissions: String? = nil
  ) throws {
    var template = Array("/tmp/signal-engine-XXXXXX".utf8CString)
    // The call changes the last letters of the array in place.
    guard unsafe template.withUnsafeMutableBufferPointer({ unsafe mkdtemp($0.baseAddress!) != nil }) else {
      throw EngineError("no folder")
    }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    let tls =
      certificate.map { #"tls { cert_file: "\#($0)", key_file: "\#($0)", handshake_first: \#(handshakesFirst) }"# }
      ?? ""
    let configuration = """
      listen: "127.0.0.1:-1"
      max_payload: \(maxPayload)
      ports_file_dir: "\(folder)"
      jetstream { store_dir: "\(folder)/js" }
      \(tls)
      \(permissions.map { "authorization { users: [{ user: a, password: b, permissions: \($0) }] }, no_auth_user: a" } ?? "")
      """
    try Self.write(configuration, to: "\(folder)/conf")
    process = try ChildProcess(Engine.program ?? "nats-server", ["-c", "\(folder)/conf", "-l", "\(folder)/log"])
    let name = (Engine.program ?? "").split(separator: "/").last.map(String.init) ?? "nats-server"
    do {
      port = try Self.awaitPort("\(folder)/\(name)_\(process.processIdentifier).ports")
    } catch {
      // Nothing else ends it, as there is no object.
      process.send(SIGKILL)
      throw error
    }
  }

  deinit {
    process.send(SIGKILL)
    process.waitUntilExit()
    try? FileManager.default.removeItem(atPath: folder)
  }

  /// The process stops, or goes on; it has when this returns.
  package func stop(_ isStopped: Bool) {
    process.send(isStopped ? SIGSTOP : SIGCONT)
    guard isStopped else { return }
    // On a busy machine its threads may go on for a while.
    var status: Int32 = 0
    // The process is ours, and the pointer is used during the call.
    _ = unsafe waitpid(process.processIdentifier, &status, WUNTRACED)
  }

  private static func write(_ text: String, to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw EngineError("\(path) cannot be written") }
    defer { close(file) }
    let bytes = Array(text.utf8)
    // The call reads as many bytes as there are.
    _ = unsafe bytes.withUnsafeBytes { unsafe Glibc.write(file, $0.baseAddress, $0.count) }
  }

  /// The port from the file in which the server writes where it listens.
  private static func awaitPort(_ path: String) throws -> UInt16 {
    for _ in 0..<600 {
      let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
      if file >= 0 {
        defer { close(file) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        // The call writes at most as many bytes as the array has.
        let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        let text = String(decoding: bytes.prefix(max(0, count)), as: UTF8.self)
        if let match = text.firstMatch(of: /(?:nats|tls):\/\/127\.0\.0\.1:([0-9]+)/), let port = UInt16(match.1) {
          return port
        }
      }
      usleep(50_000)
    }
    throw EngineError("the engine does not say where it listens")
  }
}

package struct EngineError: Error, CustomStringConvertible {
  package let description: String
  package init(_ description: String) { self.description = description }
}

extension Engine {
  /// Asks the server something, as any program may.
  ///
  /// - Returns: The payload of the answer.
  package func request(_ subject: String, _ payload: String = "") throws -> String {
    let socket = try BlockingSocket(
      .tcp(host: "127.0.0.1", port: port), tls: nil, timeout: LiveClient.patience, receiveBuffer: nil)
    let client = HTTPClient(socket, authority: "")
    let text =
      #"CONNECT {"verbose":false,"headers":true,"no_responders":true}"# + "\r\nSUB answer 1\r\n"
      + "PUB \(subject) answer \(payload.utf8.count)\r\n\(payload)\r\n"
    try client.send(Array(text.utf8), timeout: LiveClient.patience)
    var bytes: [UInt8] = []
    let deadline = Deadline(after: LiveClient.patience)
    while try socket.receive(into: &bytes, by: deadline) > 0 {
      let received = String(decoding: bytes, as: UTF8.self)
      // With fields there are two numbers: of these, and of all.
      guard let head = received.firstMatch(of: /MSG answer 1 (?:([0-9]+) )?([0-9]+)\r\n/), let count = Int(head.2)
      else { continue }
      let message = received[head.range.upperBound...].utf8
      guard message.count >= count else { continue }
      return String(Substring(message.prefix(count).dropFirst(head.1.flatMap { Int($0) } ?? 0)))
    }
    throw EngineError("no answer to \(subject)")
  }
}
