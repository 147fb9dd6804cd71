// SPDX-License-Identifier: MIT

import SignalHTTP
import SignalStore
import Signals
import Synchronization

/// Properties that began to be watched in the same turn: they share a subscription.
// Unchecked: only the loop touches what changes, but for what a mutex guards.
final class PropertyGroup: @unchecked Sendable {
  /// Patterns of a subscription.
  static let limit = 32

  private let session: RemoteSession
  private var members: [PropertyPath: WeakCell] = [:]
  private let position = Mutex<(epoch: String, revision: UInt64)?>(nil)
  private let command: [UInt8]
  /// What they share; it does not keep them alive.
  private(set) lazy var subscription = RemoteSubscription(command, owner: self)

  init(_ session: RemoteSession, _ cells: some Collection<PropertyCell>, on loop: isolated EventLoop) {
    self.session = session
    for cell in cells { members[cell.path] = WeakCell(cell) }
    var command = CommandText("subscribe")
    command.add("match", cells.map(\.path.description))
    command.add("fields", ["path", "value", "revision", "time"])
    self.command = command.members
    for cell in cells { cell.group.withLock { $0 = self } }
  }

  /// Whether the events up to a revision have come.
  func has(_ revision: UInt64, epoch: String) -> Bool {
    position.withLock { $0.map { $0.epoch == epoch && revision <= $0.revision } ?? false }
  }

  func leave(_ path: PropertyPath, on loop: isolated EventLoop) {
    // Another property of the path may have come instead, in a group of its own.
    members[path] = nil
    if members.isEmpty { session.remove(subscription, on: loop) }
  }
}

extension PropertyGroup: SubscriptionOwner {
  func deliver(_ changes: [RemoteChange], on loop: isolated EventLoop) {
    for change in changes {
      guard let cell = members[change.path]?.cell else { continue }
      let entry = subscription.entry(change.path)
      cell.state.update { $0.learn(entry) }
    }
  }

  func reached(_ revision: UInt64?, epoch: String, on loop: isolated EventLoop) {
    position.withLock { $0 = revision.map { (epoch, $0) } }
    for member in members.values { member.cell?.reached(revision, epoch: epoch) }
  }

  func turned(_ state: RemoteState, _ error: RemoteError?, on loop: isolated EventLoop) {
    let cells = members.values.compactMap(\.cell)
    if error != nil, cells.count > 1, !session.isClosed {
      // One of them is at fault, and the others shall not suffer.
      for cell in cells { session.add(PropertyGroup(session, [cell], on: loop).subscription, on: loop) }
      return
    }
    for cell in cells { cell.turned(state, error) }
  }
}
