// SPDX-License-Identifier: MIT

import SignalHTTP

/// A command, from when it is given until its outcome is known.
// Unchecked: made on one thread and handed to the loop, which alone changes it.
final class PendingCommand: @unchecked Sendable {
  /// The reply with its connection's epoch, or why there is none.
  typealias Completion = @Sendable (Result<Reply, RemoteError>, isolated EventLoop) -> Void

  struct Reply: Sendable {
    let members: Members
    let epoch: String
  }

  /// The members without `id`.
  let members: [UInt8]
  /// nil is the store's.
  let timeout: Duration?
  private let completion: Completion
  /// Set when it is given to the loop.
  var deadline = Duration.zero
  /// Set when it is sent.
  var id: UInt64?
  private(set) var isDone = false

  init(_ members: [UInt8], timeout: Duration? = nil, _ completion: @escaping Completion) {
    self.members = members
    self.timeout = timeout
    self.completion = completion
  }

  /// Called once; later outcomes are dropped.
  func complete(_ result: Result<Reply, RemoteError>, on loop: isolated EventLoop) {
    guard !isDone else { return }
    isDone = true
    completion(result, loop)
  }
}
