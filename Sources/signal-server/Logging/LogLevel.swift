// SPDX-License-Identifier: MIT
import Logging
import Synchronization

/// The least severe level that is logged, for all loggers of the process; it can change while they are used.
final class LogLevel: Sendable {
  private let index: Atomic<Int>

  init(_ level: Settings.Log.Level) { index = Atomic(Self.index(of: level)) }

  var value: Logger.Level { Logger.Level.allCases[index.load(ordering: .relaxed)] }

  func change(to level: Settings.Log.Level) { index.store(Self.index(of: level), ordering: .relaxed) }

  // Both have the same names, in the same order.
  private static func index(of level: Settings.Log.Level) -> Int {
    Logger.Level.allCases.firstIndex { $0.rawValue == level.rawValue } ?? 0
  }
}
