// SPDX-License-Identifier: MIT

import SignalHTTP
import SignalStore

/// A command, from when it is given until its outcome is known.
// Unchecked: made on one thread and handed to the loop, which alone changes it.
final class PendingCommand: @unchecked Sendable {
  /// The reply with its connection's epoch, or why there is none.
  typealias Completion = @Sendable (Result<Reply, RemoteError>, isolated EventLoop) -> Void

  struct Reply: Sendable {
    let members: Members
    let epoch: String
    /// Of how many operations it is; more than one are a transaction.
    var operations = 1

    /// Whether each of them has made a change, so that the revision is that of their properties.
    var changesAll: Bool { members.bool("changed") ?? (members.number("changed") == UInt64(operations)) }
  }

  /// What a new connection has to repeat, or no more, once the command has succeeded.
  enum Effect: Sendable {
    case none
    /// It has written a property, which is to be held again if it is kept.
    case write(PropertyPath, isKept: Bool)
    case writes([PropertyPath])
    case onDisconnect(isKept: Bool)
  }

  /// The members without `id`.
  let members: [UInt8]
  let effect: Effect
  /// nil is the store's.
  let timeout: Duration?
  private let completion: Completion
  /// Set when it is given to the loop; nil for what has all the time that the connection has.
  var deadline: Duration?
  /// Set when it is sent.
  var id: UInt64?
  private(set) var isDone = false

  init(
    _ members: [UInt8], effect: Effect = .none, timeout: Duration? = nil, _ completion: @escaping Completion
  ) {
    self.members = members
    self.effect = effect
    self.timeout = timeout
    self.completion = completion
  }

  func isLate(_ now: Duration) -> Bool { deadline.map { $0 <= now } ?? false }

  /// Called once; later outcomes are dropped.
  func complete(_ result: Result<Reply, RemoteError>, on loop: isolated EventLoop) {
    guard !isDone else { return }
    isDone = true
    completion(result, loop)
  }
}
