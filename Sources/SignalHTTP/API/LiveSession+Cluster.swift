// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Commands of a WebSocket that another node of the cluster executes, in the order in which they have come.
///
///     received ──▶ waiting for those before it ──▶ under way at another node ──▶ answered ──▶ replied
///                                               ╰─▶ awaiting what is elsewhere ──▶ ready ──▶ executed here
///
/// Writes that follow each other are under way together; a command that another one has to be answered before, because it
/// reads, waits for all of them. While nothing is in this queue and the node decides itself, commands do not come here.
struct ForwardedQueue {
  enum Stage {
    /// Nothing has been done.
    case waiting
    /// Sent to the node that decides.
    case underWay(id: Int, command: String)
    /// A subscription that goes on from where the store has to get first, or a question of who watches at other nodes.
    case awaiting
    /// To be executed here.
    case ready
    /// The reply, with the code of a refusal.
    case answered([UInt8], problem: String)
  }

  struct Entry {
    let number: UInt64
    let message: [UInt8]
    var stage = Stage.waiting
  }

  /// Commands that may be in it before nothing more is read.
  static let limit = 256

  var entries: [Entry] = []
  var lastNumber: UInt64 = 0
  /// Whether nothing is read until there is room.
  var hasPaused = false

  /// Numbers a message, of which nothing has been done.
  mutating func entry(of message: Span<UInt8>) -> Entry {
    lastNumber += 1
    // The pointer is used only for the copy.
    return Entry(number: lastNumber, message: unsafe message.withUnsafeBufferPointer { unsafe Array($0) })
  }
}

extension LiveSession {
  /// Whether a message has to wait, or to be executed elsewhere.
  func isForwarded(_ message: Span<UInt8>) -> Bool {
    guard let cluster = service.cluster else { return false }
    return !forwarded.entries.isEmpty || !cluster.isLeading
  }

  /// Executes a message in its turn.
  func queue(_ message: Span<UInt8>, on loop: isolated EventLoop) {
    forwarded.entries.append(forwarded.entry(of: message))
    proceedWithQueue(on: loop)
    if forwarded.entries.count >= ForwardedQueue.limit, !forwarded.hasPaused { forwarded.hasPaused = socket.pause() }
  }

  /// Replies to what has been answered, executes what can be executed here, and sends what follows.
  fileprivate func proceedWithQueue(on loop: isolated EventLoop) {
    while let first = forwarded.entries.first {
      switch first.stage {
      case .answered(let text, let problem):
        forwarded.entries.removeFirst()
        if !problem.isEmpty {
          loop.countRefusal(problem)
        }
        reply(on: loop) { $0.append(contentsOf: text) }
        continue
      case .underWay, .awaiting: break
      case .waiting, .ready:
        if case .waiting = first.stage, forward(0, on: loop) || awaitOthers(on: loop) { break }
        forwarded.entries.removeFirst()
        execute(first.message.span, hasWaited: true, on: loop)
        continue
      }
      break
    }
    // What waits is executed before anything that follows.
    if case .awaiting? = forwarded.entries.first?.stage { return }
    for index in forwarded.entries.indices.dropFirst() {
      if case .waiting = forwarded.entries[index].stage, !forward(index, on: loop) { break }
    }
    if forwarded.hasPaused, forwarded.entries.count < ForwardedQueue.limit / 2 {
      forwarded.hasPaused = false
      if timeToRoom(on: loop) == 0 { socket.resume(on: loop) }
    }
  }

  /// Sends a command to the node that decides, if it changes something and may be executed at all.
  private func forward(_ index: Int, on loop: isolated EventLoop) -> Bool {
    guard let cluster = service.cluster, !cluster.isLeading, !isAwaitingIdentity else { return false }
    let bytes = forwarded.entries[index].message
    guard
      let message = try? ClientMessage(
        bytes.span, configuration: service.configuration, operationLimit: service.commands.limits.transactionOperations,
        holder: caller.holder), message.command.isWrite
    else { return false }
    mayHold = mayHold || message.command.mayHold
    send(message, index, to: cluster, on: loop)
    return true
  }

  /// Has a command that has changed nothing here answered by the node that decides, which may be another one by now; those
  /// that come wait for it.
  func forward(_ bytes: Span<UInt8>, _ message: ClientMessage, on loop: isolated EventLoop) {
    guard let cluster = service.cluster else { return }
    forwarded.entries.insert(forwarded.entry(of: bytes), at: 0)
    send(message, 0, to: cluster, on: loop)
  }

  private func send(
    _ message: ClientMessage, _ index: Int, to cluster: any ClusterNode, on loop: isolated EventLoop
  ) {
    let (bytes, number) = (forwarded.entries[index].message, forwarded.entries[index].number)
    forwarded.entries[index].stage = .underWay(id: message.id, command: message.command.name)
    let reference = SessionReference(self)
    let home = loop
    cluster.forward(ForwardedCommand(.message(bytes), from: caller)) { outcome in
      home.submit { loop in reference.session(on: loop)?.answered(number, outcome, on: loop) }
    }
  }

  /// Lets the first command wait, if it needs what this node does not know yet: a subscription for the cursor from which
  /// it goes on, and a question of who watches for the numbers of other nodes.
  private func awaitOthers(on loop: isolated EventLoop) -> Bool {
    let entry = forwarded.entries[0]
    guard
      let message = try? ClientMessage(
        entry.message.span, configuration: service.configuration,
        operationLimit: service.commands.limits.transactionOperations, holder: caller.holder)
    else { return false }
    if case .subscribe(let request) = message.command, let since = request.since, service.cursors.isAhead(since) {
      service.cursors.add(self, until: since, on: loop)
    } else if let cluster = service.cluster, (try? needsWatchers(message.command)) == true {
      let (reference, home, number) = (SessionReference(self), loop, entry.number)
      cluster.awaitWatchers {
        home.submit { loop in
          guard let session = reference.session(on: loop), session.forwarded.entries.first?.number == number else {
            return
          }
          session.waitIsOver(on: loop)
        }
      }
    } else {
      return false
    }
    forwarded.entries[0].stage = .awaiting
    return true
  }

  /// Whether a command asks for what only other nodes know, who have not told it yet.
  func needsWatchers(_ command: ClientCommand) throws(Problem) -> Bool {
    guard case .get(let path, watchers: true) = command, service.cluster != nil, !isAwaitingIdentity else {
      return false
    }
    try service.commands.checkWatchers(path, as: caller)
    return !service.hub.watchers.ask()
  }

  /// Forgets what has not been executed: the connection has ended.
  func abandonQueue() {
    if case .awaiting? = forwarded.entries.first?.stage { service.cursors.remove(self) }
    forwarded = ForwardedQueue()
  }

  fileprivate func answered(_ number: UInt64, _ outcome: ForwardedOutcome, on loop: isolated EventLoop) {
    guard let index = forwarded.entries.firstIndex(where: { $0.number == number }),
      case .underWay(let id, let command) = forwarded.entries[index].stage
    else { return }
    var text: [UInt8] = []
    var code = ""
    func refuse(_ problem: Problem) {
      service.commands.note(problem, of: caller.identity, caller.peer, request: command)
      LiveReply.append(problem, id, to: &text)
      code = problem.code.rawValue
    }
    switch outcome {
    case .answered(let answer): (text, code) = (answer.body, answer.problem)
    case .noLeader: refuse(.noLeader)
    case .unknown: refuse(.noAnswer)
    }
    forwarded.entries[index].stage = .answered(text, problem: code)
    proceedWithQueue(on: loop)
  }
}

extension LiveSession: CursorWaiter {
  func waitIsOver(on loop: isolated EventLoop) {
    guard case .awaiting? = forwarded.entries.first?.stage else { return }
    forwarded.entries[0].stage = .ready
    proceedWithQueue(on: loop)
  }
}

/// Leads back to a session that waits for an answer, on its loop.
///
// Unchecked: it crosses threads with an answer, and the session is given out only to the loop that it belongs to.
private final class SessionReference: @unchecked Sendable {
  private weak var session: LiveSession?

  init(_ session: LiveSession) { self.session = session }

  func session(on loop: isolated EventLoop) -> LiveSession? { session }
}

extension ClientCommand {
  /// Whether a property may be held by the connection from then on, or something happen at its end.
  var mayHold: Bool {
    switch self {
    case .onDisconnect: true
    case .write(let request): request.holds
    case .patch(let request): request.holder != nil
    case .transact(let requests): requests.contains { $0.holds }
    case .send, .subscribe, .subscribeToDemand, .unsubscribe, .get, .ping, .hello, .authenticate: false
    }
  }
}

extension OperationRequest {
  fileprivate var holds: Bool {
    if case .apply(.set(_, _, _, let holder)) = effect { holder != nil } else { false }
  }
}
