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

/// A place where threads wait until all of them have come; then it can be used again.
///
/// They sleep: threads that spin take the processor from the one they wait for.
final class Barrier: Sendable {
  private let condition = NSCondition()
  private let count: Int
  private let state = Box((arrived: 0, round: 0))

  init(_ count: Int) { self.count = count }

  func wait() {
    condition.lock()
    defer { condition.unlock() }
    let round = state.value.round
    if state.update({
      $0.arrived += 1; return $0.arrived
    }) == count {
      state.value = (0, round + 1)
      condition.broadcast()
    } else {
      while state.value.round == round { condition.wait() }
    }
  }
}

/// How long the tests with several threads go on.
enum Effort {
  /// 1, or what the environment variable `SIGNAL_STRESS_RUNS` says.
  static let runs = ProcessInfo.processInfo.environment["SIGNAL_STRESS_RUNS"].flatMap { Int($0) } ?? 1
}
