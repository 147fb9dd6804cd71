// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The subscription that a URL asks for, read and not yet validated.
///
/// Indirect, because it is large, and every session would otherwise reserve the space.
indirect enum RequestedSubscription {
  case events(SubscribeRequest)
  /// A subscription to demand for whatever overlaps with these patterns.
  case demand([PathPattern])
}

/// What a subscription takes of what there is, until its last reference.
final class SubscriptionClaim: Sendable {
  private let memory: MemoryClaim?
  private let place: RateClaim?

  init(_ memory: MemoryClaim?, _ place: RateClaim?) {
    self.memory = memory
    self.place = place
  }
}

/// A validated subscription, with what is claimed for it.
///
/// Indirect, because it is large, and every session would otherwise reserve the space.
indirect enum CheckedSubscription {
  /// A subscription to events, with the audience, where there are rules, and why it begins with a reset.
  case events(SubscriptionOptions, SubscribeRequest, SubscriptionClaim?, audience: String?, reset: ResetReason?)
  /// A subscription to demand for whatever overlaps with these patterns.
  case demand([PathPattern], SubscriptionClaim?)

  /// Whether it is one to messages.
  var isOfEvents: Bool { if case .events(_, let request, _, _, _) = self { request.topic == .signals } else { false } }
}

/// What the reply to a subscription reports.
struct BegunSubscription {
  let id: Int
  /// The store's revision at the beginning.
  let revision: Revision
  var recovered: Bool?
  /// The name of those who may see the same; nil where there are no rules.
  var audience: String?
  var delivery = DeliveryRequest()
}

/// The subscriptions of one connection, for any wire: begins them, sends their beginnings piece by piece, and ends them
/// with the connection.
final class LiveSubscriptions {
  private let hub: Hub
  // Each with its claim, which is released with it.
  private var members: [(id: Int, membership: Membership, request: SubscribeRequest, claim: SubscriptionClaim?)] = []
  private var demands: [(id: Int, subscription: DemandSubscription, claim: SubscriptionClaim?)] = []
  /// The one that is in the window of its group.
  private var inWindow: Membership?
  /// Whether there is work to do when the socket has taken everything.
  private var hasWork = false
  /// The recent cost of the connection's expensive filters.
  var filterWork = RecentWork()

  init(hub: Hub) { self.hub = hub }

  var count: Int { members.count + demands.count }

  /// What is told of a subscription to those who operate the server.
  struct Description {
    let id: Int
    let patterns: [PathPattern]
    /// The member of the command that the patterns were in.
    let member: StaticString
    var filter: String?
    var mode: DeliveryOptions.Mode?
    var maxRate: Double?
    var gaps = 0
    var isBehind = false

    func write(to text: inout [UInt8]) {
      text.append(literal: #"{"id":"#)
      text.appendJSON(id)
      text.append(literal: #",""#)
      text.append(literal: member)
      text.append(literal: #"":["#)
      for (index, pattern) in patterns.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text.appendJSON(pattern.description)
      }
      text.append(UInt8(ascii: "]"))
      if let filter {
        text.append(literal: #","where":"#)
        text.appendJSON(filter)
      }
      if let mode {
        text.append(literal: #","mode":"#)
        text.appendJSON(mode.rawValue)
      }
      if let maxRate {
        text.append(literal: #","maxRate":"#)
        GrantedDelivery.append(maxRate, to: &text)
      }
      text.append(literal: #","gaps":"#)
      text.appendJSON(gaps)
      text.append(literal: #","behind":"#)
      text.appendJSON(isBehind)
      text.append(UInt8(ascii: "}"))
    }
  }

  /// The subscriptions as the client has asked for them.
  var all: [Description] {
    members.map { id, membership, request, _ in
      Description(
        id: id, patterns: request.patterns, member: request.topic == .signals ? "signals" : "match",
        filter: request.filter, mode: request.delivery.mode, maxRate: request.delivery.maxRate, gaps: membership.gaps,
        isBehind: membership.isBehind && membership.hasMissed)
    }
      + demands.map { id, subscription, _ in
        Description(id: id, patterns: subscription.patterns, member: "demand")
      }
  }

  func contains(_ id: Int) -> Bool {
    members.contains { $0.id == id } || demands.contains { $0.id == id }
  }

  /// Registers a subscription; nothing is sent for it before `proceed`.
  func add(
    _ subscription: CheckedSubscription, id: Int, wire: Wire, subscriber: any Subscriber, on loop: isolated EventLoop
  ) -> BegunSubscription {
    switch subscription {
    case .events(let options, let request, let claim, let audience, let reset):
      let membership = add(
        options, request, claim, id: id, wire: wire, reset: reset, subscriber: subscriber, on: loop)
      return BegunSubscription(
        id: id, revision: membership.revision, recovered: membership.recovered, audience: audience,
        delivery: request.delivery)
    case .demand(let patterns, let claim):
      let subscription = hub.subscribe(
        demand: patterns, id: id, wire: wire, subscriber: subscriber, on: loop)
      demands.append((id, subscription, claim))
      hasWork = true
      return BegunSubscription(id: id, revision: subscription.revision)
    }
  }

  /// The same for a subscription to events.
  func add(
    _ options: SubscriptionOptions, _ request: SubscribeRequest, _ claim: SubscriptionClaim?, id: Int, wire: Wire,
    reset: ResetReason? = nil, subscriber: any Subscriber, on loop: isolated EventLoop
  ) -> Membership {
    let membership = hub.subscribe(
      options, id: id, wire: wire, initial: request.initial, since: request.since,
      take: request.delivery.take, reset: reset, subscriber: subscriber, on: loop)
    members.append((id, membership, request, claim))
    hasWork = true
    return membership
  }

  /// Begins a subscription anew, with `reset` and a snapshot, because what it may see has changed.
  func restart(
    _ membership: Membership, wire: Wire, _ service: LiveService, as caller: Caller, subscriber: any Subscriber,
    on loop: isolated EventLoop
  ) {
    guard let index = members.firstIndex(where: { $0.membership === membership }) else { return }
    let (id, _, request, _) = members[index]
    // Its expressions have been compiled before; what it may see can be nothing now.
    guard let options = try? service.options(for: request, as: caller, orNothing: true) else { return }
    hub.cancel(membership)
    members[index].membership = hub.subscribe(
      options, id: id, wire: wire, initial: false, since: nil, take: membership.wanted, reset: .access,
      subscriber: subscriber, on: loop)
    hasWork = true
  }

  /// Ends a subscription to demand whose subscriber may not have it any more; true when it did.
  func end(
    _ subscription: DemandSubscription, ifForbidden service: LiveService, to caller: Caller,
    on loop: isolated EventLoop
  ) -> Bool {
    guard (try? service.commands.checkDemand(subscription.patterns, as: caller)) == nil,
      let index = demands.firstIndex(where: { $0.subscription === subscription })
    else { return false }
    hub.cancel(demands.remove(at: index).subscription)
    subscription.sendEnd(on: loop)
    return true
  }

  /// The subscriptions to demand.
  var demanding: [DemandSubscription] { demands.map(\.subscription) }

  /// The subscriptions in which two callers see something else.
  func changed(between old: Caller, and new: Caller, _ service: LiveService) -> [Membership] {
    members.filter { service.view(of: $0.request, as: old) != service.view(of: $0.request, as: new) }.map(\.membership)
  }

  /// Ends a subscription; false when there is none with that id.
  func remove(_ id: Int) -> Bool {
    if let index = demands.firstIndex(where: { $0.id == id }) {
      hub.cancel(demands.remove(at: index).subscription)
      return true
    }
    guard let index = members.firstIndex(where: { $0.id == id }) else { return false }
    hub.cancel(members.remove(at: index).membership)
    return true
  }

  // MARK: Compression

  /// Whether one of them is in the window of its group.
  var isInWindow: Bool { inWindow != nil }

  /// A subscription is about to be in the window of its group; false when another is in its own.
  ///
  /// The client would take anything else compressed for part of the window: the others get frames that are not.
  func enterWindow(_ membership: Membership) -> Bool {
    guard inWindow == nil else { return false }
    inWindow = membership
    for member in members where member.membership !== membership { member.membership.chooseForm() }
    return true
  }

  /// The subscription that is in a window, if any, leaves it.
  func leaveWindow() {
    guard let left = inWindow.take() else { return }
    left.leaveWindow()
    chooseForms()
  }

  /// Lets each choose the form of its frames anew.
  func chooseForms() { for member in members { member.membership.chooseForm() } }

  // MARK: Work

  /// Removes a subscription that has ended by itself.
  func remove(_ membership: Membership) {
    guard let index = members.firstIndex(where: { $0.membership === membership }) else { return }
    hub.cancel(members.remove(at: index).membership)
  }

  /// A subscription has something to send when the socket has taken everything.
  func waitForRoom() { hasWork = true }

  /// The revision up to which all of them have been sent everything; nil while one is sending a snapshot.
  ///
  /// The client resubscribes to everything from one cursor: the oldest counts.
  var reached: Revision? {
    var oldest = Revision(.max)
    for (_, membership, _, _) in members where membership.isResumable {
      guard let reached = membership.reached(settled: hub.settled) else { return nil }
      oldest = min(oldest, reached)
    }
    return oldest == Revision(.max) ? nil : oldest
  }

  func removeAll() {
    for member in members { hub.cancel(member.membership) }
    members = []
    for demand in demands { hub.cancel(demand.subscription) }
    demands = []
  }

  /// Sends the next piece of the first beginning that is not complete, or what a lagging subscription missed; true when
  /// something may be left to send.
  ///
  /// Called when the socket has taken what was sent, so that a beginning is made at the client's pace.
  func proceed(on loop: isolated EventLoop) -> Bool {
    guard hasWork else { return false }
    if let next = members.first(where: { $0.membership.isReplaying }) {
      next.membership.proceed(on: loop)
      return true
    }
    hasWork = false
    for (_, membership, _, _) in members where membership.isBehind {
      guard membership.group.drained(membership, on: loop) else { continue }
      hasWork = true
      return true
    }
    if let demand = demands.first(where: { $0.subscription.hasWork }) {
      demand.subscription.proceed(on: loop)
      return true
    }
    return false
  }
}

extension Connection: Outlet {
  var highWaterMark: Int { limits.highWaterMark }
}
