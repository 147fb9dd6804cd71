// SPDX-License-Identifier: MIT

/// What a loop may still spend in this turn on work whose size others decide: each kind has a limit of its own, so
/// that none waits for another.
///
/// Whoever works takes what it has used from its kind, which may end below zero by one piece of work. Where nothing is
/// left it goes on in the next turn (`EventLoop.continueInNextTurn`), and everyone else is served in between.
struct TurnWork {
  /// About a millisecond, in the units of CEL's budget.
  static let defaultLimit = 100_000

  /// What each kind has at the beginning of a turn.
  let limit: Int
  /// Requests that evaluate expressions: lists, explanations, conditions of waits.
  var requests: Int
  /// The beginnings of subscriptions.
  var replays: Int
  /// Changes on their way to subscribers.
  var routing: Int
  /// Messages of signals on their way to subscribers.
  var signals: Int
  /// Changes on their way to requests that wait for them.
  var waits: Int
  /// Subscriptions that have ended and are taken out.
  var endings: Int

  init(limit: Int) {
    self.limit = limit
    (requests, replays, routing, signals, waits, endings) = (limit, limit, limit, limit, limit, limit)
  }

  /// A new turn.
  mutating func begin() { self = TurnWork(limit: limit) }
}
