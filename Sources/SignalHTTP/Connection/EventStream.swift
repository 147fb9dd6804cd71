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

/// A response whose end is not known when it begins: server-sent events (HTML Standard, "Server-sent events"), on the
/// loop that owns it.
///
/// When it ends, the connection goes back to HTTP, unless the head of the response said `Connection: close`: a client
/// that keeps connections would lose its next request on one that ends without a word (RFC 9112 §9.6).
final class EventStream: Session {
  private let handler: any EventStreamHandler
  unowned let connection: Connection
  /// HTTP/1.1 has chunks; a client of HTTP/1.0 takes the connection's end for the stream's.
  let isChunked: Bool
  /// Where requests go on behind the last chunk; nil when the connection ends with the stream.
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

  /// Sends the answer to the request, which is framed already.
  func send(answer block: [UInt8], on loop: isolated EventLoop) { connection.sendAnswer(block, on: loop) }

  /// Asks for `drained`, also when nothing waits.
  func askForDrained(on loop: isolated EventLoop) {
    expectDrained()
    connection.markDirty(on: loop)
  }

  /// Asks for `drained` when something waits.
  func expectDrained() { connection.tellsWhenSent = true }

  /// Ends the stream behind what waits, with a comment for people who read it.
  ///
  /// A request that has waited behind the stream is begun later in the turn: the hub may be in the midst of its members.
  func close(comment: String, on loop: isolated EventLoop) {
    if endResponse(comment: comment, on: loop) { connection.proceedLater(on: loop) }
  }

  /// Sends the end of the response; true when the connection is one of HTTP again.
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

  /// The connection has gone back to HTTP.
  private var hasEnded = false

  private func sendComment(_ comment: String, on loop: isolated EventLoop) {
    let text = Array(": \(comment)\n\n".utf8)
    guard isChunked else { return connection.send(text, on: loop) }
    var chunk: [UInt8] = []
    text.withView { chunk.appendChunk($0) }
    connection.send(chunk, on: loop)
  }

  // MARK: Session

  /// Requests behind this one wait in the socket, whose room bounds them, until the stream has ended.
  var takesInput: Bool { false }
  var collectsOutput: Bool { true }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake { Intake(consumed: 0, isHeldBack: true) }

  /// Never called, because nothing is received: see ``peerIsEnding(_:on:)``.
  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) { connection.abort(on: loop) }

  /// A client that ends its side has left: half-closed and gone cannot be told apart before something is sent.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop) { connection.abort(on: loop) }

  func outputSent(_ connection: Connection, on loop: isolated EventLoop) { handler.drained(self, on: loop) }

  /// A comment keeps proxies from closing a quiet stream, and finds out that a client is gone.
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) {
    connection.setDeadline(after: connection.limits.idleTimeout, on: loop)
    sendComment("still here", on: loop)
  }

  func drain(_ connection: Connection, on loop: isolated EventLoop) {
    guard endResponse(comment: "the server shuts down", on: loop) else { return }
    // What waited behind the stream is answered with `Connection: close`; without such, the connection is idle.
    connection.resume(on: loop)
    connection.drain(on: loop)
  }

  func closed(on loop: isolated EventLoop) { handler.closed(on: loop) }
}
