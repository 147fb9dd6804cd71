// SPDX-License-Identifier: MIT
import Glibc

/// Something was not so in time.
package struct NeverSo: Error, CustomStringConvertible {
  package let description: String
}

/// Waits until something is so.
///
/// - Parameters:
///   - what: What is waited for, to be told when it does not come.
///   - patience: How long.
package func eventually(
  _ what: String = "what was waited for", within patience: Duration = .seconds(60), _ isSo: () throws -> Bool
) throws {
  let deadline = ContinuousClock.now + patience
  while !(try isSo()) {
    guard ContinuousClock.now < deadline else { throw NeverSo(description: "not within \(patience): \(what)") }
    usleep(2000)
  }
}
