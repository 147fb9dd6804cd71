// SPDX-License-Identifier: MIT
package import SignalHTTP

/// A client of the live protocol over WebSocket, for one thread.
package final class LiveClient {
  /// What went wrong for the test.
  package enum Failure: Error {
    /// Nothing came in time.
    case silence
    /// The server closed instead.
    case closed(CloseFrame)
    /// A message of another kind came.
    case unexpected(WebSocketClient.Event)
  }

  /// How long a test waits for something that is to come.
  package static let patience = Duration.seconds(20)

  /// The connection.
  package let socket: WebSocketClient
  /// Kept, because a test server that nobody holds shuts down.
  private let server: TestServer
  /// The first message.
  package let hello: LiveMessage

  /// Connects and takes the hello.
  ///
  /// - Parameters:
  ///   - query: of `/events`, encoded, without its question mark.
  ///   - receiveBuffer: a small one makes a slow reader.
  package init(
    _ server: TestServer, query: String = "", fields: [(String, String)] = [], receiveBuffer: Int32? = nil
  ) throws {
    self.server = server
    socket = try WebSocketClient(
      TestTransport.endpoint(port: server.port), target: query.isEmpty ? "/events" : "/events?\(query)",
      tls: TestTransport.trust, fields: fields,
      timeout: Self.patience, receiveBuffer: receiveBuffer)
    guard let hello = try Self.receive(socket) else { throw Failure.silence }
    self.hello = hello
  }

  /// Sends a text message.
  package func send(_ text: String) throws { try socket.send(text, timeout: Self.patience) }

  /// The next message.
  package func next() throws -> LiveMessage {
    guard let message = try Self.receive(socket) else { throw Failure.silence }
    return message
  }

  /// The next message; nil when none comes in time.
  package func next(within timeout: Duration) throws -> LiveMessage? { try Self.receive(socket, timeout) }

  /// The next messages.
  package func next(_ count: Int) throws -> [LiveMessage] { try (0..<count).map { _ in try next() } }

  /// The messages up to the first for which the condition holds, that one included.
  package func next(upTo isLast: (LiveMessage) -> Bool) throws -> [LiveMessage] {
    var messages: [LiveMessage] = []
    while true {
      messages.append(try next())
      if isLast(messages[messages.count - 1]) { return messages }
    }
  }

  /// Sends a command and returns its reply, which has to be the next message.
  package func ask(_ text: String) throws -> LiveMessage {
    try send(text)
    return try next()
  }

  /// Begins a subscription and takes everything up to its `live`.
  package func subscribe(_ members: String, id: Int = 1) throws -> [LiveMessage] {
    try send(#"{"id":\#(id),"type":"subscribe",\#(members)}"#)
    return try next { $0.type == "live" || $0.type == "error" }
  }

  /// What comes of everything that has happened before this call, and nothing else.
  ///
  /// A turn of a loop replies to commands first and then tells of changes; so what was there before the first ping is
  /// told before the reply to the second.
  package func settle() throws -> [LiveMessage] {
    var messages: [LiveMessage] = []
    for id in [9_000_001, 9_000_002] {
      try send(#"{"id":\#(id),"type":"ping"}"#)
      messages += try next { $0.int("id") == id }.dropLast()
    }
    return messages
  }

  /// Waits for the server's close frame; messages before it are dropped.
  package func awaitClose() throws -> CloseFrame {
    while true {
      switch try socket.receive(timeout: Self.patience) {
      case nil: throw Failure.silence
      case .closed(let frame)?: return frame
      case _?: continue
      }
    }
  }

  private static func receive(_ socket: WebSocketClient, _ timeout: Duration = patience) throws -> LiveMessage? {
    switch try socket.receive(timeout: timeout) {
    case nil: return nil
    case .text(let bytes)?: return try LiveMessage(String(decoding: bytes, as: UTF8.self))
    case .closed(let frame)?: throw Failure.closed(frame)
    case let event?: throw Failure.unexpected(event)
    }
  }
}
