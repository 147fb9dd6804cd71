// SPDX-License-Identifier: MIT
import Synchronization

/// An HTTP/1.1 and WebSocket server on its own event loops.
///
/// ```swift
/// let server = Server(ServerConfiguration(port: 0)) { request, _ in
///   .response(HTTPResponse(.ok, body: request.body))
/// }
/// try server.start()
/// print("listening on http://\(server.address!)")
/// try await server.run()   // until shutdown() or cancellation
/// ```
///
/// A server is started once. Dropping it does not stop it; `shutdown` does.
public final class Server: Sendable {
  /// Makes what answers the requests of one loop; called once per loop, on it.
  typealias HandlerFactory = @Sendable (ServedHosts.Listening, isolated EventLoop) -> any RequestHandler

  private enum Phase {
    case idle
    case serving([EventLoop], SocketAddress)
    case draining([EventLoop], SocketAddress)
    case ended
  }

  private struct State {
    var phase = Phase.idle
    var waiters: [CheckedContinuation<Void, Never>] = []
  }

  /// What the server was made with.
  public let configuration: ServerConfiguration
  private let makeHandler: HandlerFactory
  private let state = Mutex(State())

  /// A server whose requests are answered by `handler`, which is called on the connection's loop and must not block.
  ///
  /// It answers at once by returning a response, or returns `.later` and calls the responder from anywhere.
  public convenience init(
    _ configuration: ServerConfiguration = ServerConfiguration(),
    handler: @escaping @Sendable (HTTPRequest, HTTPResponder) -> HTTPReply
  ) {
    self.init(configuration) { _, _ in ClosureHandler(handler) }
  }

  init(_ configuration: ServerConfiguration, makeHandler: @escaping HandlerFactory) {
    self.configuration = configuration
    self.makeHandler = makeHandler
  }

  /// The address that is listened on, with the port the system picked if 0 was asked for; nil before `start` and after
  /// the end.
  public var address: SocketAddress? {
    state.withLock { state in
      switch state.phase {
      case .serving(_, let address), .draining(_, let address): address
      case .idle, .ended: nil
      }
    }
  }

  /// Binds, and serves from now on.
  ///
  /// - Throws: `SystemError` when the address cannot be resolved or bound; nothing is left running.
  public func start() throws(SystemError) {
    let wanted = try SocketAddress(resolving: configuration.host, port: configuration.port, passive: true)
    let handle = try SocketHandle.listening(on: wanted, backlog: Int32(clamping: configuration.limits.acceptQueue))
    let address = try SocketAddress(boundTo: handle.descriptor)
    let number = configuration.loops > 0 ? configuration.loops : processorCount()
    var loops: [EventLoop] = []
    for index in 0..<number {
      do {
        loops.append(
          try EventLoop(label: "signal.loop.\(index)", sweepMilliseconds: configuration.limits.sweepMilliseconds))
      } catch {
        for loop in loops { loop.submit { $0.stop() } }
        throw error
      }
    }
    let isFirst = state.withLock { state in
      guard case .idle = state.phase else { return false }
      state.phase = .serving(loops, address)
      return true
    }
    precondition(isFirst, "A server is started once.")

    let listening = listening(on: address)
    let connections = loops.map { _ in LoopConnections(limits: configuration.limits, observer: configuration.observer) }
    for (loop, own) in zip(loops, connections) {
      loop.submit { [makeHandler] loop in
        loop.setAcceptor(Acceptor(handler: makeHandler(listening, loop), connections: own, all: connections))
      }
    }
    // The listener is made on its loop; until then the system's queue holds who comes. From here on the descriptor is
    // the listener's.
    let descriptor = handle.release()
    let first = loops[0]
    first.submit { [loops] loop in
      let listener = Listener(SocketHandle(owning: descriptor)) { accepted, loop in
        let least = connections.indices.min { connections[$0].count < connections[$1].count } ?? 0
        // Counted here, so that the next accepted one in this turn sees it.
        connections[least].add()
        if least == 0 {
          loop.acceptor?.accept(accepted, on: loop)
        } else {
          loops[least].submit { loop in loop.acceptor?.accept(accepted, on: loop) }
        }
      }
      loop.startListening(listener)
    }
  }

  /// What requests may call the server because of where it listens.
  private func listening(on address: SocketAddress) -> ServedHosts.Listening {
    let host = address.host
    guard host == "0.0.0.0" || host == "::" else {
      // Without a zone, which no request names.
      return ServedHosts.Listening(
        names: [configuration.host, String(host.prefix { $0 != "%" })], isEverywhere: false)
    }
    // The name by which other machines know this one, also as mDNS has it (RFC 6762 §3).
    let machine = machineName()
    return ServedHosts.Listening(names: machine.isEmpty ? [] : [machine, "\(machine).local"], isEverywhere: true)
  }

  /// Starts, if that has not been done, and returns when the server has shut down.
  ///
  /// Cancelling the task shuts down.
  public func run() async throws(SystemError) {
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

  /// Stops accepting, lets requests finish, closes WebSockets with 1001 and event streams, and drops what is left after
  /// `Limits.drainTimeout`.
  ///
  /// Returns at once; `run` returns when it is done. May be called from anywhere, repeatedly.
  public func shutdown() {
    let loops: [EventLoop]? = state.withLock { state in
      guard case .serving(let loops, let address) = state.phase else { return nil }
      state.phase = .draining(loops, address)
      return loops
    }
    guard let loops else { return }
    let latch = Latch(loops.count) { [self] in finish(loops) }
    for loop in loops {
      loop.submit { [configuration] in $0.drain(within: configuration.limits.drainTimeout) { latch.countDown() } }
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

/// Calls back once, when a number of parties have reported.
private final class Latch: Sendable {
  private let left: Atomic<Int>
  private let whenZero: @Sendable () -> Void

  init(_ count: Int, whenZero: @escaping @Sendable () -> Void) {
    left = Atomic(count)
    self.whenZero = whenZero
  }

  func countDown() {
    if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { whenZero() }
  }
}
