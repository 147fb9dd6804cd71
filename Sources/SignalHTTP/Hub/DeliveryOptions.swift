// SPDX-License-Identifier: MIT
import JSON

/// How the events of a subscription are to come: every one, or the newest of each path, and how often
/// (`docs/protocol.md` §4 rule 5).
struct DeliveryOptions: Hashable {
  /// What happens to a client that is slower than the changes.
  enum Mode: String, CaseIterable {
    /// Every change, until the client is behind; then the newest of each path, and back.
    case auto
    /// Every change; a client that is behind is ended.
    case all
    /// The newest of each path, as soon as the client is behind at all.
    case latest
  }

  var mode = Mode.auto
  /// Events per second and path; nil is any number.
  var maxRate: Double?
  var deadband: Deadband?

  /// Whether events are collected, the newest of each path, and sent together.
  var isPaced: Bool { mode == .latest || maxRate != nil }

  /// The least time between two deliveries, in nanoseconds.
  var interval: UInt64 {
    guard let maxRate else { return 0 }
    return UInt64((1e9 / maxRate).rounded())
  }
}

/// How far a number must be from the one that was told last, to be told.
enum Deadband: Hashable {
  /// At least this far.
  case absolute(Double)
  /// At least this many hundredths of the one that was told.
  case percent(Double)

  /// Whether the way from a number that was told to another is too short to be told.
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
