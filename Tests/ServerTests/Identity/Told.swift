// SPDX-License-Identifier: MIT
import Synchronization

/// What an observer was told, from whichever thread.
final class Told: Sendable {
  private let texts = Mutex<[String]>([])

  func add(_ text: String) { texts.withLock { $0.append(text) } }

  var all: [String] { texts.withLock { $0 } }
}
