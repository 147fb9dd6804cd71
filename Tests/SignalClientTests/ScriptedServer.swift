// SPDX-License-Identifier: MIT

import JSON
import SignalClient
import SignalHTTP
import Synchronization
import TestSupport

/// A server that says what a test tells it to say.
final class ScriptedServer: Sendable {
  private let server: ApplicationServer
  private let connections = Record<ScriptedConnection>()
  private let taken = Mutex(0)

  /// - Parameters:
  ///   - refusals: what upgrades are answered with, before the first that is granted.
  ///   - greets: whether each connection begins with a hello of the epoch `e`.
  init(refusals: [HTTPResponse] = [], greets: Bool = true) throws {
    let left = Record<HTTPResponse>()
    server = try ApplicationServer(loops: 1) { [connections] _, _ in
      if left.entries.count < refusals.count {
        left.add(refusals[left.entries.count])
        return .response(left.entries[left.entries.count - 1])
      }
      return .webSocket(
        ScriptedConnection(greets: greets) { connections.add($0) }, subprotocols: ["signal.v1.json"])
    }
  }

  func connect(
    _ token: RemoteToken? = nil, _ change: (inout RemoteStore.Configuration) -> Void = { _ in }
  ) throws -> RemoteStore {
    var configuration = RemoteStore.Configuration()
    configuration.minDelay = .milliseconds(1)
    if TestTransport.isSecured { configuration.authorities = TestTransport.certificate.file.chain }
    change(&configuration)
    return try RemoteStore(
      "\(TestTransport.scheme)://127.0.0.1:\(server.port)", token: token, configuration: configuration)
  }

  /// The next connection of a client.
  func next() async -> ScriptedConnection {
    let index = taken.withLock { taken in
      taken += 1
      return taken - 1
    }
    await connections.count(index + 1)
    // There is none when the time of the test is over.
    return connections.entries.count > index ? connections.entries[index] : ScriptedConnection(greets: false) { _ in }
  }
}

/// One connection to a ``ScriptedServer``.
final class ScriptedConnection: WebSocketHandler, Sendable {
  static func hello(_ epoch: String) -> String {
    #"{"type":"hello","epoch":"\#(epoch)","limits":{"messageBytes":2000}}"#
  }

  private let greets: Bool
  private let isOpen: @Sendable (ScriptedConnection) -> Void
  private let handle = Mutex<WebSocketHandle?>(nil)
  private let commands = Record<Members>()
  private let taken = Mutex(0)

  init(greets: Bool, isOpen: @escaping @Sendable (ScriptedConnection) -> Void) {
    self.greets = greets
    self.isOpen = isOpen
  }

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) {
    handle.withLock { $0 = socket.handle }
    if greets { socket.send(Self.hello("e"), on: loop) }
    isOpen(self)
  }

  func received(_ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop) {
    if let text = try? JSONText(validating: message) { commands.add(Members(text)) }
  }

  /// The next command of the client.
  func next() async -> Members {
    let index = taken.withLock { taken in
      taken += 1
      return taken - 1
    }
    await commands.count(index + 1)
    return commands.entries.count > index ? commands.entries[index] : Members(.null)
  }

  func send(_ messages: String...) {
    for message in messages { handle.withLock { $0 }?.send(message) }
  }

  /// Answers a command with `ok` and these members.
  func accept(_ command: Members, _ members: String = "") {
    send(#"{"id":\#(command.number("id") ?? 0),"type":"ok"\#(members.isEmpty ? "" : ",")\#(members)}"#)
  }

  func refuse(_ command: Members, _ code: String, _ status: Int, isTemporary: Bool = false) {
    send(
      #"{"id":\#(command.number("id") ?? 0),"type":"error","error":{"code":"\#(code)","status":\#(status),"#
        + #""temporary":\#(isTemporary)}}"#)
  }

  /// Grants the next command, which has to be a subscription, and makes it live.
  func grant(_ subscription: Int, _ events: String..., revision: UInt64 = 1) async {
    accept(await next(), #""subscription":\#(subscription)"#)
    for event in events { send(event) }
    send(#"{"type":"live","subscription":\#(subscription),"revision":\#(revision)}"#)
  }

  /// Ends it so that the client comes back.
  func drop() { close(1001) }
  func close(_ code: UInt16, _ reason: String = "") {
    handle.withLock { $0 }?.close(CloseCode(rawValue: code), reason: reason)
  }
}

/// An event of a property.
func didSet(_ path: String, _ value: String, _ revision: UInt64, of subscription: Int = 1) -> String {
  #"{"type":"didSet","subscription":\#(subscription),"path":"\#(path)","revision":\#(revision),"value":\#(value)}"#
}
