// SPDX-License-Identifier: MIT
import Synchronization

/// An HTTP/1.1 and WebSocket server on its own event loops.
///
/// ```swift
/// let server = Server(ServerConfiguration(port: 0)) { request, _ in
///   .response(HTTPResponse(.ok, body: request.body))
/// }
/// try server.start()
/// print("listening on \(server.endpoints[0])")
/// try await server.run()   // until shutdown() or cancellation
/// ```
///
/// A server is started once. Dropping it does not stop it; `shutdown` does.
public final class Server: Sendable {
  /// Creates the handler of the requests of one loop; called once per loop, on it.
  typealias HandlerFactory = @Sendable (ServedHosts.Listening, isolated EventLoop) -> any RequestHandler

  private enum Phase {
    case idle
    case serving(Running)
    case draining(Running)
    case ended
  }

  /// The state between start and end.
  private struct Running {
    let loops: [EventLoop]
    let endpoints: [Endpoint]
    let address: SocketAddress?
  }

  private struct State {
    var phase = Phase.idle
    var drainTimeout: Duration
    var waiters: [CheckedContinuation<Void, Never>] = []
    var certificates: [TLSContext.CertificateInfo] = []
  }

  /// The version of the server and its libraries.
  public static let version = "0.1.0"

  /// The configuration that the server was created with.
  public let configuration: ServerConfiguration
  private let makeHandler: HandlerFactory
  private let tickets = TLSTickets()
  private let rates: RateTable
  private let counters: ServerCounters
  private let state: Mutex<State>

  /// Creates a server whose requests are answered by `handler`, which is called on the connection's loop and must not
  /// block.
  ///
  /// The handler answers at once by returning a response, or returns `.later` and calls the responder from any thread.
  public convenience init(
    _ configuration: ServerConfiguration = ServerConfiguration(),
    handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPReply
  ) {
    self.init(configuration) { _, _ in ClosureHandler(handler) }
  }

  /// - Parameters:
  ///   - rates: What its clients have used of what they may do.
  ///   - counters: Where it puts what its loops count.
  init(
    _ configuration: ServerConfiguration, rates: RateTable = RateTable(),
    counters: ServerCounters = ServerCounters(), makeHandler: @escaping HandlerFactory
  ) {
    self.configuration = configuration
    self.counters = counters
    self.rates = rates
    self.makeHandler = makeHandler
    state = Mutex(State(drainTimeout: configuration.limits.drainTimeout))
  }

  /// The endpoints on which the server listens, in the order of the configuration, with the ports that the system
  /// picked where 0 was given; empty before `start` and after the end.
  public var endpoints: [Endpoint] { running?.endpoints ?? [] }

  /// The first TCP address among them; nil when there is none.
  public var address: SocketAddress? { running?.address }

  /// The certificates of all listeners, as they were last loaded.
  package var certificates: [TLSContext.CertificateInfo] { state.withLock { $0.certificates } }

  private var running: Running? {
    state.withLock { state in
      switch state.phase {
      case .serving(let running), .draining(let running): running
      case .idle, .ended: nil
      }
    }
  }

  /// Binds all listeners and begins to serve.
  ///
  /// - Throws: When an address cannot be resolved or bound, or a certificate cannot be used; nothing is left running
  ///   then.
  public func start() throws(ServerError) {
    precondition(
      (1...ServerConfiguration.mostListeners).contains(configuration.listeners.count),
      "A server has from 1 to \(ServerConfiguration.mostListeners) listeners.")
    var listeners: [OpenedListener]
    let sockets: [BoundSocket]
    let loops: [EventLoop]
    do throws(TLSError) {
      listeners = try openListeners()
    } catch {
      throw .tls(error)
    }
    do throws(SystemError) {
      sockets = try bind()
      loops = try makeLoops()
    } catch {
      throw .system(error)
    }
    let endpoints = sockets.map(\.endpoint)
    listeners = zip(listeners, endpoints).map { OpenedListener($0, at: $1) }
    let running = Running(
      loops: loops, endpoints: endpoints, address: sockets.lazy.compactMap(\.address).first)
    let listening = listening(on: endpoints, listeners)
    let isFirst = state.withLock { state in
      guard case .idle = state.phase else { return false }
      state.phase = .serving(running)
      return true
    }
    precondition(isFirst, "A server is started once.")

    counters.set(loops.map(\.counterTable))
    let counts = loops.map { _ in ConnectionCount() }
    for (loop, count) in zip(loops, counts) {
      loop.submit { [configuration, makeHandler, listeners, rates] loop in
        loop.join(loops)
        loop.setAcceptor(
          Acceptor(
            handler: makeHandler(listening, loop), listeners: listeners, configuration: configuration, rates: rates,
            count: count, all: counts))
      }
    }
    // The listeners are created on their loop; until then the system queues new connections.
    loops[0].submit { [sockets] loop in
      for (number, socket) in sockets.enumerated() {
        let listener = Listener(socket, number: UInt8(number)) { accepted, loop in
          let least = counts.indices.min { counts[$0].value < counts[$1].value } ?? 0
          // Counted here, so that the next connection accepted in this turn sees it.
          counts[least].add()
          if least == 0 {
            loop.acceptor?.accept(accepted, on: loop)
          } else {
            loops[least].submit { loop in loop.acceptor?.accept(accepted, on: loop) }
          }
        }
        loop.startListening(listener)
      }
    }
  }

  /// Loads the files of all listeners.
  private func openListeners() throws(TLSError) -> [OpenedListener] {
    var listeners: [OpenedListener] = []
    for listener in configuration.listeners { listeners.append(try OpenedListener(listener, tickets: tickets)) }
    let certificates = listeners.flatMap { $0.tls?.certificates ?? [] }
    state.withLock { $0.certificates = certificates }
    return listeners
  }

  private func bind() throws(SystemError) -> [BoundSocket] {
    var sockets: [BoundSocket] = []
    for listener in configuration.listeners {
      sockets.append(
        try BoundSocket(
          listener.endpoint, mode: listener.mode, backlog: Int32(clamping: configuration.limits.acceptQueue),
          unsentBytes: Int32(clamping: configuration.limits.unsentBytes)))
    }
    return sockets
  }

  private func makeLoops() throws(SystemError) -> [EventLoop] {
    let number = configuration.loops > 0 ? configuration.loops : processorCount()
    var loops: [EventLoop] = []
    let memory = configuration.limits.memory
    let budget =
      memory == .max ? nil : MemoryBudget(MemoryShares(of: memory), observer: configuration.memoryObserver)
    for index in 0..<number {
      do {
        loops.append(
          try EventLoop(
            label: "signal.loop.\(index)", sweepMilliseconds: configuration.limits.sweepMilliseconds,
            turnWork: configuration.limits.turnWork, memory: budget))
      } catch {
        for loop in loops { loop.submit { $0.stop() } }
        throw error
      }
    }
    return loops
  }

  /// The hosts that requests may name, because of where the server listens and of its certificates: on any of its
  /// listeners, those of all.
  private func listening(on endpoints: [Endpoint], _ listeners: [OpenedListener]) -> ServedHosts.Listening {
    var names = listeners.flatMap { $0.tls?.names ?? [] }
    var isEverywhere = false
    for (listener, endpoint) in zip(configuration.listeners, endpoints) {
      guard let asked = listener.endpoint.hostAndPort?.host, let host = endpoint.hostAndPort?.host else { continue }
      if host == "0.0.0.0" || host == "::" {
        isEverywhere = true
      } else {
        // Without the zone, which requests do not contain.
        names += [asked, String(host.prefix { $0 != "%" })]
      }
    }
    if isEverywhere {
      // The name by which other machines know this one, also in mDNS (RFC 6762 §3).
      let machine = machineName()
      if !machine.isEmpty { names += [machine, "\(machine).local"] }
    }
    return ServedHosts.Listening(names: names, isEverywhere: isEverywhere)
  }

  /// Applies other limits, another observer, other trusted proxies and another handler to connections accepted from now
  /// on.
  ///
  /// The files of the listeners are loaded again.
  ///
  /// - Parameters:
  ///   - configuration: Where the server listens, and on how many loops, is not looked at.
  ///   - handler: Creates the handler of a loop from its present one.
  /// - Throws: `TLSError` when a certificate or a key cannot be used; nothing is changed then.
  func reload(
    _ configuration: ServerConfiguration,
    handler: @escaping @Sendable (any RequestHandler, ServedHosts.Listening, isolated EventLoop) -> any RequestHandler
  ) throws(TLSError) {
    let opened = try openListeners()
    let limits = configuration.limits
    let running: Running? = state.withLock { state in
      guard case .serving(let running) = state.phase else { return nil }
      state.drainTimeout = limits.drainTimeout
      return running
    }
    guard let running else { return }
    let listeners = zip(opened, running.endpoints).map { OpenedListener($0, at: $1) }
    let listening = listening(on: running.endpoints, listeners)
    for loop in running.loops {
      loop.submit { loop in
        guard let acceptor = loop.acceptor as? Acceptor else { return }
        loop.setSweep(milliseconds: limits.sweepMilliseconds)
        loop.setAcceptor(
          acceptor.successor(
            handler: handler(acceptor.handler, listening, loop), listeners: listeners, configuration: configuration))
      }
    }
  }

  /// Starts the server unless it is running already, and returns when it has shut down.
  ///
  /// Cancelling the task shuts down.
  public func run() async throws(ServerError) {
    let isIdle = state.withLock { if case .idle = $0.phase { true } else { false } }
    if isIdle { try start() }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          if case .ended = state.phase { return true }
          state.waiters.append(continuation)
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      shutdown()
    }
  }

  /// Stops accepting, lets requests finish, closes WebSockets with 1001 and event streams, and drops the remaining
  /// connections after `Limits.drainTimeout`.
  ///
  /// Returns at once; `run` returns when the shutdown is complete. May be called from anywhere, repeatedly.
  public func shutdown() {
    let begun: (loops: [EventLoop], timeout: Duration)? = state.withLock { state in
      guard case .serving(let running) = state.phase else { return nil }
      state.phase = .draining(running)
      return (running.loops, state.drainTimeout)
    }
    guard let (loops, timeout) = begun else { return }
    let latch = LoopLatch(loops.count) { [self] in finish(loops) }
    for loop in loops {
      loop.submit { $0.drain(within: timeout) { latch.countDown() } }
    }
  }

  private func finish(_ loops: [EventLoop]) {
    let waiters: [CheckedContinuation<Void, Never>] = state.withLock { state in
      if case .ended = state.phase { return [] }
      state.phase = .ended
      defer { state.waiters = [] }
      return state.waiters
    }
    for loop in loops { loop.submit { $0.stop() } }
    for waiter in waiters { waiter.resume() }
  }
}

/// Why a server could not start.
public enum ServerError: Error, Equatable, Sendable, CustomStringConvertible {
  /// An address cannot be resolved or bound, or the system has no resources for a loop.
  case system(SystemError)
  /// A certificate or a key cannot be used.
  case tls(TLSError)

  /// Whether an address is in use by another process.
  public var isAddressInUse: Bool { if case .system(let error) = self { error.isAddressInUse } else { false } }

  /// One line for the operator.
  public var description: String {
    switch self {
    case .system(let error): error.description
    case .tls(let error): error.description
    }
  }
}
