// SPDX-License-Identifier: MIT
import Foundation

/// Runs `body` on `count` threads of their own that start together, and waits for all of them.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Void) {
  let gate = DispatchSemaphore(value: 0)
  let group = DispatchGroup()
  for index in 0..<count {
    group.enter()
    Thread.detachNewThread {
      gate.wait()
      body(index)
      group.leave()
    }
  }
  for _ in 0..<count { gate.signal() }
  group.wait()
}
