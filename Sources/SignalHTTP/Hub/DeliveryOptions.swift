// SPDX-License-Identifier: MIT
import JSON

/// How the events of a subscription are delivered: every one, or the newest of each path, and how often
/// (`docs/protocol.md` §4 rule 5).
struct DeliveryOptions: Hashable {
  /// What happens to a client that is slower than the changes.
  enum Mode: String, CaseIterable {
    /// Every change, until the client lags; then the newest of each path, until it has caught up.
    case auto
    /// Every change; a client that lags is disconnected.
    case all
    /// The newest of each path, as soon as the client lags at all.
    case latest
  }

  var mode = Mode.auto
  /// Events per second and path; nil is unlimited.
  var maxRate: Double?
  var deadband: Deadband?

  /// Whether events are collected, the newest of each path, and sent together.
  var isPaced: Bool { mode == .latest || maxRate != nil }

  /// The minimum time between two deliveries, in nanoseconds.
  var interval: UInt64 {
    guard let maxRate else { return 0 }
    return UInt64((1e9 / maxRate).rounded())
  }
}

/// How much a number must differ from the last one sent, to be sent.
enum Deadband: Hashable {
  /// By at least this amount.
  case absolute(Double)
  /// By at least this percentage of the last one sent.
  case percent(Double)

  /// Whether a value is too close to the last one sent to be sent.
  func hides(_ value: Double, since told: Double) -> Bool {
    switch self {
    case .absolute(let band): abs(value - told) < band
    case .percent(let share): abs(value - told) < abs(told) * share / 100
    }
  }
}

/// The members that events of a change carry; `type`, `subscription` and `more` are always there.
struct EventFields: OptionSet, Hashable {
  let rawValue: UInt8

  static let path = EventFields(rawValue: 1)
  static let value = EventFields(rawValue: 2)
  static let oldValue = EventFields(rawValue: 4)
  static let entered = EventFields(rawValue: 8)
  static let op = EventFields(rawValue: 16)
  static let revision = EventFields(rawValue: 32)
  static let time = EventFields(rawValue: 64)
  static let all = EventFields(rawValue: 127)

  /// All of them, by their names on the wire.
  static let named: [(name: String, field: EventFields)] = [
    ("path", .path), ("value", .value), ("oldValue", .oldValue), ("entered", .entered), ("op", .op),
    ("revision", .revision), ("time", .time),
  ]
}
