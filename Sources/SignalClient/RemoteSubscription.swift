// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
import SignalStore
import Synchronization

/// Who is told what a ``RemoteSubscription`` makes of the events; called on the loop.
protocol SubscriptionOwner: AnyObject, Sendable {
  /// The changes of one revision, or of a snapshot; everything is known already.
  func deliver(_ changes: [RemoteChange], on loop: isolated EventLoop)
  func deliver(_ message: RemoteMessage, on loop: isolated EventLoop)
  /// A snapshot has the values that are known, of other revisions.
  func confirm(_ paths: [PropertyPath], on loop: isolated EventLoop)
  /// It has another state; `error` is why it ended, if that was not asked for.
  func turned(_ state: RemoteState, _ error: RemoteError?, on loop: isolated EventLoop)
  /// Everything up to this revision has been delivered; nil when that is not certain.
  func reached(_ revision: UInt64?, epoch: String, on loop: isolated EventLoop)
}

extension SubscriptionOwner {
  func deliver(_ message: RemoteMessage, on loop: isolated EventLoop) {}
  func confirm(_ paths: [PropertyPath], on loop: isolated EventLoop) {}
  func reached(_ revision: UInt64?, epoch: String, on loop: isolated EventLoop) {}
}

/// One subscription across all connections, and the fold of its events (docs/guide/clients.md).
///
///     connecting ── ok ─▶ snapshot ── live ─▶ live ── lost ─▶ stale ── ok ─▶ missed, or reset ── live ─▶ live
///
/// A snapshot is applied at its `live`, a transaction or a gap at its last event. So what is shown is the state of one
/// revision, and what a lost connection has cut is sent again as a whole.
// Unchecked: only the loop touches it, which the compiler checks by the parameter `loop`, but for what a mutex guards.
final class RemoteSubscription: @unchecked Sendable {
  /// What can be read from every thread.
  struct Shown: Sendable {
    var state = RemoteState.connecting
    var error: RemoteError?
    var known: [PropertyPath: RemoteEntry] = [:]
    var leftOut: UInt64 = 0
    /// Whether it has had all the events that it was to take.
    var isComplete = false
  }

  private let command: [UInt8]
  private let isForSignals: Bool
  private let hasFilter: Bool
  private let beginsWithSnapshot: Bool
  /// Events to take; nil for all.
  private let take: Int?
  private weak let owner: (any SubscriptionOwner)?
  let shown = Mutex(Shown())

  private var cursor: (epoch: String, revision: UInt64)?
  /// Goes with the cursor: what is offered counts from the end of the snapshot on.
  private var audience: String?
  private var offered: String?
  /// Events that have been applied.
  private var taken = 0
  private var snapshot: [(path: PropertyPath, change: RemoteChange, entry: RemoteEntry)]?
  private var unit: [(change: RemoteChange, entry: RemoteEntry?)] = []

  /// - Parameter owner: is not kept alive.
  init(
    _ command: [UInt8], isForSignals: Bool = false, hasFilter: Bool = false, initial: Bool = true, take: Int? = nil,
    owner: any SubscriptionOwner
  ) {
    self.command = command
    self.isForSignals = isForSignals
    self.hasFilter = hasFilter
    beginsWithSnapshot = initial
    self.take = take
    self.owner = owner
  }

  /// Whose it is, if it is for properties.
  var group: PropertyGroup? { owner as? PropertyGroup }

  var state: RemoteState { shown.withLock { $0.state } }

  func entry(_ path: PropertyPath) -> RemoteEntry? { shown.withLock { $0.known[path] } }

  /// The command for a new connection; nil when there is nothing left to ask for.
  func begin(on loop: isolated EventLoop) -> [UInt8]? {
    unit = []
    snapshot = nil
    var text = CommandText(members: command)
    if let take {
      // One that is asked for none at first is for the server to refuse.
      guard taken == 0 || taken < take else { return nil }
      text.add("take", take - taken)
    }
    if let cursor {
      text.add("since", "\(cursor.epoch).\(cursor.revision)")
      text.add("audience", audience)
    }
    return text.members
  }

  /// The server has granted it.
  func granted(_ reply: Members, on loop: isolated EventLoop) {
    offered = reply.string("audience")
    if reply.bool("recovered") == nil, beginsWithSnapshot, !isForSignals { snapshot = [] }
  }

  func turn(_ state: RemoteState, _ error: RemoteError? = nil, on loop: isolated EventLoop) {
    let isNew = shown.withLock { shown in
      guard shown.state != state, shown.state != .closed else { return false }
      shown.state = state
      shown.error = error
      return true
    }
    if isNew { owner?.turned(state, error, on: loop) }
  }

  /// It has had all it was to take.
  func complete(on loop: isolated EventLoop) {
    shown.withLock { $0.isComplete = true }
    turn(.closed, on: loop)
  }

  /// Takes an event of it; whether it can be understood.
  func receive(_ type: String, _ event: Members, epoch: String, on loop: isolated EventLoop) -> Bool {
    switch type {
    case "didSet", "didDelete", "didExpire", "didExit":
      guard let kind = RemoteChange.Kind(rawValue: type), let path = event.path() else { return false }
      return take(RemoteChange(kind, path, event), event, epoch, on: loop)
    case "gap":
      guard let count = event.number("count"), let to = event.number("to") else { return false }
      shown.withLock { shown in
        let (sum, isTooMuch) = shown.leftOut.addingReportingOverflow(count)
        shown.leftOut = isTooMuch ? .max : sum
      }
      if event.bool("more") != true { finish(to, epoch, on: loop) }
    case "reset":
      if let audience = event.string("audience") { offered = audience }
      snapshot = []
      unit = []
    case "live":
      guard let revision = event.number("revision") else { return false }
      withTransaction {
        replace(isWhole: true, on: loop)
        reach(revision, epoch, on: loop)
      }
      turn(.live, on: loop)
    case "bookmark":
      guard let revision = event.number("revision") else { return false }
      reach(revision, epoch, on: loop)
    case "signal":
      guard let path = event.path(), let message = event.text("message") else { return false }
      taken += 1
      owner?.deliver(
        RemoteMessage(
          path: path, message: message, time: event.string("time"), isRemembered: event.bool("remembered") ?? false),
        on: loop)
    case "end":
      withTransaction {
        replace(isWhole: false, on: loop)
        finish(event.number("revision"), epoch, on: loop)
      }
      complete(on: loop)
    default: break
    }
    return true
  }

  private func take(
    _ change: RemoteChange, _ event: Members, _ epoch: String, on loop: isolated EventLoop
  ) -> Bool {
    guard let revision = change.revision else { return false }
    var entry: RemoteEntry?
    if change.kind == .set {
      guard let value = change.value else { return false }
      let made = RemoteEntry(value, revision, epoch, event)
      if snapshot != nil {
        snapshot?.append((change.path, change, made))
        return true
      }
      entry = made
    }
    unit.append((change, entry))
    if event.bool("more") != true { finish(revision, epoch, on: loop) }
    return true
  }

  /// A snapshot takes the place of what is known; one cut by `take` says nothing of what it does not hold.
  private func replace(isWhole: Bool, on loop: isolated EventLoop) {
    guard let snapshot else { return }
    self.snapshot = nil
    taken += snapshot.count
    var changes: [RemoteChange] = []
    var confirmed: [PropertyPath] = []
    shown.withLock { shown in
      var held: Set<PropertyPath> = []
      for (path, change, entry) in snapshot {
        if isWhole { held.insert(path) }
        let before = shown.known.updateValue(entry, forKey: path)
        guard before?.value != entry.value else {
          confirmed.append(path)
          continue
        }
        var change = change
        if let before { change.oldValue = before.value }
        changes.append(change)
      }
      guard isWhole, held.count < shown.known.count else { return }
      for (path, before) in shown.known where !held.contains(path) {
        changes.append(RemoteChange(gone: path, hasFilter ? .exit : .delete, old: before.value))
      }
      for change in changes where change.value == nil { shown.known[change.path] = nil }
    }
    if !confirmed.isEmpty { owner?.confirm(confirmed, on: loop) }
    if !changes.isEmpty { owner?.deliver(changes, on: loop) }
  }

  /// Applies the unit as a whole.
  private func finish(_ revision: UInt64?, _ epoch: String, on loop: isolated EventLoop) {
    taken += unit.count
    var changes: [RemoteChange] = []
    changes.reserveCapacity(unit.count)
    shown.withLock { shown in
      for (change, entry) in unit {
        let before = shown.known[change.path]
        if let entry {
          shown.known[change.path] = entry
        } else if before != nil {
          shown.known[change.path] = nil
        } else if !hasFilter || change.kind == .exit {
          // The end of what was never shown is news only to a filter that asks for ends.
          continue
        }
        var change = change
        if change.oldValue == nil { change.oldValue = before?.value }
        changes.append(change)
      }
    }
    unit.removeAll(keepingCapacity: true)
    if changes.count < 2 {
      if !changes.isEmpty { owner?.deliver(changes, on: loop) }
      return reach(revision, epoch, on: loop)
    }
    // Several properties of one revision are one step for their observers, too.
    withTransaction {
      owner?.deliver(changes, on: loop)
      reach(revision, epoch, on: loop)
    }
  }

  private func reach(_ revision: UInt64?, _ epoch: String, on loop: isolated EventLoop) {
    // Signals have no cursor, although their `live` has a revision; nor has an `end` in the midst of a snapshot.
    if !isForSignals, let revision {
      cursor = (epoch, revision)
      audience = offered
    }
    owner?.reached(revision, epoch: epoch, on: loop)
  }
}
