// SPDX-License-Identifier: MIT

/// What became of bytes that a session was offered.
struct Intake {
  /// How many of them it is done with.
  let consumed: Int
  /// Whether it stopped before it had seen all it could use, because of output that waits, an answer that is to come,
  /// or another session that takes over: the rest is offered again as it is.
  ///
  /// Otherwise it is offered with more behind it.
  let isHeldBack: Bool
}

/// The protocol that a connection speaks at the moment: HTTP, then perhaps WebSocket or an event stream.
///
/// A session owns no socket. It takes bytes, appends output to its connection, and asks it to close.
protocol Session: AnyObject {
  /// Whether input is wanted now. While it is not, nothing is received and the peer's sending stops.
  var takesInput: Bool { get }

  /// Whether output waits for the end of the turn, to go out together with what the hub adds.
  var collectsOutput: Bool { get }

  /// Takes bytes and returns how many it is done with, and what it needs to go on with the rest.
  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake

  /// Bytes that it keeps of a request or message that has not come as a whole.
  var heldBytes: Int { get }

  /// There is no memory for what has come, which is not kept: refuses it, and ends the connection.
  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop)

  /// The peer has sent its last byte, and all before it has been offered.
  func peerEnded(_ connection: Connection, on loop: isolated EventLoop)

  /// The peer will send nothing more, or is gone; what it has sent may not have been offered yet.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop)

  /// All output has been taken by the socket: a session that streams adds its next piece.
  ///
  /// Called once after the session has asked for it, with ``Connection/tellsWhenSent``: of the thousands of connections
  /// that are sent an event, nearly none has anything to add.
  func outputSent(_ connection: Connection, on loop: isolated EventLoop)

  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop)

  /// The server shuts down: finish what is under way and close.
  func drain(_ connection: Connection, on loop: isolated EventLoop)

  /// The connection is gone, for whatever reason; called exactly once, and last.
  func closed(on loop: isolated EventLoop)
}

extension Session {
  /// Keeps nothing.
  var heldBytes: Int { 0 }

  /// Nothing is kept that could be refused.
  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }

  /// Does nothing: sooner or later the end is received.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop) {}
}
