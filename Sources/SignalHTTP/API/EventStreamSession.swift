// SPDX-License-Identifier: MIT
import SignalAccess
import SignalStore

/// One subscription as server-sent events (`docs/protocol.md` §5).
final class EventStreamSession: EventStreamHandler {
  let service: LiveService
  let subscriptions: LiveSubscriptions
  private let subscription: CheckedSubscription
  let caller: Caller
  /// One of those that an identity may have.
  private let claim: RateClaim?
  private unowned var stream: EventStream! = nil
  /// Watches over the end of the identity; nil when nobody is known.
  private var watched: IdentityWatch.Entry?
  /// Why who is there is not accepted any more, when that ends the stream.
  private var endReason: String?
  /// What an audit log calls it.
  private static let name = "event stream"

  init(_ service: LiveService, _ subscription: CheckedSubscription, as caller: Caller, _ claim: RateClaim?) {
    self.service = service
    self.claim = claim
    self.caller = caller
    self.subscription = subscription
    subscriptions = LiveSubscriptions(hub: service.hub)
  }

  func opened(_ stream: EventStream, on loop: isolated EventLoop) {
    self.stream = stream
    if let identity = caller.identity {
      watched = service.identities?.add(self, identity, on: loop)
      service.commands.noteSession(.sessionBegan, of: identity, caller.peer, request: Self.name)
    }
    let wire = Wire.eventStream(chunked: stream.isChunked)
    var block = FrameBlock(wire, epoch: service.commands.epoch)
    let begun = subscriptions.add(subscription, id: 1, wire: wire, subscriber: self, on: loop)
    block.append { service.append(begun, to: nil, &$0.bytes) }
    service.noteDependence(ofEvents: subscription.isOfEvents)
    stream.send(answer: block.take().first, on: loop)
    drained(stream, on: loop)
  }

  func drained(_ stream: EventStream, on loop: isolated EventLoop) {
    if subscriptions.proceed(on: loop) { stream.askForDrained(on: loop) }
  }

  func closed(on loop: isolated EventLoop) {
    subscriptions.removeAll()
    if let watched = watched.take() { service.identities?.remove(watched) }
    if let identity = caller.identity {
      service.commands.noteSession(.sessionEnded, of: identity, caller.peer, request: Self.name, outcome: endReason)
    }
  }
}

extension EventStreamSession: IdentifiedSession {
  /// An event stream cannot be renewed: its client opens another one.
  func identityExpires(inSeconds seconds: Int, on loop: isolated EventLoop) {}

  func identityEnded(_ reason: String, on loop: isolated EventLoop) {
    subscriptions.removeAll()
    endReason = reason
    stream.connection.observation?.tell(.closing(.unauthenticated, reason: reason))
    stream.close(comment: reason, on: loop)
  }
}

extension EventStreamSession: Subscriber {
  var outlet: any Outlet { stream.connection }

  func tooSlow(on loop: isolated EventLoop) {
    let reason = service.tooSlow(subscriptions)
    loop.counters.add(.droppedTooSlow)
    subscriptions.removeAll()
    stream.connection.observation?.tell(.closing(.tooSlow, reason: reason))
    stream.close(comment: reason, on: loop)
  }

  var filterWork: RecentWork {
    get { subscriptions.filterWork }
    set { subscriptions.filterWork = newValue }
  }

  func waitsForRoom() {
    subscriptions.waitForRoom()
    stream.expectDrained()
  }

  func accessChanged(_ membership: Membership, on loop: isolated EventLoop) {
    let wire = Wire.eventStream(chunked: stream.isChunked)
    subscriptions.restart(membership, wire: wire, service, as: caller, subscriber: self, on: loop)
    service.noteDependence(ofEvents: !membership.isResumable)
    drained(stream, on: loop)
  }

  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop) {
    if subscriptions.end(subscription, ifForbidden: service, to: caller, on: loop) {
      stream.close(comment: "that is not allowed any more", on: loop)
    }
  }

  func ended(_ membership: Membership, on loop: isolated EventLoop) {
    subscriptions.remove(membership)
    stream.close(comment: "that was all", on: loop)
  }
}
