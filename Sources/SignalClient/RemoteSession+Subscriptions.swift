// SPDX-License-Identifier: MIT

import SignalHTTP
import Synchronization

extension RemoteSession {
  /// Watches, on this connection and on all later ones.
  func add(_ subscription: RemoteSubscription, on loop: isolated EventLoop) {
    guard !isClosed else { return subscription.turn(.closed, error.withLock { $0 }, on: loop) }
    guard subscription.state != .closed else { return }
    subscriptions[ObjectIdentifier(subscription)] = subscription
    order.append(subscription)
    if isReady { request(subscription, on: loop) }
  }

  /// Ends it.
  func remove(_ subscription: RemoteSubscription, on loop: isolated EventLoop) {
    let isKnown = subscriptions[ObjectIdentifier(subscription)] != nil
    subscription.turn(.closed, on: loop)
    guard isKnown else { return }
    forget(subscription)
    for (id, other) in granted where other === subscription {
      granted[id] = nil
      unsubscribe(id, on: loop)
    }
    turn(on: loop)
  }

  func forget(_ subscription: RemoteSubscription) {
    subscriptions[ObjectIdentifier(subscription)] = nil
    order.removeAll { $0 === subscription }
  }

  func request(_ subscription: RemoteSubscription, on loop: isolated EventLoop) {
    guard let begin = subscription.begin(on: loop) else {
      // It has had all the events that it was to take, and only its end was lost.
      forget(subscription)
      return subscription.complete(on: loop)
    }
    // Without a deadline: late, it is granted all the same, and a silent server is noticed elsewhere.
    let command = PendingCommand(begin) { [weak self] result, loop in
      self?.answered(subscription, result, on: loop)
    }
    transmit(command, on: loop)
  }

  private func answered(
    _ subscription: RemoteSubscription, _ result: Result<PendingCommand.Reply, RemoteError>,
    on loop: isolated EventLoop
  ) {
    let isWanted = subscriptions[ObjectIdentifier(subscription)] != nil
    switch result {
    case .success(let reply):
      guard let id = reply.members.number("subscription") else { return }
      guard isWanted else { return unsubscribe(id, on: loop) }
      granted[id] = subscription
      subscription.granted(reply.members, on: loop)
    case .failure(let error):
      guard isWanted, error.outcome != .unknown else { return }
      if error.isTemporary {
        report(error)
        return again(on: loop) { session, loop in
          guard session.subscriptions[ObjectIdentifier(subscription)] != nil else { return }
          session.request(subscription, on: loop)
        }
      }
      forget(subscription)
      subscription.turn(.closed, error, on: loop)
      turn(on: loop)
    }
  }

  private func unsubscribe(_ id: UInt64, on loop: isolated EventLoop) {
    var command = CommandText("unsubscribe")
    command.add("subscription", id)
    tell(command.members, on: loop)
  }

  // MARK: Properties

  /// Lets a property be watched; those that begin in the same turn share a subscription.
  func join(_ cell: PropertyCell, on loop: isolated EventLoop) { joining.append(WeakCell(cell)) }

  func joinAll(on loop: isolated EventLoop) {
    guard !joining.isEmpty else { return }
    var cells = joining.compactMap(\.cell)
    joining = []
    let small = order.compactMap(\.group).filter { $0.isSmall(on: loop) }
    if small.count >= PropertyGroup.smallLimit { cells += small.flatMap { $0.dissolve(on: loop) } }
    for start in stride(from: 0, to: cells.count, by: PropertyGroup.limit) {
      let members = cells[start..<min(start + PropertyGroup.limit, cells.count)]
      PropertyGroup.begin(self, members, on: loop)
    }
  }
}
