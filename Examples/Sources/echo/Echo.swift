// SPDX-License-Identifier: MIT
// A general server on SignalHTTP alone: any method on any path answers with the request's body, and /ws is a
// WebSocket that sends back what it gets.
import ArgumentParser
import Foundation
import SignalHTTP

@main struct Echo: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "echo", abstract: "Answers with what it is sent, over HTTP and at /ws over WebSocket.")

  @Option(help: "The port to listen on; 0 lets the system pick one.") var port: UInt16 = 8080
  @Option(help: "Bytes of a WebSocket message, and of a request's body, at most.") var maxMessage = 16 << 20

  func run() async throws {
    var configuration = ServerConfiguration(port: port)
    configuration.limits.webSocket.messageBytes = maxMessage
    configuration.limits.webSocket.frameBytes = maxMessage
    configuration.limits.http.bodyBytes = maxMessage
    let server = Server(configuration) { request, _ in
      if request.path == "/ws", request.asksForWebSocket { return .webSocket(EchoSocket()) }
      return .response(HTTPResponse(.ok, contentType: "application/octet-stream", body: request.body))
    }
    try server.start()
    // Written at once, also when the output is not a terminal.
    FileHandle.standardOutput.write(Data("listening on http://\(server.address!)\n".utf8))
    try await server.run()
  }
}

final class EchoSocket: WebSocketHandler {
  func received(
    _ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop
  ) {
    socket.send(message, kind, on: loop)
  }
}
