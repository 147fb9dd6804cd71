// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The live protocol on one WebSocket: commands in, replies and events out (`docs/protocol.md` §3).
final class LiveSession: WebSocketHandler {
  static let subprotocol = "signal.v1.json"

  private let service: LiveService
  private let subscriptions: LiveSubscriptions
  /// The subscription of the URL, begun when the handshake is done.
  private var first: (SubscriptionOptions, SubscribeRequest)?
  private unowned var socket: WebSocket! = nil
  /// Whether events come several in a message.
  private var isBatched: Bool

  init(_ service: LiveService, first: (SubscriptionOptions, SubscribeRequest)?, isBatched: Bool) {
    self.service = service
    self.first = first
    self.isBatched = isBatched
    subscriptions = LiveSubscriptions(hub: service.hub)
  }

  // MARK: WebSocket

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) {
    self.socket = socket
    reply(on: loop) { service.appendHello(messageBytes: service.messageBytes, to: &$0) }
    if let (options, request) = first {
      first = nil
      subscribe(options, request, command: nil, on: loop)
    }
  }

  func received(
    _ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop
  ) {
    do throws(ClientMessage.Refusal) {
      let message = try ClientMessage(message, configuration: service.configuration)
      do throws(Problem) {
        try carryOut(message.command, message.id, on: loop)
      } catch {
        refuse(error, message.id, on: loop)
      }
    } catch {
      refuse(error.problem, error.id, on: loop)
    }
  }

  func drained(_ socket: WebSocket, on loop: isolated EventLoop) {
    if subscriptions.proceed(on: loop) { socket.askForDrained(on: loop) }
  }

  func closed(on loop: isolated EventLoop) { subscriptions.removeAll() }

  // MARK: Commands

  private func carryOut(_ command: ClientCommand, _ id: Int, on loop: isolated EventLoop) throws(Problem) {
    let store = service.store
    switch command {
    case .subscribe(let request):
      guard subscriptions.count < service.configuration.limits.subscriptionsPerConnection else {
        throw Problem(
          .tooManySubscriptions,
          "A connection has at most \(service.configuration.limits.subscriptionsPerConnection) subscriptions.")
      }
      subscribe(try service.options(for: request), request, command: id, on: loop)
    case .unsubscribe(let subscription):
      guard subscriptions.remove(subscription) else {
        throw Problem(.noSuchSubscription, "The connection has no subscription \(subscription).")
      }
      replyOK(id, on: loop) { _ in }
    case .set(let path, let value, let condition, let always):
      let result: OperationResult
      do {
        result = try store.set(path, value, if: condition, always: always)
      } catch {
        throw service.problem(error, inTransaction: false)
      }
      replyWritten(id, result, on: loop)
    case .delete(let path, let condition):
      let result: OperationResult
      do {
        result = try store.delete(path, if: condition)
      } catch {
        throw service.problem(error, inTransaction: false)
      }
      if result.outcome == .unchanged { throw service.notFound(path, at: result.revision) }
      replyWritten(id, result, on: loop)
    case .get(let path):
      let (found, revision) = store.read(bytes: path.bytes.span)
      guard let stored = found else { throw service.notFound(path, at: revision) }
      replyOK(id, on: loop) { text in
        text.append(UInt8(ascii: ","))
        service.appendMembers(of: stored, to: &text)
      }
    case .hello(let batch):
      isBatched = batch ?? isBatched
      replyOK(id, on: loop) { [isBatched] in $0.append(literal: isBatched ? #","batch":true"# : #","batch":false"#) }
    case .ping:
      replyOK(id, on: loop) { Self.appendRevision(store.revision, to: &$0) }
    }
  }

  private func subscribe(
    _ options: SubscriptionOptions, _ request: SubscribeRequest, command: Int?, on loop: isolated EventLoop
  ) {
    let id = subscriptions.nextID
    let membership = subscriptions.add(
      options, request, id: id, wire: .webSocket(batched: isBatched), subscriber: self, on: loop)
    reply(on: loop) { service.appendSubscribed(membership, request, id: id, command: command, to: &$0) }
    if subscriptions.proceed(on: loop) { socket.askForDrained(on: loop) }
  }

  // MARK: Replies

  private func replyOK(_ id: Int, on loop: isolated EventLoop, _ members: (inout [UInt8]) -> Void) {
    reply(on: loop) { text in
      text.append(literal: #"{"id":"#)
      text.appendJSON(id)
      text.append(literal: #","type":"ok""#)
      members(&text)
      text.append(UInt8(ascii: "}"))
    }
  }

  private func replyWritten(_ id: Int, _ result: OperationResult, on loop: isolated EventLoop) {
    replyOK(id, on: loop) { text in
      Self.appendRevision(result.revision, to: &text)
      text.append(literal: result.outcome == .unchanged ? #","changed":false"# : #","changed":true"#)
    }
  }

  private static func appendRevision(_ revision: Revision, to text: inout [UInt8]) {
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
  }

  private func refuse(_ problem: Problem, _ id: Int?, on loop: isolated EventLoop) {
    reply(on: loop) { text in
      text.append(UInt8(ascii: "{"))
      if let id {
        text.append(literal: #""id":"#)
        text.appendJSON(id)
        text.append(UInt8(ascii: ","))
      }
      text.append(literal: #""type":"error","error":"#)
      problem.write(to: &text, asDocument: false)
      text.append(UInt8(ascii: "}"))
    }
  }

  private func reply(on loop: isolated EventLoop, _ write: (inout [UInt8]) -> Void) {
    var text: [UInt8] = []
    write(&text)
    socket.send(text.span, .text, on: loop)
  }
}

extension LiveSession: Subscriber {
  var highWaterMark: Int { service.highWaterMark }

  var isBlocked: Bool { socket.isBlocked }

  var isOverloaded: Bool { socket.isBlocked && socket.backlog > service.highWaterMark }

  func deliver(_ block: [UInt8], on loop: isolated EventLoop) { socket.send(frames: block, on: loop) }

  func tooSlow(on loop: isolated EventLoop) {
    let reason = service.tooSlow(subscriptions)
    subscriptions.removeAll()
    socket.close(.tooSlow, reason: reason, on: loop)
  }

  func waitsForRoom() { subscriptions.waitForRoom() }

  func ended(_ membership: Membership, on loop: isolated EventLoop) { subscriptions.remove(membership) }
}
