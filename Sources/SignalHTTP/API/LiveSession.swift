// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The subscription that a URL asks for, checked.
///
/// Indirect, because it is large, and every session that lives would keep the place.
indirect enum FirstSubscription {
  case properties(SubscriptionOptions, SubscribeRequest)
  case signals(SignalOptions, SignalSubscribeRequest)
  /// To what others watch, of what overlaps with these patterns.
  case demand([PathPattern])
}

/// The live protocol on one WebSocket: commands in, replies and events out (`docs/protocol.md` §3).
final class LiveSession: WebSocketHandler {
  static let subprotocol = "signal.v1.json"

  private let service: LiveService
  private let subscriptions: LiveSubscriptions
  private let signals: SignalSubscriptions
  /// The connection, as the holder of what it sets with `"hold":true`.
  private let holder: Holder
  /// What is done when the connection ends.
  private var atEnd: [DisconnectOperation] = []
  /// The subscription of the URL, begun when the handshake is done.
  private var first: FirstSubscription?
  private unowned var socket: WebSocket! = nil
  /// Whether events come several in a message.
  private var isBatched: Bool

  init(_ service: LiveService, first: FirstSubscription?, isBatched: Bool) {
    self.service = service
    self.first = first
    self.isBatched = isBatched
    holder = service.store.makeHolder()
    subscriptions = LiveSubscriptions(hub: service.hub)
    signals = SignalSubscriptions(service)
  }

  // MARK: WebSocket

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) {
    self.socket = socket
    reply(on: loop) { service.appendHello(messageBytes: service.messageBytes, to: &$0) }
    let first = first
    self.first = nil
    switch first {
    case .properties(let options, let request): subscribe(options, request, command: nil, on: loop)
    case .signals(let options, let request): subscribe(options, request, command: nil, on: loop)
    case .demand(let patterns): subscribe(demand: patterns, command: nil, on: loop)
    case nil: break
    }
  }

  func received(
    _ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop
  ) {
    do throws(ClientMessage.Refusal) {
      let message = try ClientMessage(
        message, configuration: service.configuration, operationLimit: service.store.limits.operations,
        holder: holder)
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
    proceed(on: loop)
  }

  func closing(_ socket: WebSocket, on loop: isolated EventLoop) { endSubscriptions() }

  func closed(on loop: isolated EventLoop) {
    endSubscriptions()
    let operations = atEnd
    atEnd = []
    service.carryOut(atEnd: operations)
    // Behind these, so that one of them may say what is to become of what was held.
    service.store.release(holder)
  }

  // MARK: Commands

  private func carryOut(_ command: ClientCommand, _ id: Int, on loop: isolated EventLoop) throws(Problem) {
    let store = service.store
    switch command {
    case .subscribeSignals(let request):
      try checkRoom()
      subscribe(try service.options(for: request), request, command: id, on: loop)
    case .send(let request):
      try service.send(request)
      replyOK(id, on: loop) { _ in }
    case .onDisconnect(let operations):
      try service.check(operations)
      atEnd = operations
      replyOK(id, on: loop) { _ in }
    case .subscribe(let request):
      try checkRoom()
      subscribe(try service.options(for: request), request, command: id, on: loop)
    case .subscribeToDemand(let patterns):
      try checkRoom()
      subscribe(demand: patterns, command: id, on: loop)
    case .unsubscribe(let subscription):
      guard subscriptions.remove(subscription) || signals.remove(subscription) else {
        throw Problem(.noSuchSubscription, "The connection has no subscription \(subscription).")
      }
      replyOK(id, on: loop) { _ in }
    case .write(let request):
      let result = try service.carryOut(request)
      if result.outcome == .unchanged, request.isDeletion {
        throw service.notFound(request.path, at: result.revision)
      }
      replyWritten(id, result, on: loop)
    case .patch(let request):
      let result = try service.patch(
        request.path, request.patch, request.condition, filter: request.filter, always: request.always,
        ttl: request.ttl, holder: request.holder)
      replyWritten(id, result, on: loop)
    case .transact(let requests):
      let result = try service.carryOut(requests)
      replyOK(id, on: loop) { text in
        Self.appendRevision(result.revision, to: &text)
        text.append(literal: #","changed":"#)
        text.appendJSON(result.results.count { $0.outcome != .unchanged })
      }
    case .get(let path, let watchers):
      let (found, revision) = store.read(bytes: path.bytes.span)
      guard let stored = found else { throw service.notFound(path, at: revision) }
      replyOK(id, on: loop) { text in
        text.append(UInt8(ascii: ","))
        service.appendMembers(of: stored, to: &text)
        guard watchers else { return }
        text.append(literal: #","watchers":"#)
        text.appendJSON(service.hub.watchers.count(path))
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
    let id = nextID
    let membership = subscriptions.add(
      options, request, id: id, wire: .webSocket(batched: isBatched), subscriber: self, on: loop)
    reply(on: loop) { service.appendSubscribed(membership, request, id: id, command: command, to: &$0) }
    proceed(on: loop)
  }

  private func subscribe(
    _ options: SignalOptions, _ request: SignalSubscribeRequest, command: Int?, on loop: isolated EventLoop
  ) {
    let id = nextID
    signals.add(options, request, id: id, wire: .webSocket(batched: isBatched), subscriber: self)
    reply(on: loop) { service.appendSubscribed(id: id, command: command, to: &$0) }
    proceed(on: loop)
  }

  private func subscribe(demand patterns: [PathPattern], command: Int?, on loop: isolated EventLoop) {
    let id = nextID
    subscriptions.add(demand: patterns, id: id, wire: .webSocket(batched: isBatched), subscriber: self)
    reply(on: loop) { service.appendSubscribed(id: id, command: command, to: &$0) }
    proceed(on: loop)
  }

  private func endSubscriptions() {
    subscriptions.removeAll()
    signals.removeAll()
  }

  /// Sends what subscriptions have to say, behind the replies.
  private func proceed(on loop: isolated EventLoop) {
    socket.sendCollected(on: loop)
    if subscriptions.proceed(on: loop) || signals.proceed(on: loop) { socket.askForDrained(on: loop) }
  }

  private func checkRoom() throws(Problem) {
    let limit = service.configuration.limits.subscriptionsPerConnection
    guard subscriptions.count + signals.count < limit else {
      throw Problem(.tooManySubscriptions, "A connection has at most \(limit) subscriptions.")
    }
  }

  /// The smallest positive integer that is not in use.
  private var nextID: Int {
    var id = 1
    while subscriptions.contains(id) || signals.contains(id) { id += 1 }
    return id
  }

  // MARK: Replies

  private func replyOK(_ id: Int, on loop: isolated EventLoop, _ members: (inout [UInt8]) -> Void) {
    reply(on: loop) { text in
      LiveService.appendReply(to: id, &text)
      text.append(literal: #""type":"ok""#)
      members(&text)
      text.append(UInt8(ascii: "}"))
    }
  }

  private func replyWritten(_ id: Int, _ result: OperationResult, on loop: isolated EventLoop) {
    replyOK(id, on: loop) { text in
      Self.appendRevision(result.revision, to: &text)
      text.append(literal: result.outcome == .unchanged ? #","changed":false"# : #","changed":true"#)
      if let stored = result.value { LiveEventWriter.appendExpires(of: stored, to: &text) }
    }
  }

  private static func appendRevision(_ revision: Revision, to text: inout [UInt8]) {
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
  }

  private func refuse(_ problem: Problem, _ id: Int?, on loop: isolated EventLoop) {
    socket.connection.observation?.tell(
      .refusedCommand(status: problem.code.status, code: problem.code.rawValue))
    reply(on: loop) { text in
      LiveService.appendReply(to: id, &text)
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
  var outlet: any Outlet { socket.connection }

  func tooSlow(on loop: isolated EventLoop) {
    let reason = service.tooSlow(subscriptions)
    socket.close(.tooSlow, reason: reason, on: loop)
  }

  func waitsForRoom() {
    subscriptions.waitForRoom()
    socket.expectDrained()
  }

  func ended(_ membership: Membership, on loop: isolated EventLoop) { subscriptions.remove(membership) }
}
