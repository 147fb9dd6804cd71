// SPDX-License-Identifier: MIT

import JSON
import SignalHTTP
import SignalStore
import Signals
import Synchronization

/// What a ``RemoteStore`` does on its loop: one connection that comes back by itself, and everything that goes over it.
///
/// Commands wait for a connection; subscriptions are asked for again on each one, and resume where they were.
// Unchecked: only the loop touches its state, which the compiler checks by the parameter `loop`, but for what a mutex
// guards.
final class RemoteSession: @unchecked Sendable {
  /// What is given to the loop from elsewhere; one queue, so that all of it keeps its order.
  enum Work: Sendable {
    case command(PendingCommand)
    case call(@Sendable (RemoteSession, isolated EventLoop) -> Void)
  }

  let configuration: RemoteStore.Configuration
  let endpoint: Endpoint
  let tls: TLSContext?
  let token: RemoteToken?
  let loop: EventLoop
  let state = Property(RemoteState.connecting, skipsEqual: true)
  let error = Mutex<RemoteError?>(nil)
  let errors = Signal<RemoteError>()
  private let incoming = Mutex<[Work]>([])
  /// Commands of the program without an outcome.
  private let pending = Atomic<Int>(0)
  private let clock = DispatchClock()

  // The connection.
  var link: WebSocketLink?
  /// The last one, which may still be connecting when the loop ends.
  private var leftLink: WebSocketLink?
  /// Counts connections, so that timers and tokens of an earlier one are recognized.
  var number = 0
  var epoch = ""
  var messageBytes = UInt64.max
  var hello: Members?
  /// The token that goes first over the connection that is being made.
  var openingToken: String?
  /// Whether the present connection is one by now.
  var isOpen = false
  var isProven = false
  var isReady = false
  var hasBeenReady = false
  var isClosed = false
  var attempts = 0
  var openedAt = Duration.zero
  var heardAt = Duration.zero
  var isAsked = false

  // What goes over it.
  private var nextID: UInt64 = 1
  private var waiting: [PendingCommand] = []
  var sent: [UInt64: PendingCommand] = [:]
  /// When the first of the commands in question is too late; nil while nobody looks.
  private var nextLook: Duration?
  var subscriptions: [ObjectIdentifier: RemoteSubscription] = [:]
  var order: [RemoteSubscription] = []
  var granted: [UInt64: RemoteSubscription] = [:]
  var joining: [WeakCell] = []
  var presence = Presence()

  init(
    _ endpoint: Endpoint, _ tls: TLSContext?, _ token: RemoteToken?, _ configuration: RemoteStore.Configuration,
    _ loop: EventLoop
  ) {
    self.endpoint = endpoint
    self.tls = tls
    self.token = token
    self.configuration = configuration
    self.loop = loop
  }

  /// Nobody keeps it: the loop ends, when nothing is on its way to it any more.
  deinit {
    loop.submit { [link = leftLink] loop in
      guard let link else { return loop.endClient() }
      link.afterConnecting(on: loop) { $0.endClient() }
    }
  }

  // MARK: From elsewhere

  /// Hands work to the loop, from any thread.
  func put(_ work: Work) {
    let isFirst = incoming.withLock { incoming in
      incoming.append(work)
      return incoming.count == 1
    }
    if isFirst { loop.submit { [self] loop in takeIncoming(on: loop) } }
  }

  /// Counts a command; false, and nothing is counted, when there are as many as there may be.
  func takePlace() -> Bool {
    if pending.add(1, ordering: .relaxed).newValue <= configuration.pendingCommands { return true }
    leavePlace()
    return false
  }

  /// The outcome of a command is known.
  func leavePlace() { pending.subtract(1, ordering: .relaxed) }

  private func takeIncoming(on loop: isolated EventLoop) {
    var work: [Work] = []
    incoming.withLock { swap(&$0, &work) }
    for work in work {
      switch work {
      case .command(let command): submit(command, on: loop)
      case .call(let call): call(self, loop)
      }
    }
    joinAll(on: loop)
    link?.flush(on: loop)
  }

  /// Calls `body` on the loop after some time.
  func after(_ time: Duration, _ body: @escaping @Sendable (RemoteSession, isolated EventLoop) -> Void) {
    let alarm = Alarm(clock)
    alarm.set(clock.now + time) { [weak self] in
      withExtendedLifetime(alarm) { self?.put(.call(body)) }
    }
  }

  var now: Duration { clock.now }

  func report(_ error: RemoteError) { errors.send(error) }

  // MARK: Commands

  private func submit(_ command: PendingCommand, on loop: isolated EventLoop) {
    guard !isClosed else {
      return command.complete(.failure(RemoteError("closed", "the store is closed", .unsent)), on: loop)
    }
    let deadline = now + (command.timeout ?? configuration.timeout)
    command.deadline = deadline
    if nextLook.map({ deadline < $0 }) ?? true { look(at: deadline) }
    if isReady { transmit(command, on: loop) } else { waiting.append(command) }
  }

  private func look(at time: Duration) {
    nextLook = time
    after(time - now) { session, loop in
      if session.nextLook == time { session.expireCommands(on: loop) }
    }
  }

  /// Ends commands that have had no reply in time.
  private func expireCommands(on loop: isolated EventLoop) {
    let now = self.now
    nextLook = nil
    for command in waiting where command.isLate(now) {
      command.complete(.failure(RemoteError("timeout", "there was no connection in time", .unsent)), on: loop)
    }
    waiting.removeAll { $0.isDone }
    let late = sent.values.filter { $0.isLate(now) }.sorted { ($0.id ?? 0) < ($1.id ?? 0) }
    for command in late {
      if let id = command.id { sent[id] = nil }
      command.complete(.failure(RemoteError("timeout", "there was no reply in time", .unknown)), on: loop)
    }
    let next = (waiting + sent.values).compactMap(\.deadline).min()
    if let next { look(at: next) }
  }

  /// Sends a command on the present connection.
  func transmit(_ command: PendingCommand, on loop: isolated EventLoop) {
    guard !command.isDone else { return }
    let message = CommandText.message(nextID, command.members)
    // The server would end the connection over it.
    guard message.count <= messageBytes else {
      return command.complete(
        .failure(RemoteError("body_too_large", "the server takes \(messageBytes) bytes", .unsent)), on: loop)
    }
    command.id = nextID
    sent[nextID] = command
    nextID += 1
    link?.send(message.span, on: loop)
  }

  /// Sends what nobody waits for.
  func tell(_ members: [UInt8], on loop: isolated EventLoop) {
    let command = PendingCommand(members) { [weak self] result, _ in
      if case .failure(let error) = result, error.outcome == .refused { self?.report(error) }
    }
    transmit(command, on: loop)
  }

  // MARK: A connection's begin and end

  /// The connection is proven and greeted: everything goes over it now.
  func begin(_ hello: Members, on loop: isolated EventLoop) {
    guard let epoch = hello.string("epoch") else { return fail("the hello has no epoch", on: loop) }
    self.epoch = epoch
    messageBytes = hello.members("limits")?.number("messageBytes") ?? .max
    openedAt = now
    isReady = true
    hasBeenReady = true
    renewPresence(on: loop)
    for subscription in order { request(subscription, on: loop) }
    let waiting = waiting
    self.waiting = []
    for command in waiting { transmit(command, on: loop) }
    turn(on: loop)
  }

  /// The connection is gone: what was sent without a reply is unknown.
  func disconnect(on loop: isolated EventLoop) {
    isReady = false
    isProven = false
    hello = nil
    link = nil
    number += 1
    granted = [:]
    let open = sent.values.sorted { ($0.id ?? 0) < ($1.id ?? 0) }
    sent = [:]
    for command in open {
      command.complete(
        .failure(RemoteError("disconnected", "the connection ended before the reply", .unknown)), on: loop)
    }
    for subscription in order where subscription.state == .live { subscription.turn(.stale, on: loop) }
  }

  /// Ends everything for good.
  func end(_ reason: RemoteError?, on loop: isolated EventLoop) {
    guard !isClosed else { return }
    error.withLock { $0 = reason }
    isClosed = true
    let link = link
    disconnect(on: loop)
    leftLink = link
    let unsent = waiting
    waiting = []
    for command in unsent {
      command.complete(.failure(RemoteError("closed", reason?.detail ?? "the store is closed", .unsent)), on: loop)
    }
    let ended = order
    order = []
    subscriptions = [:]
    for subscription in ended { subscription.turn(.closed, reason, on: loop) }
    state.set(.closed)
    link?.leave(on: loop)
  }

  /// What the server sent is not of this protocol.
  func fail(_ what: String, on loop: isolated EventLoop) {
    let error = RemoteError("protocol_error", "the server sent what is not of the protocol: \(what)")
    report(error)
    end(error, on: loop)
  }

  /// Tells the state, if it is another one.
  func turn(on loop: isolated EventLoop) {
    guard !isClosed else { return }
    let isLive = isReady && order.allSatisfy { $0.state != .stale }
    state.set(isLive ? .live : hasBeenReady ? .stale : .connecting)
  }

  // MARK: Messages

  /// Seconds that the server has named, as far as they can be waited for.
  private static func time(of seconds: Double) -> Duration { .seconds(min(max(seconds, 0), 1e9)) }

  /// Takes one message; whether it is of the protocol.
  func receive(_ text: JSONText, on loop: isolated EventLoop) -> Bool {
    let message = Members(text)
    guard let type = message.string("type") else { return false }
    switch type {
    case "hello": hello = message
    case "ok":
      guard let command = message.number("id").flatMap({ sent.removeValue(forKey: $0) }) else { return true }
      presence.note(command)
      command.complete(.success(PendingCommand.Reply(members: message, epoch: epoch)), on: loop)
    case "error":
      guard let command = message.number("id").flatMap({ sent.removeValue(forKey: $0) }) else { return true }
      guard let problem = message.members("error") else { return false }
      command.complete(.failure(RemoteError(problem, .refused, epoch: epoch)), on: loop)
    case "authExpires":
      if let seconds = message.double("in"), seconds.isFinite { renew(in: Self.time(of: seconds), on: loop) }
    default:
      guard let id = message.number("subscription"), let subscription = granted[id] else { return true }
      guard subscription.receive(type, message, epoch: epoch, on: loop) else { return false }
      if type == "end" {
        granted[id] = nil
        forget(subscription)
      }
      if type == "live" || type == "end" { turn(on: loop) }
    }
    if let hello, isProven, !isReady, !isClosed { begin(hello, on: loop) }
    return true
  }
}
