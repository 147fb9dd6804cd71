// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// A compiled `where` of a subscription to signals: over `path`, `message` and `time`.
///
/// Two are equal when the bytes of their texts are.
final class SignalFilter: Hashable, Sendable {
  private static let environment = CELEnvironment(variables: [
    CELVariable("path", .string), CELVariable("message"), CELVariable("time", .timestamp),
  ])

  private let program: Program

  init(_ source: String, limits: CELLimits) throws(CELError) {
    program = try Program(filter: source, environment: Self.environment, limits: limits)
  }

  // By bytes: two texts that look alike may hold strings that the language tells apart.
  static func == (a: SignalFilter, b: SignalFilter) -> Bool {
    a === b || a.program.source.utf8.elementsEqual(b.program.source.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in program.source.utf8 { hasher.combine(byte) }
  }

  /// Whether it holds for a message; an error is no match (rule 6).
  ///
  /// - Parameter work: What that has cost is taken from it.
  func holds(for message: borrowing FilteredMessage, work: inout Int) -> Bool {
    var budget = Int.max
    defer { work -= Int.max - budget }
    return program.match(message.activation, budget: &budget) == .yes
  }

  /// What the filters of all groups see of one message, made once.
  struct FilteredMessage {
    fileprivate let activation: Activation

    init(_ message: SignalMessage) {
      var activation = Activation()
      activation.bind(0, to: .string(message.path.description))
      activation.bind(1, to: JSONTree(message.message))
      let milliseconds = message.time.milliseconds
      let seconds = milliseconds >= 0 ? milliseconds / 1000 : (milliseconds - 999) / 1000
      activation.bind(
        2, to: .timestamp(seconds: seconds, nanoseconds: Int32((milliseconds - seconds * 1000) * 1_000_000)))
      self.activation = activation
    }
  }
}
