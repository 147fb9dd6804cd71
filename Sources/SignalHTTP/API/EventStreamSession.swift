// SPDX-License-Identifier: MIT
import SignalStore

/// One subscription as server-sent events (`docs/protocol.md` §5).
final class EventStreamSession: EventStreamHandler {
  private let service: LiveService
  private let subscriptions: LiveSubscriptions
  private let options: SubscriptionOptions
  private let request: SubscribeRequest
  private unowned var stream: EventStream! = nil

  init(_ service: LiveService, _ options: SubscriptionOptions, _ request: SubscribeRequest) {
    self.service = service
    self.options = options
    self.request = request
    subscriptions = LiveSubscriptions(hub: service.hub)
  }

  func opened(_ stream: EventStream, on loop: isolated EventLoop) {
    self.stream = stream
    let wire = Wire.eventStream(chunked: stream.isChunked)
    let membership = subscriptions.add(options, request, id: 1, wire: wire, subscriber: self, on: loop)
    var block = FrameBlock(wire, epoch: service.store.epoch)
    block.append { service.appendSubscribed(membership, request, id: 1, command: nil, to: &$0) }
    deliver(block.take(), on: loop)
    drained(stream, on: loop)
  }

  func drained(_ stream: EventStream, on loop: isolated EventLoop) {
    if subscriptions.proceed(on: loop) { stream.askForDrained(on: loop) }
  }

  func closed(on loop: isolated EventLoop) { subscriptions.removeAll() }
}

extension EventStreamSession: Subscriber {
  var highWaterMark: Int { service.highWaterMark }

  var isBlocked: Bool { stream.isBlocked }

  var isOverloaded: Bool { stream.isBlocked && stream.backlog > service.highWaterMark }

  func deliver(_ block: [UInt8], on loop: isolated EventLoop) { stream.send(frames: block, on: loop) }

  func tooSlow(on loop: isolated EventLoop) {
    let reason = service.tooSlow(subscriptions)
    subscriptions.removeAll()
    stream.close(comment: reason, on: loop)
  }

  func waitsForRoom() { subscriptions.waitForRoom() }

  func ended(_ membership: Membership, on loop: isolated EventLoop) {
    subscriptions.remove(membership)
    stream.close(comment: "that was all", on: loop)
  }
}
