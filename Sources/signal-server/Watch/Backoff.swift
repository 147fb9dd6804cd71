// SPDX-License-Identifier: MIT

/// How long to wait before the next attempt to connect.
struct Backoff: Equatable, Sendable {
  /// The wait after the first failure; it doubles with each one.
  var first = Duration.milliseconds(250)
  /// The longest wait.
  var longest = Duration.seconds(15)

  /// The wait after a number of failures in a row, at least one.
  ///
  /// Between half and all of the doubled time: the clients of a server that restarts do not come back at one instant.
  func delay(after failures: Int, random: Double) -> Duration {
    var whole = first
    for _ in 1..<max(failures, 1) where whole < longest { whole *= 2 }
    return min(whole, longest) * (0.5 + random / 2)
  }
}
