// SPDX-License-Identifier: MIT

/// How the memory of a server is divided.
///
/// Each share has a refusal of its own, made before memory is allocated: a client that exhausts one does not affect the
/// others. The rest is for what cannot be refused beforehand, output that clients do not accept; when it is used up,
/// the connections are dropped that have been blocked for the longest time.
package struct MemoryShares: Sendable, Equatable {
  /// All memory of the process.
  package let total: Int
  /// Properties, with their paths.
  package let properties: Int
  /// The changes that are kept for resuming subscriptions.
  package let history: Int
  /// The last messages of signals that keep them.
  package let remembered: Int
  /// What waits to be written to disk.
  package let queue: Int
  /// Incomplete requests and messages.
  package let requests: Int
  /// Connections.
  package let connections: Int
  /// Subscriptions.
  package let subscriptions: Int

  /// The least memory with which a server can run.
  package static let least = 64 << 20
  /// The program itself, and its working memory.
  private static let base = 32 << 20

  /// - Parameter total: At least ``least``.
  package init(of total: Int) {
    self.total = total
    let rest = max(0, total - MemoryShares.base) / 100
    properties = rest * 40
    history = rest * 10
    remembered = rest * 5
    queue = rest * 5
    requests = rest * 10
    connections = rest * 5
    subscriptions = rest * 10
  }
}
