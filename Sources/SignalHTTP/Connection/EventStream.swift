// SPDX-License-Identifier: MIT

/// What an application does with one stream of server-sent events; like `WebSocketHandler`, one way.
protocol EventStreamHandler: AnyObject {
  /// The response's head is on its way; events may be sent.
  func opened(_ stream: EventStream, on loop: isolated EventLoop)
  /// Everything sent so far has been taken by the system, and it was asked for.
  func drained(_ stream: EventStream, on loop: isolated EventLoop)
  /// The last call.
  func closed(on loop: isolated EventLoop)
}

/// A response that does not end: server-sent events (HTML Standard, "Server-sent events"), on the loop that owns it.
final class EventStream: Session {
  private let handler: any EventStreamHandler
  unowned let connection: Connection
  /// HTTP/1.1 has chunks; a client of HTTP/1.0 takes the connection's end for the stream's.
  let isChunked: Bool

  init(on connection: Connection, handler: any EventStreamHandler, isChunked: Bool) {
    self.connection = connection
    self.handler = handler
    self.isChunked = isChunked
  }

  func open(on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.idleTimeout, on: loop)
    handler.opened(self, on: loop)
  }

  /// Sends a block that is framed already.
  func send(frames block: [UInt8], on loop: isolated EventLoop) { connection.send(block, on: loop) }

  /// Asks for `drained`, also when nothing waits.
  func askForDrained(on loop: isolated EventLoop) {
    expectDrained()
    connection.markDirty(on: loop)
  }

  /// Asks for `drained` when something waits.
  func expectDrained() { connection.tellsWhenSent = true }

  /// Ends the stream behind what waits, with a comment for people who read it.
  func close(comment: String, on loop: isolated EventLoop) {
    guard connection.isOpen else { return }
    sendComment(comment, on: loop)
    if isChunked {
      var last: [UInt8] = []
      last.appendLastChunk()
      connection.send(last, on: loop)
    }
    connection.close(on: loop)
  }

  private func sendComment(_ comment: String, on loop: isolated EventLoop) {
    let text = Array(": \(comment)\n\n".utf8)
    guard isChunked else { return connection.send(text, on: loop) }
    var chunk: [UInt8] = []
    text.withView { chunk.appendChunk($0) }
    connection.send(chunk, on: loop)
  }

  // MARK: Session

  var takesInput: Bool { true }
  var collectsOutput: Bool { true }

  /// A client has nothing more to say; what it says is thrown away.
  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake { Intake(consumed: bytes.count, isHeldBack: false) }

  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.abort(on: loop) }

  func outputSent(_ connection: Connection, on loop: isolated EventLoop) { handler.drained(self, on: loop) }

  /// A comment keeps proxies from closing a quiet stream, and finds out that a client is gone.
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.idleTimeout, on: loop)
    sendComment("still here", on: loop)
  }

  func drain(_ connection: Connection, on loop: isolated EventLoop) {
    close(comment: "the server shuts down", on: loop)
  }

  func closed(on loop: isolated EventLoop) { handler.closed(on: loop) }
}
