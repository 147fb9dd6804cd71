// SPDX-License-Identifier: MIT
package import SignalHTTP

/// A connection over which a test sends what it likes and reads what comes; for one thread.
package final class RawClient {
  /// The connection as HTTP.
  package let http: HTTPClient
  /// Kept, because a test server that nobody holds shuts down.
  private let server: AnyObject

  /// Connects.
  ///
  /// - Parameter receiveBuffer: a small one makes a slow reader.
  package convenience init(_ server: TestServer, receiveBuffer: Int32? = nil) throws {
    try self.init(port: server.port, keeping: server, receiveBuffer: receiveBuffer)
  }

  /// Connects to an application's server.
  package convenience init(_ server: ApplicationServer, receiveBuffer: Int32? = nil) throws {
    try self.init(port: server.port, keeping: server, receiveBuffer: receiveBuffer)
  }

  private init(port: UInt16, keeping server: AnyObject, receiveBuffer: Int32?) throws {
    self.server = server
    let socket = try BlockingSocket(
      TestTransport.endpoint(port: port), tls: TestTransport.trust, timeout: LiveClient.patience,
      receiveBuffer: receiveBuffer)
    http = HTTPClient(socket, authority: "127.0.0.1:\(port)")
  }

  /// The connection as a socket.
  package var socket: BlockingSocket { http.socket }

  // MARK: Bytes

  /// Sends bytes as they are.
  package func send(_ bytes: [UInt8]) throws { try http.send(bytes, timeout: LiveClient.patience) }

  /// Sends a text as it is; its line ends have to be written out.
  package func send(_ text: String) throws { try send(Array(text.utf8)) }

  /// Waits for a text and returns everything that was received up to it, and what came with it.
  ///
  /// For answers without an end; not to be mixed with ``receive(answering:)``.
  package func receive(upTo text: String) throws -> String {
    var bytes: [UInt8] = []
    let deadline = Deadline(after: LiveClient.patience)
    while true {
      let received = String(decoding: bytes, as: UTF8.self)
      if received.contains(text) { return received }
      guard try socket.receive(into: &bytes, by: deadline) > 0 else { throw ClientError.closed }
    }
  }

  /// What comes first; nil when nothing comes in time, empty when the server has ended the connection.
  package func receive(within timeout: Duration) throws -> [UInt8]? {
    var bytes: [UInt8] = []
    do {
      _ = try socket.receive(into: &bytes, by: Deadline(after: timeout))
    } catch ClientError.timedOut {
      return nil
    }
    return bytes
  }

  /// Everything that comes until the server ends the connection, or breaks it when that is allowed.
  package func receiveToEnd(allowingReset: Bool = false) throws -> [UInt8] {
    var bytes: [UInt8] = []
    let deadline = Deadline(after: LiveClient.patience)
    do throws(ClientError) {
      while try socket.receive(into: &bytes, by: deadline) > 0 {}
    } catch {
      guard allowingReset, case .broken = error else { throw error }
    }
    return bytes
  }

  // MARK: HTTP

  /// The next response.
  package func receive(answering method: String = "GET") throws -> HTTPClientResponse {
    try http.receive(answering: method, timeout: LiveClient.patience)
  }

  /// Sends a request and waits for its response.
  package func request(
    _ method: String, _ target: String, fields: [(String, String)] = [], body: String? = nil
  ) throws -> HTTPClientResponse {
    try http.request(method, target, fields: fields, body: body.map { Array($0.utf8) }, timeout: LiveClient.patience)
  }

  /// Whether the connection takes another request.
  package func isAlive() -> Bool {
    (try? request("GET", "/health/live"))?.status == 200
  }

  /// Whether the server ends the connection in time.
  package func awaitEnd() -> Bool { http.awaitEnd(timeout: LiveClient.patience) }
}

extension HTTPClientResponse {
  /// The `code` of a problem, if the body is one.
  package var code: String? {
    value("Content-Type") == "application/problem+json" ? (try? LiveMessage(text))?.string("code") : nil
  }
}
