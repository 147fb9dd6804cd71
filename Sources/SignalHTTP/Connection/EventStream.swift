// SPDX-License-Identifier: MIT

/// The application's side of one stream of server-sent events; like `WebSocketHandler`, but one-way.
protocol EventStreamHandler: AnyObject {
  /// The head of the response has been queued; events may be sent.
  func opened(_ stream: EventStream, on loop: isolated EventLoop)
  /// Everything sent so far has been taken by the system; called only on request.
  func drained(_ stream: EventStream, on loop: isolated EventLoop)
  /// The last call.
  func closed(on loop: isolated EventLoop)
}

/// A response whose end is not known when it begins: server-sent events (HTML Standard, "Server-sent events"), on the
/// loop that owns it.
///
/// When it ends, the connection returns to HTTP, unless the head of the response said `Connection: close`: a client
/// that keeps connections would lose its next request on one that is closed without notice (RFC 9112 §9.6).
final class EventStream: Session {
  let handler: any EventStreamHandler
  unowned let connection: Connection
  /// HTTP/1.1 has chunks; for a client of HTTP/1.0 the end of the connection is the end of the stream.
  let isChunked: Bool
  /// Resumes request handling after the last chunk; nil when the connection ends with the stream.
  private let continuation: HTTPSession.Continuation?

  init(
    on connection: Connection, handler: any EventStreamHandler, isChunked: Bool,
    continuation: HTTPSession.Continuation?
  ) {
    self.connection = connection
    self.handler = handler
    self.isChunked = isChunked
    self.continuation = continuation
  }

  func open(on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.idleTimeout, on: loop)
    handler.opened(self, on: loop)
  }

  /// Sends the answer to the request, which is already framed.
  func send(answer block: [UInt8], on loop: isolated EventLoop) { connection.sendAnswer(block, on: loop) }

  /// Asks for `drained`, even when nothing is pending.
  func askForDrained(on loop: isolated EventLoop) {
    expectDrained()
    connection.markDirty(on: loop)
  }

  /// Asks for `drained` when output is pending.
  func expectDrained() { connection.tellsWhenSent = true }

  /// Ends the stream after pending output, with a comment for human readers.
  ///
  /// A request that was pipelined after the stream is begun later in the turn: the hub may be iterating over its
  /// members.
  func close(comment: String, on loop: isolated EventLoop) {
    if endResponse(comment: comment, on: loop) { connection.proceedLater(on: loop) }
  }

  /// Sends the end of the response; true when the connection returns to HTTP.
  private func endResponse(comment: String, on loop: isolated EventLoop) -> Bool {
    guard connection.isOpen, !hasEnded else { return false }
    sendComment(comment, on: loop)
    if isChunked {
      var last: [UInt8] = []
      last.appendLastChunk()
      connection.send(last, on: loop)
    }
    guard let continuation else {
      connection.close(on: loop)
      return false
    }
    hasEnded = true
    HTTPSession(continuation).begin(behindStreamOn: connection, on: loop)
    handler.closed(on: loop)
    return true
  }

  /// The connection has returned to HTTP.
  private var hasEnded = false

  private func sendComment(_ comment: String, on loop: isolated EventLoop) {
    let text = Array(": \(comment)\n\n".utf8)
    guard isChunked else { return connection.send(text, on: loop) }
    var chunk: [UInt8] = []
    text.withView { chunk.appendChunk($0) }
    connection.send(chunk, on: loop)
  }

  // MARK: Session

  var kind: ConnectionKind { .eventStream }
  /// Pipelined requests wait in the socket, whose buffer bounds them, until the stream has ended.
  var takesInput: Bool { false }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake { Intake(consumed: 0, isHeldBack: true) }

  /// Never called, because nothing is received: see ``peerIsEnding(_:on:)``.
  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.abort(on: loop) }

  /// A client that ends its side is treated as gone: half-closed and gone cannot be told apart before something is
  /// sent.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop) { connection.abort(on: loop) }

  func outputSent(_ connection: Connection, on loop: isolated EventLoop) { handler.drained(self, on: loop) }

  /// Sends a comment, which keeps proxies from closing a quiet stream and detects that a client is gone.
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.idleTimeout, on: loop)
    sendComment("still here", on: loop)
  }

  func drain(_ connection: Connection, on loop: isolated EventLoop) {
    guard endResponse(comment: "the server shuts down", on: loop) else { return }
    // Requests pipelined after the stream are answered with `Connection: close`; without any, the connection is idle.
    connection.resume(on: loop)
    connection.drain(on: loop)
  }

  func closed(on loop: isolated EventLoop) { handler.closed(on: loop) }
}
