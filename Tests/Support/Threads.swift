// SPDX-License-Identifier: MIT
import Foundation
import Synchronization

/// Runs a body on so many threads of its own at once, and returns when all have returned; the first error is thrown.
///
/// For clients that block: on the threads of tasks they would keep other tests from running.
package func concurrently(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
  let failures = Failures()
  let done = DispatchGroup()
  for index in 0..<count {
    done.enter()
    let thread = Thread {
      do {
        try body(index)
      } catch {
        failures.add(error)
      }
      done.leave()
    }
    thread.stackSize = 1 << 20
    thread.start()
  }
  done.wait()
  if let error = failures.first { throw error }
}

/// The first error of several threads.
private final class Failures: Sendable {
  private let error = Mutex<(any Error)?>(nil)

  var first: (any Error)? { error.withLock { $0 } }

  func add(_ new: any Error) { error.withLock { $0 = $0 ?? new } }
}
