// SPDX-License-Identifier: MIT

import SignalHTTP
import SignalStore
import Signals
import Synchronization

/// Properties that began to be watched in the same turn: they share a subscription.
// Unchecked: only the loop touches what changes, but for what a mutex guards.
final class PropertyGroup: @unchecked Sendable {
  /// How far events have come, and who waits for some of them.
  private struct Progress {
    var epoch = ""
    var revision: UInt64?
    /// Members with a set that the server has answered, each once, for the last of its sets.
    var waiting: [(cell: WeakCell, id: UInt64, epoch: String, revision: UInt64)] = []

    func has(_ revision: UInt64, _ epoch: String) -> Bool {
      self.epoch == epoch && self.revision.map { revision <= $0 } == true
    }

    mutating func add(_ revision: UInt64, _ epoch: String, _ cell: PropertyCell) {
      if let index = waiting.firstIndex(where: { $0.id == cell.id }) {
        (waiting[index].epoch, waiting[index].revision) = (epoch, revision)
      } else {
        waiting.append((WeakCell(cell), cell.id, epoch, revision))
      }
    }

    /// The next set that waits no more: its event has come, or will not, because the store has forgotten it.
    mutating func next() -> WeakCell? {
      guard let index = waiting.firstIndex(where: { $0.epoch != epoch || has($0.revision, $0.epoch) }) else {
        return nil
      }
      return waiting.remove(at: index).cell
    }
  }

  /// Patterns of a subscription.
  static let limit = 32
  /// Small groups that there may be: a server takes 128 subscriptions of a connection.
  static let smallLimit = 32

  private let session: RemoteSession
  private var members: [PropertyPath: WeakCell] = [:]
  private let progress = Mutex(Progress())
  private let command: [UInt8]
  /// The properties that it began with.
  private let size: Int
  /// What they share; it does not keep them alive.
  private(set) lazy var subscription = RemoteSubscription(command, owner: self)

  private init(_ session: RemoteSession, _ cells: some Collection<PropertyCell>, on loop: isolated EventLoop) {
    self.session = session
    for cell in cells { members[cell.path] = WeakCell(cell) }
    var command = CommandText("subscribe")
    command.add("match", cells.map(\.path.description))
    command.add("fields", ["path", "value", "revision", "time"])
    self.command = command.members
    size = cells.count
    for cell in cells {
      cell.group.withLock { $0 = self }
      // It may have been told to wait by a group that is gone.
      guard let confirmed = cell.state.value.confirmed else { continue }
      progress.withLock { $0.add(confirmed.revision, confirmed.epoch, cell) }
    }
  }

  /// Watches properties together, which keep their group.
  static func begin(_ session: RemoteSession, _ cells: some Collection<PropertyCell>, on loop: isolated EventLoop) {
    guard !cells.isEmpty else { return }
    let group = PropertyGroup(session, cells, on: loop)
    withExtendedLifetime(group) { session.add(group.subscription, on: loop) }
  }

  /// Whether it could be part of another group.
  func isSmall(on loop: isolated EventLoop) -> Bool { members.count <= Self.limit / 2 }

  /// Ends it, and gives its properties, for another group.
  func dissolve(on loop: isolated EventLoop) -> [PropertyCell] {
    let cells = members.values.compactMap(\.cell)
    members = [:]
    session.remove(subscription, on: loop)
    return cells
  }

  /// Whether a set of a property has to be shown until its event comes; then ``CellState/reached(_:epoch:)`` is called.
  func awaits(_ revision: UInt64, epoch: String, for cell: PropertyCell) -> Bool {
    progress.withLock { progress in
      if progress.has(revision, epoch) { return false }
      progress.add(revision, epoch, cell)
      return true
    }
  }

  func leave(_ path: PropertyPath, on loop: isolated EventLoop) {
    // Another property of the path may have come instead, in a group of its own.
    members[path] = nil
    progress.withLock { $0.waiting.removeAll { $0.cell.cell == nil } }
    if members.isEmpty {
      session.remove(subscription, on: loop)
    } else if members.count * 2 < size {
      // Otherwise the server would send for ever what nobody wants any more.
      PropertyGroup.begin(session, dissolve(on: loop), on: loop)
    }
  }
}

extension PropertyGroup: SubscriptionOwner {
  func deliver(_ changes: [RemoteChange], on loop: isolated EventLoop) {
    for change in changes { learn(change.path) }
  }

  func confirm(_ paths: [PropertyPath], on loop: isolated EventLoop) {
    for path in paths { learn(path) }
  }

  private func learn(_ path: PropertyPath) {
    guard let cell = members[path]?.cell else { return }
    let entry = subscription.entry(path)
    cell.state.update { $0.learn(entry) }
  }

  func reached(_ revision: UInt64?, epoch: String, on loop: isolated EventLoop) {
    guard let revision else { return }
    progress.withLock { progress in
      progress.epoch = epoch
      progress.revision = revision
    }
    while let waiting = progress.withLock({ $0.next() }) { waiting.cell?.reached(revision, epoch: epoch) }
  }

  func turned(_ state: RemoteState, _ error: RemoteError?, on loop: isolated EventLoop) {
    let cells = members.values.compactMap(\.cell)
    if error != nil, cells.count > 1, !session.isClosed {
      // One of them is at fault, and the others shall not suffer.
      for cell in cells { PropertyGroup.begin(session, [cell], on: loop) }
      return
    }
    for cell in cells {
      // What another group has shown before may be gone.
      if state == .live, subscription.entry(cell.path) == nil { cell.state.update { $0.learn(nil) } }
      cell.turned(state, error)
    }
  }
}
