// SPDX-License-Identifier: MIT

/// What shows the events of a subscription together, drawn anew from time to time, instead of a line for each event.
protocol WatchView: AnyObject {
  /// Whether every change counts: only then are values remembered, and is what was missed while there was no connection
  /// asked for. Otherwise a new connection begins with what happens then.
  var isComplete: Bool { get }

  /// Takes what has happened to one path.
  func take(_ line: WatchFold.Line)

  /// Takes the size of a message that has come.
  func receive(bytes: Int)

  /// Takes how many events the server left out.
  func leaveOut(_ count: UInt64)

  /// Shows what is to be known of the connection, or that there is nothing any more.
  func say(_ text: String?)

  /// Draws, if that is due.
  ///
  /// - Returns: How long until the next drawing; nil when it was the last one.
  func draw(at now: ContinuousClock.Instant) -> Duration?
}
