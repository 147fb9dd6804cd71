// SPDX-License-Identifier: MIT

/// What a loop may still spend in this turn on work whose size clients determine: each kind has a limit of its own, so
/// that none waits for another.
///
/// Each piece of work is charged to its kind, whose remainder may fall below zero by one piece. Where nothing is left,
/// the work continues in the next turn (`EventLoop.continueInNextTurn`), and all other work is served in between.
struct TurnWork {
  /// About a millisecond, in the units of CEL's budget.
  static let defaultLimit = 100_000

  /// The limit of each kind at the beginning of a turn.
  let limit: Int
  /// Requests that evaluate expressions: lists, explanations, conditions of waits.
  var requests: Int
  /// Beginnings of subscriptions: snapshots and missed changes.
  var replays: Int
  /// Routing changes to subscribers.
  var routing: Int
  /// Routing messages of signals to subscribers.
  var signals: Int
  /// Routing changes to waiting requests.
  var waits: Int
  /// Removing subscriptions that have ended.
  var endings: Int

  init(limit: Int) {
    self.limit = limit
    (requests, replays, routing, signals, waits, endings) = (limit, limit, limit, limit, limit, limit)
  }

  /// Begins a new turn.
  mutating func begin() { self = TurnWork(limit: limit) }
}
