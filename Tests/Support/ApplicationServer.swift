// SPDX-License-Identifier: MIT
package import SignalHTTP

/// A server of a closure, for what the product does not do: answers that come later, binary messages.
package final class ApplicationServer: Sendable {
  package let server: Server
  package let port: UInt16

  /// Starts a server on a port that the system picked.
  package init(
    limits: Limits = Limits(), loops: Int = 2, handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPReply
  ) throws {
    server = Server(
      ServerConfiguration(listeners: [TestTransport.listener], loops: loops, limits: limits), handler: handler)
    try server.start()
    port = server.address?.port ?? 0
  }

  deinit { server.shutdown() }

  /// A server that makes a WebSocket of every request and sends every message back.
  package static func echo(limits: Limits = Limits()) throws -> ApplicationServer {
    try ApplicationServer(limits: limits) { _, _ in .webSocket(EchoHandler(), subprotocols: ["echo", "echo.v2"]) }
  }

  /// A new connection.
  package func connect() throws -> RawClient { try RawClient(self) }

  /// A new WebSocket.
  package func webSocket(subprotocols: [String] = []) throws -> RawWebSocket {
    RawWebSocket(
      server: self,
      socket: try WebSocketClient(
        TestTransport.endpoint(port: port), target: "/", tls: TestTransport.trust, subprotocols: subprotocols,
        timeout: LiveClient.patience))
  }
}

/// A WebSocket to an application's server.
package struct RawWebSocket {
  /// Kept, because a test server that nobody holds shuts down.
  private let server: ApplicationServer
  /// The connection.
  package let socket: WebSocketClient

  fileprivate init(server: ApplicationServer, socket: WebSocketClient) {
    self.server = server
    self.socket = socket
  }

  /// The next message or other event.
  package func next() throws -> WebSocketClient.Event? { try socket.receive(timeout: LiveClient.patience) }

  /// The next frame as it is; nothing is answered.
  package func nextFrame() throws -> WebSocketClient.Frame { try socket.receiveFrame(timeout: LiveClient.patience) }
}

private final class EchoHandler: WebSocketHandler {
  func received(_ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop) {
    socket.send(message, kind, on: loop)
  }
}
