// SPDX-License-Identifier: MIT

/// A member of a loop: reacts to readiness, sends its output, and is closed at its deadline.
protocol LoopMember: AnyObject {
  var descriptor: Int32 { get }
  /// Whether its first request has not arrived yet.
  var isNew: Bool { get }
  /// Since when its peer has accepted none of the pending output, in the loop's time; nil when nothing is pending.
  var blockedTime: UInt64? { get }
  /// Bytes waiting to be sent.
  var backlog: Int { get }
  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop)
  /// Called in the next turn when more was readable than one turn allows.
  func proceed(on loop: isolated EventLoop)
  /// Called at the end of a turn in which the member asked for it with `markDirty`.
  func flush(on loop: isolated EventLoop)
  func deadlineReached(on loop: isolated EventLoop)
  /// The server drains: finish the request in progress, then close.
  func drain(on loop: isolated EventLoop)
  /// Drops everything now.
  func abort(on loop: isolated EventLoop)
}

/// The place of a member in its loop.
struct LoopSlot {
  var member: (any LoopMember)?
  var generation: UInt32 = 0
  /// The member's first request has not arrived yet.
  var isNew = false
  /// The member's socket takes no output.
  var isBlocked = false
  /// Readiness flags reported for the member while it waits in `passing`; zero when it does not.
  var passingFlags: UInt32 = 0
  var deadline: UInt64 = .max
}

/// Takes part in turns of a loop, in addition to its members, while it has something to do.
protocol TurnParticipant: AnyObject {
  /// Called before the turn's events, unless it takes part only since they came; `turnEnds` follows in the same turn.
  func turnBegins(on loop: isolated EventLoop)
  /// Called after the turn's events and work, before output is sent.
  ///
  /// - Returns: Whether it takes part in the next turn, too; otherwise it is not called before
  ///   ``EventLoop/takePart(_:)``.
  func turnEnds(on loop: isolated EventLoop) -> Bool
}

extension TurnParticipant {
  func turnBegins(on loop: isolated EventLoop) {}
}

/// Takes ownership of an accepted socket.
protocol ConnectionAcceptor: AnyObject {
  func accept(_ socket: AcceptedSocket, on loop: isolated EventLoop)
}
