// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// The live protocol on one WebSocket: commands in, replies and events out (`docs/protocol.md` §3).
final class LiveSession: WebSocketHandler {
  static let subprotocol = "signal.v1.json"

  let service: LiveService
  let subscriptions: LiveSubscriptions
  var caller: Caller
  /// What the client has used of what it may do; nil when it is not limited.
  var account: RateAccount?
  /// One of the connections that an identity may have.
  var claim: RateClaim?
  /// Watches over the end of the identity; nil while there is none, and none is waited for.
  var watched: IdentityWatch.Entry?
  /// Whether nothing is served until somebody has said who is there.
  var isAwaitingIdentity: Bool
  /// The subscription in the URL, begun when the handshake is complete.
  private var first: CheckedSubscription?
  /// The same where it has to be said first who is there.
  private var postponed: RequestedSubscription?
  private(set) unowned var socket: WebSocket! = nil
  /// Whether several events are sent in one message.
  private var isBatched: Bool
  /// Why who is there is not accepted any more, when that ends the connection.
  var endReason: String?
  /// What an audit log calls it.
  static let name = "WebSocket"
  /// Commands that another node of a cluster executes; empty where there is none.
  var forwarded = ForwardedQueue()
  /// Whether something may have to be done at the end of the connection.
  var mayHold = false
  /// Whether the reply to the current command waits until what was written is durable.
  private var isSynced = false

  /// - Parameters:
  ///   - caller: The origin of the request that becomes the WebSocket.
  ///   - claim: One of the connections that its identity may have.
  ///   - awaitingIdentity: Whether nothing is served until the client has said who it is.
  ///   - postponed: What the URL asks for, if that has to be judged then.
  init(
    _ service: LiveService, as caller: Caller, _ claim: RateClaim?, first: CheckedSubscription?, isBatched: Bool,
    awaitingIdentity: Bool = false, thenRequesting postponed: RequestedSubscription? = nil
  ) {
    self.service = service
    self.claim = claim
    account = service.account(of: caller.identity, caller.peer)
    self.first = first
    self.postponed = postponed
    self.isBatched = isBatched
    self.caller = service.commands.makeHolding(caller)
    isAwaitingIdentity = awaitingIdentity
    subscriptions = LiveSubscriptions(hub: service.hub)
  }

  // MARK: WebSocket

  func opened(_ socket: WebSocket, on loop: isolated EventLoop) {
    self.socket = socket
    if let identity = caller.identity {
      noteIdentity()
      service.commands.noteSession(.sessionBegan, of: identity, caller.peer, request: Self.name)
    }
    beginWatching(on: loop)
    if !isAwaitingIdentity { greet(on: loop) }
  }

  /// Says hello, and begins the subscription of the URL.
  func greet(on loop: isolated EventLoop) {
    reply(on: loop) { service.appendHello(messageBytes: service.messageBytes, to: &$0) }
    if let first = first.take() { begin(first, command: nil, on: loop) }
    guard let postponed = postponed.take() else { return }
    do throws(Problem) {
      begin(try service.subscription(postponed, as: caller), command: nil, on: loop)
    } catch {
      refuse(error, nil, "subscribe", on: loop)
    }
  }

  func received(
    _ message: Span<UInt8>, _ kind: MessageKind, from socket: WebSocket, on loop: isolated EventLoop
  ) {
    defer { if let account { count(message.count, account, on: loop) } }
    if isForwarded(message) { return queue(message, on: loop) }
    execute(message, on: loop)
  }

  /// Executes a message here.
  ///
  /// - Parameter hasWaited: Whether it has waited for what it needs of other nodes.
  func execute(_ message: Span<UInt8>, hasWaited: Bool = false, on loop: isolated EventLoop) {
    if !isAwaitingIdentity, let command = PlainCommand(message, values: service.configuration.values),
      execute(command, in: message, on: loop)
    {
      return
    }
    do throws(ClientMessage.Refusal) {
      let bytes = message
      let message = try ClientMessage(
        bytes, configuration: service.configuration, operationLimit: service.commands.limits.transactionOperations,
        holder: caller.holder)
      do throws(Problem) {
        try checkIdentity(for: message.command)
        if !hasWaited, try needsWatchers(message.command) { return queue(bytes, on: loop) }
        if message.isSynced { try service.commands.checkDurability() }
        isSynced = message.isSynced
        mayHold = mayHold || message.command.mayHold
        if !(try execute(message.command, message.id, on: loop)) { forward(bytes, message, on: loop) }
        isSynced = false
      } catch {
        isSynced = false
        if message.command.isWrite, error.code.dependsOnState, service.cluster != nil {
          return forward(bytes, message, on: loop)
        }
        refuse(error, message.id, message.command.name, on: loop)
      }
    } catch {
      refuse(error.problem, error.id, "", on: loop)
    }
  }

  func drained(_ socket: WebSocket, on loop: isolated EventLoop) {
    proceed(on: loop)
  }

  func closing(_ socket: WebSocket, on loop: isolated EventLoop) {
    subscriptions.removeAll()
    // RFC 6455 §5.5.1: nothing follows the Close frame, so nothing is done for which there would be a reply.
    abandonQueue()
  }

  func closed(on loop: isolated EventLoop) {
    subscriptions.removeAll()
    if account != nil { service.paused.remove(self) }
    endWatching()
    if let identity = caller.identity {
      service.commands.noteSession(.sessionEnded, of: identity, caller.peer, request: Self.name, outcome: endReason)
    }
    abandonQueue()
    if let cluster = service.cluster {
      // Where everything is decided, and only once, whoever that is by then.
      if mayHold { cluster.forward(ForwardedCommand(.end, from: caller)) { _ in } }
    } else {
      service.commands.end(caller)
    }
  }

  /// Counts a message, and reads no other one while there is no room for it.
  private func count(_ size: Int, _ account: RateAccount, on loop: isolated EventLoop) {
    let wait = account.debit(size, service.allowance(of: caller.identity), at: loop.now)
    guard wait > 0, socket.pause() else { return }
    service.paused.add(self, for: wait, atMost: service.rateLimits.pauseTimeout, on: loop)
  }

  // MARK: Commands

  /// Executes a command; returns false when nothing has been done: the path is invalid, or there is no such property.
  private func execute(_ command: PlainCommand, in message: Span<UInt8>, on loop: isolated EventLoop) -> Bool {
    let path = message.extracting(command.path)
    switch command.action {
    case .get:
      guard let stored = try? service.commands.read(bytes: path, as: caller).value else { return false }
      replyFound(command.id, stored, watchers: nil, on: loop)
    case .set(let value):
      guard let path = try? PropertyPath(bytes: path, limits: service.configuration.paths) else { return false }
      do throws(Problem) {
        let result = try service.commands.set(path, value, as: caller)
        // It is read again as a whole, and then forwarded.
        if !result.isChange, service.cluster != nil { return false }
        replyWritten(command.id, result, on: loop)
      } catch {
        if error.code.dependsOnState, service.cluster != nil { return false }
        refuse(error, command.id, "set", on: loop)
      }
    }
    return true
  }

  /// - Returns: Whether it is answered. It is not where nothing was changed at a node of a cluster, as another one may
  ///   have decided since.
  private func execute(_ command: ClientCommand, _ id: Int, on loop: isolated EventLoop) throws(Problem) -> Bool {
    let commands = service.commands
    let isDeciding = service.cluster == nil
    switch command {
    case .send(let request):
      try commands.send(request, as: caller)
      replyOK(id, on: loop) { _ in }
    case .onDisconnect(let operations, let command):
      try commands.keep(onDisconnect: operations, as: caller, in: command)
      replyOK(id, on: loop) { _ in }
    case .subscribe(let request):
      try checkRoom()
      begin(try service.subscription(request, as: caller), command: id, on: loop)
    case .subscribeToDemand(let patterns):
      try checkRoom()
      begin(try service.subscription(toDemand: patterns, as: caller), command: id, on: loop)
    case .unsubscribe(let subscription):
      guard subscriptions.remove(subscription) else {
        throw Problem(.noSuchSubscription, "The connection has no subscription \(subscription).")
      }
      replyOK(id, on: loop) { _ in }
    case .write(let request):
      let result = try commands.execute(request, as: caller)
      guard isDeciding || result.isChange else { return false }
      replyWritten(id, result, on: loop)
    case .patch(let request):
      let result = try commands.patch(request, as: caller)
      guard isDeciding || result.isChange else { return false }
      replyWritten(id, result, on: loop)
    case .transact(let requests):
      let result = try commands.execute(requests, as: caller)
      guard isDeciding || result.results.contains(where: \.isChange) else { return false }
      reply(on: loop) { LiveReply.append(result, id, to: &$0) }
    case .get(let path, let watchers):
      let (found, revision) = try commands.read(bytes: path.bytes.span, as: caller)
      if watchers { try commands.checkWatchers(path, as: caller) }
      guard let stored = found else { throw commands.notFound(path, at: revision) }
      replyFound(id, stored, watchers: watchers ? service.hub.watchers.count(path) : nil, on: loop)
    case .hello(let batch):
      isBatched = batch ?? isBatched
      replyOK(id, on: loop) { [isBatched] in $0.append(literal: isBatched ? #","batch":true"# : #","batch":false"#) }
    case .authenticate(let token): try authenticate(token, id, on: loop)
    case .ping:
      replyOK(id, on: loop) { LiveReply.appendRevision(commands.revision, to: &$0) }
    }
    return true
  }

  private func begin(_ subscription: CheckedSubscription, command: Int?, on loop: isolated EventLoop) {
    let begun = subscriptions.add(
      subscription, id: nextID, wire: .webSocket(batched: isBatched), subscriber: self, on: loop)
    if subscription.isOfEvents { service.noteDependence(ofEvents: true) }
    reply(on: loop) { service.append(begun, to: command, &$0) }
    proceed(on: loop)
  }

  /// Sends pending output of subscriptions, after the replies.
  private func proceed(on loop: isolated EventLoop) {
    socket.sendCollected(on: loop)
    if subscriptions.proceed(on: loop) { socket.askForDrained(on: loop) }
  }

  /// From now on the client is somebody else, or has other claims: what it sees begins anew, as far as it is something
  /// else.
  func change(to identity: Identity, on loop: isolated EventLoop) {
    let before = caller
    caller.identity = identity
    noteIdentity()
    for membership in subscriptions.changed(between: before, and: caller, service) {
      accessChanged(membership, on: loop)
    }
    for subscription in subscriptions.demanding { accessChanged(subscription, on: loop) }
  }

  /// Compresses nothing any more, unless that is done for those who are known, too.
  private func noteIdentity() {
    guard socket.compressesOutput, !service.compression.permits(identified: true) else { return }
    socket.compressesOutput = false
    leaveWindow()
    subscriptions.chooseForms()
  }

  private func checkRoom() throws(Problem) {
    let limit = service.configuration.limits.subscriptionsPerConnection
    guard subscriptions.count < limit else {
      throw Problem(.tooManySubscriptions, "A connection has at most \(limit) subscriptions.")
    }
  }

  /// The smallest positive integer that is not used as an id.
  private var nextID: Int {
    var id = 1
    while subscriptions.contains(id) { id += 1 }
    return id
  }

  // MARK: Replies

  func replyOK(_ id: Int, on loop: isolated EventLoop, _ members: (inout [UInt8]) -> Void) {
    reply(on: loop) { LiveReply.appendOK(id, to: &$0, members) }
  }

  private func replyFound(_ id: Int, _ stored: StoredValue, watchers: Int?, on loop: isolated EventLoop) {
    replyOK(id, on: loop) { text in
      text.append(UInt8(ascii: ","))
      stored.appendMembers(to: &text)
      guard let watchers else { return }
      text.append(literal: #","watchers":"#)
      text.appendJSON(watchers)
    }
  }

  private func replyWritten(_ id: Int, _ result: OperationResult, on loop: isolated EventLoop) {
    reply(on: loop) { LiveReply.append(result, id, to: &$0) }
  }

  private func refuse(_ problem: Problem, _ id: Int?, _ command: String, on loop: isolated EventLoop) {
    service.commands.note(problem, of: caller.identity, caller.peer, request: command)
    loop.countRefusal(problem.code.rawValue)
    socket.connection.observation?.tell(
      .refusedCommand(status: problem.code.status, code: problem.code.rawValue))
    reply(on: loop) { LiveReply.append(problem, id, to: &$0) }
  }

  func reply(on loop: isolated EventLoop, _ write: (inout [UInt8]) -> Void) {
    service.noteDependence()
    if isSynced { service.awaitDurability() }
    service.withReply { text in
      write(&text)
      socket.send(text.span, .text, on: loop)
    }
  }
}

extension LiveSession: PausableSession {
  var waitingSince: UInt64? { socket.waitingSince }

  func timeToRoom(on loop: isolated EventLoop) -> UInt64 {
    account?.wait(service.allowance(of: caller.identity), at: loop.now) ?? 0
  }

  func resume(on loop: isolated EventLoop) { socket.resume(on: loop) }

  func pausedTooLong(on loop: isolated EventLoop) {
    // There may be room for one, and yet too much is waiting.
    let seconds = max((timeToRoom(on: loop) + 999_999_999) / 1_000_000_000, 1)
    service.commands.audit?.record(
      AuditEvent(
        .limitExceeded, identity: caller.identity, peer: caller.peer, request: Self.name, outcome: "closed",
        subject: RateAccount.Kind.requests.rawValue))
    socket.close(.tooMuch, reason: "too much, connect again in \(seconds) s", on: loop)
  }
}

extension LiveSession: Subscriber {
  var outlet: any Outlet { socket.connection }

  func tooSlow(on loop: isolated EventLoop) {
    let reason = service.tooSlow(subscriptions)
    loop.counters.add(.droppedTooSlow)
    socket.close(.tooSlow, reason: reason, on: loop)
  }

  var filterWork: RecentWork {
    get { subscriptions.filterWork }
    set { subscriptions.filterWork = newValue }
  }

  func waitsForRoom() {
    subscriptions.waitForRoom()
    socket.expectDrained()
  }

  func accessChanged(_ membership: Membership, on loop: isolated EventLoop) {
    subscriptions.restart(
      membership, wire: .webSocket(batched: isBatched), service, as: caller, subscriber: self, on: loop)
    service.noteDependence(ofEvents: !membership.isResumable)
    proceed(on: loop)
  }

  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop) {
    _ = subscriptions.end(subscription, ifForbidden: service, to: caller, on: loop)
  }

  func ended(_ membership: Membership, on loop: isolated EventLoop) { subscriptions.remove(membership) }

  var compression: FrameCompression {
    guard let deflate = socket.deflate, socket.compressesOutput else { return .none }
    return deflate.allowsWindow ? .window : .alone(largest: deflate.largestAlone)
  }

  var isInWindow: Bool { socket.isInWindow }

  func enterWindow(_ membership: Membership) -> Bool {
    guard subscriptions.enterWindow(membership) else { return false }
    socket.isInWindow = true
    return true
  }

  func leaveWindow() {
    socket.isInWindow = false
    subscriptions.leaveWindow()
  }
}
