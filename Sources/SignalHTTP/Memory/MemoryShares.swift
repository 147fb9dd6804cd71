// SPDX-License-Identifier: MIT

/// How the memory of a server is divided.
///
/// Each share has a refusal of its own, made before the memory is taken: whoever exhausts one leaves the others theirs.
/// What is left belongs to what cannot be refused beforehand, output that its clients do not take; when it is used up,
/// those are dropped who have taken nothing for longest.
package struct MemoryShares: Sendable, Equatable {
  /// All memory of the process.
  package let total: Int
  /// Properties, with their paths.
  package let properties: Int
  /// The changes that are kept for those who resume.
  package let history: Int
  /// The last messages of signals that keep them.
  package let remembered: Int
  /// What waits to be written to disk.
  package let queue: Int
  /// Requests and messages that have not come as a whole.
  package let requests: Int
  /// Connections.
  package let connections: Int
  /// Subscriptions.
  package let subscriptions: Int

  /// The least that a server can do with.
  package static let least = 64 << 20
  /// The program itself, and what it takes for work under way.
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
