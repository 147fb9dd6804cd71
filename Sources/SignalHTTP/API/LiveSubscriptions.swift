// SPDX-License-Identifier: MIT
import SignalStore

/// The subscriptions of one connection, whatever its wire: begins them, sends their beginnings piece by piece, and
/// ends them with the connection.
final class LiveSubscriptions {
  private let hub: Hub
  private var members: [(id: Int, membership: Membership)] = []
  private var isReplaying = false

  init(hub: Hub) { self.hub = hub }

  var count: Int { members.count }

  /// The smallest positive integer that is not in use.
  var nextID: Int {
    var id = 1
    while members.contains(where: { $0.id == id }) { id += 1 }
    return id
  }

  /// Registers a subscription; nothing of it is sent before `proceed`.
  func add(
    _ options: SubscriptionOptions, _ request: SubscribeRequest, id: Int, wire: Wire, subscriber: any Subscriber,
    on loop: isolated EventLoop
  ) -> Membership {
    let membership = hub.subscribe(
      options, id: id, wire: wire, initial: request.initial, since: request.since, subscriber: subscriber, on: loop)
    members.append((id, membership))
    isReplaying = true
    return membership
  }

  /// Ends one; false when there is none with that id.
  func remove(_ id: Int) -> Bool {
    guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
    hub.cancel(members.remove(at: index).membership)
    return true
  }

  /// Up to where all of them have been given everything; nil while one is in the midst of a snapshot.
  ///
  /// The client subscribes anew to all that it had, from one cursor: the oldest counts.
  var reached: Revision? {
    var oldest = Revision(.max)
    for member in members {
      guard let reached = member.membership.reached(settled: hub.settled) else { return nil }
      oldest = min(oldest, reached)
    }
    return members.isEmpty ? nil : oldest
  }

  func removeAll() {
    for member in members { hub.cancel(member.membership) }
    members = []
  }

  /// Sends the next piece of the first beginning that is not complete; true when something is left to send.
  ///
  /// Called when the socket has taken what it was given, so that a beginning is made at the client's pace.
  func proceed(on loop: isolated EventLoop) -> Bool {
    guard isReplaying else { return false }
    guard let next = members.first(where: { $0.membership.isReplaying }) else {
      isReplaying = false
      return false
    }
    next.membership.proceed(on: loop)
    return true
  }
}
