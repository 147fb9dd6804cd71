// SPDX-License-Identifier: MIT

/// An answer that waits for something to happen, on the loop of its connection.
///
/// Exactly one of the methods below is called, unless the responder has been used before.
protocol RequestWait: AnyObject {
  /// Whether the time until its answer is that of work, and not of something that the client waits for.
  var isTimed: Bool { get }

  /// Called when the wait has timed out, or when the server or the client ends the connection: answer now.
  func timeIsUp(on loop: isolated EventLoop)

  /// Called when the request has been abandoned: release everything.
  func abandoned(on loop: isolated EventLoop)
}

extension RequestWait {
  /// It is.
  var isTimed: Bool { true }
}
