// SPDX-License-Identifier: MIT
import Foundation
import TestSupport

/// The descriptors of this process.
func descriptors() throws -> Int {
  try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count
}

/// Waits until there are no more than before, because a server closes what its clients have left a moment later; ends
/// the process when that does not happen.
func awaitDescriptors(atMost limit: Int) throws {
  let deadline = ContinuousClock.now + LiveClient.patience
  while true {
    let count = try descriptors()
    if count <= limit { return }
    guard .now < deadline else { fatalError("\(count) descriptors instead of \(limit)") }
    sched_yield()
  }
}
