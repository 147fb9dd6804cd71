// SPDX-License-Identifier: MIT

/// The result of offering bytes to a session.
struct Intake {
  /// How many of them it has consumed.
  let consumed: Int
  /// Whether it stopped before it had seen all it could use, because of pending output, an outstanding answer, or
  /// another session that takes over: the rest is offered again unchanged.
  ///
  /// Otherwise the rest is offered again with more bytes after it.
  let isHeldBack: Bool
}

/// The protocol that a connection currently speaks: HTTP, then perhaps WebSocket or an event stream.
///
/// A session owns no socket: it takes bytes, appends output to its connection, and asks it to close.
protocol Session: AnyObject {
  /// What it is counted as.
  var kind: ConnectionKind { get }

  /// Whether input is wanted now; otherwise nothing is received and the peer's sending is throttled.
  var takesInput: Bool { get }

  /// Whether output is collected until the end of the turn, to be sent together with what the hub adds.
  var collectsOutput: Bool { get }

  /// Takes bytes and returns how many it has consumed, and what it needs to continue with the rest.
  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake

  /// Bytes that it keeps of an incomplete request or message.
  var heldBytes: Int { get }

  /// There is no memory to keep the received bytes: the session refuses them and ends the connection.
  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop)

  /// The peer has sent its last byte, and all bytes before it have been offered.
  func peerEnded(_ connection: Connection, on loop: isolated EventLoop)

  /// The peer will send nothing more, or is gone; bytes that it sent may not have been offered yet.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop)

  /// All output has been taken by the socket: a session that streams adds its next piece.
  ///
  /// Called once after the session has asked for it, with ``Connection/tellsWhenSent``: of the thousands of connections
  /// that an event is sent to, hardly any has more to add.
  func outputSent(_ connection: Connection, on loop: isolated EventLoop)

  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop)

  /// What is sent in the place of an answer that tells of what was taken back, before the connection ends; nil when nothing
  /// can be.
  ///
  /// - Parameter lost: The block that the answer is in, the first that was not sent.
  func replacement(for lost: [UInt8], on connection: Connection, _ loop: isolated EventLoop) -> [UInt8]?

  /// The server shuts down: finish what is in progress and close.
  func drain(_ connection: Connection, on loop: isolated EventLoop)

  /// The connection is gone, for whatever reason; called exactly once, and last.
  func closed(on loop: isolated EventLoop)
}

extension Session {
  /// As most are.
  var kind: ConnectionKind { .http }

  /// Keeps nothing.
  var heldBytes: Int { 0 }

  /// Nothing is kept that could be refused.
  func memoryIsFull(_ connection: Connection, on loop: isolated EventLoop) { connection.close(on: loop) }

  /// Nothing.
  func replacement(for lost: [UInt8], on connection: Connection, _ loop: isolated EventLoop) -> [UInt8]? { nil }

  /// Does nothing: sooner or later the end is received.
  func peerIsEnding(_ connection: Connection, on loop: isolated EventLoop) {}
}
