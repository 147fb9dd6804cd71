// SPDX-License-Identifier: MIT

/// An answer that waits for something to happen, on the loop of its connection.
///
/// Exactly one of the calls below comes, unless the responder has been used before.
protocol RequestWait: AnyObject {
  /// The wait is over, because its time is, or because the server or the client ends the connection: answer now.
  func timeIsUp(on loop: isolated EventLoop)

  /// Nobody waits any more: let go of everything.
  func abandoned(on loop: isolated EventLoop)
}
