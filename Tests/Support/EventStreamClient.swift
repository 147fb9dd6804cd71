// SPDX-License-Identifier: MIT
package import SignalHTTP

/// A reader of server-sent events, for one thread, that keeps what an `EventSource` would hide: which block had an `id`.
package final class EventStreamClient {
  /// What stands between two empty lines.
  package struct Block: CustomStringConvertible {
    /// The `id` line of this block.
    package var id: String?
    /// The `event` line: a type that is not the default.
    package var name: String?
    /// The `data` line.
    package var message: LiveMessage?
    /// The comment, without its colon and space.
    package var comment: String?

    /// The message in one line, then the id: `live 1 @4 #e.4`; before it, in brackets, a type that is not the default.
    package var description: String {
      [name.map { "[\($0)]" }, message?.description, comment.map { "(\($0))" }, id.map { "#\($0)" }].compactMap(\.self)
        .joined(separator: " ")
    }
  }

  /// What went wrong for the test.
  package enum Failure: Error {
    /// The stream ended instead.
    case ended
    /// A line that the protocol does not have.
    case line(String)
  }

  /// The head of the response.
  package let response: HTTPClientResponse
  private let http: HTTPClient
  /// Kept, because a test server that nobody holds shuts down.
  private let server: TestServer
  private var text: [UInt8] = []
  /// Up to here no block ends in `text`.
  private var searched = 0

  /// Asks for events and waits for the head of the response, whatever its status.
  ///
  /// - Parameter query: of `/events`, encoded, without its question mark.
  package init(
    _ server: TestServer, query: String, fields: [(String, String)] = [], receiveBuffer: Int32? = nil
  ) throws {
    self.server = server
    let socket = try BlockingSocket(
      TestTransport.endpoint(port: server.port), tls: TestTransport.trust, timeout: LiveClient.patience,
      receiveBuffer: receiveBuffer)
    http = HTTPClient(socket, authority: "127.0.0.1:\(server.port)")
    response = try http.open("GET", "/events?\(query)", fields: fields, timeout: LiveClient.patience)
  }

  /// The next block.
  package func next() throws -> Block {
    guard let block = try next(within: LiveClient.patience) else { throw LiveClient.Failure.silence }
    return block
  }

  /// The next block; nil when none comes in time.
  package func next(within timeout: Duration) throws -> Block? {
    while true {
      while searched + 1 < text.count {
        guard text[searched] == 0x0A, text[searched + 1] == 0x0A else {
          searched += 1
          continue
        }
        let block = String(decoding: text[..<searched], as: UTF8.self)
        text.removeFirst(searched + 2)
        searched = 0
        return try Self.parse(block)
      }
      do {
        guard let piece = try http.nextPiece(timeout: timeout) else { throw Failure.ended }
        text += piece
      } catch ClientError.timedOut {
        return nil
      }
    }
  }

  /// The next blocks.
  package func next(_ count: Int) throws -> [Block] { try (0..<count).map { _ in try next() } }

  /// The blocks up to the first for which the condition holds, that one included.
  package func next(upTo isLast: (Block) -> Bool) throws -> [Block] {
    var blocks: [Block] = []
    while true {
      blocks.append(try next())
      if isLast(blocks[blocks.count - 1]) { return blocks }
    }
  }

  /// The blocks up to the orderly end of the stream.
  package func rest() throws -> [Block] {
    var blocks: [Block] = []
    while true {
      do {
        blocks.append(try next())
      } catch Failure.ended {
        return blocks
      }
    }
  }

  private static func parse(_ block: String) throws -> Block {
    var parsed = Block()
    for line in block.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("id: "), parsed.id == nil {
        parsed.id = String(line.dropFirst(4))
      } else if line.hasPrefix("event: "), parsed.name == nil {
        parsed.name = String(line.dropFirst(7))
      } else if line.hasPrefix("data: "), parsed.message == nil {
        parsed.message = try LiveMessage(String(line.dropFirst(6)))
      } else if line.hasPrefix(": ") {
        parsed.comment = String(line.dropFirst(2))
      } else {
        throw Failure.line(String(line))
      }
    }
    return parsed
  }
}
