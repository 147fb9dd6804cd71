// SPDX-License-Identifier: MIT

import Dispatch
import Synchronization

/// Subscribes to a source once for all its subscribers, and only while there are any.
///
///               first subscriber                       the source has been subscribed to
///        idle ────────────────────▶ working (opening) ───────────────────────────────────▶ connected
///          ▲                                                                                  │
///          └───────────────────────── working (closing) ◀─────────────────────────────────────┘
///                                                             no subscriber is left
///
/// One thread at a time does the work, and continues until the connection is what the subscribers need. A new
/// subscriber waits for it, so that it misses nothing sent afterwards; a leaving one does not. A thread that is doing
/// the work itself, in the set-up or the clean-up of the source, does not wait.
final class SharedSource<Message: Sendable, End: Ending>: Sendable {
  private typealias Shared = Event<Message, End>

  private struct State {
    /// Subscribers that have not joined the hub yet.
    var joining = 0
    var connection: Connection?
    var token: Subscription?
    var isWorking = false
    var waiters: [DispatchSemaphore] = []
  }

  private enum Step {
    case open(Connection)
    case close(Connection?, Subscription?)
    case wait(DispatchSemaphore)
    case done
  }

  private let source: @Sendable (Sink<Message, End>) -> Subscription
  private let initial: Message?
  private let hub: Signal<Shared>
  private let state = Mutex(State())
  private let watch = Mutex<Subscription?>(nil)

  /// - Parameters:
  ///   - remembers: Whether each subscriber first receives the last message, or `initial` when there was none.
  ///   - source: The closure that subscribes to the source.
  init(
    remembers: Bool = false, initial: Message? = nil,
    _ source: @escaping @Sendable (Sink<Message, End>) -> Subscription
  ) {
    self.source = source
    self.initial = initial
    hub = Signal(remembersLast: remembers)
    let token = hub.core.countSignal.subscribe { [weak self] count in
      if count == 0 { self?.settle(waits: false) }
    }
    watch.withLock { $0 = token }
  }

  /// The remembered message; nil when there is no subscriber.
  var last: Message? {
    if case .message(let message)? = hub.remembered { message } else { nil }
  }

  /// Subscribes to what the source sends from now on, including what it sends while it is subscribed to.
  func attach(_ sink: Sink<Message, End>) -> Subscription {
    let link = Link()
    link.hold(
      hub.subscribe { event in
        switch event {
        case .message(let message): sink.message(message)
        case .end(let end):
          link.end()
          sink.end(end)
        }
      })
    // Keeps this object and the connection alive while there are subscribers.
    link.onEnd { withExtendedLifetime(self) {} }
    if !link.hasEnded {
      letGoOfEnded()
      settle(waits: true)
    }
    return link.token()
  }

  /// Subscribes to the remembered message, if requested, and to later ones.
  func attach(from start: StartingPoint, _ sink: Sink<Message, End>) -> Subscription where End == Never {
    // Connects the source first: what the observer sends on its first message has to come back to it.
    state.withLock { $0.joining += 1 }
    settle(waits: true)
    let link = Link()
    let skips = OperatorState(start == .future)
    link.hold(
      hub.subscribe { event in
        // The first one is the remembered message, now or as soon as the source has sent it.
        if skips.value { skips.value = false } else { sink.message(event.message) }
      })
    link.onEnd { withExtendedLifetime(self) {} }
    state.withLock { $0.joining -= 1 }
    settle(waits: false)
    return link.token()
  }

  /// Drops an ended source, so that the next subscriber subscribes to it again.
  private func letGoOfEnded() {
    let (ended, token): (Connection?, Subscription?) = state.withLock { state in
      guard let connection = state.connection, connection.hasEnded else { return (nil, nil) }
      let token = state.token
      (state.connection, state.token) = (nil, nil)
      return (connection, token)
    }
    ended?.close()
    token?.cancel()
  }

  /// Makes the connection what the subscribers need.
  private func settle(waits: Bool) {
    while true {
      switch state.withLock({ nextStep(&$0, waits: waits) }) {
      case .done: return
      case .wait(let semaphore): semaphore.wait()
      case .open(let connection):
        let token = SharedWork.running(self) {
          // The remembered message is available to the next subscriber as soon as the source is connected.
          hub.remembers ? FirstValue.atOnce { source(connection.sink) } : source(connection.sink)
        }
        let late: Subscription? = state.withLock { state in
          state.isWorking = false
          guard state.connection === connection else { return token }
          state.token = token
          return nil
        }
        late?.cancel()
        wake()
      case .close(let connection, let token):
        connection?.close()
        SharedWork.running(self) { token?.cancel() }
        state.withLock { $0.isWorking = false }
        wake()
      }
    }
  }

  /// Needs the lock.
  private func nextStep(_ state: inout State, waits: Bool) -> Step {
    if state.isWorking {
      if !waits || state.connection?.isReady == true || SharedWork.isRunning(self) { return .done }
      let semaphore = DispatchSemaphore(value: 0)
      state.waiters.append(semaphore)
      return .wait(semaphore)
    }
    let isNeeded = state.joining > 0 || hub.core.hasLive
    if isNeeded, state.connection == nil {
      if let initial { hub.remember(.message(initial)) }
      let connection = Connection(hub) { [weak self] in self?.wake() }
      state.connection = connection
      state.isWorking = true
      return .open(connection)
    }
    if !isNeeded, let connection = state.connection {
      let token = state.token
      (state.connection, state.token) = (nil, nil)
      state.isWorking = true
      return .close(connection, token)
    }
    return .done
  }

  /// Wakes the waiting threads to check again.
  private func wake() {
    let waiters = state.withLock { state in
      let waiters = state.waiters
      state.waiters = []
      return waiters
    }
    for waiter in waiters { waiter.signal() }
  }

  /// One subscription to the source.
  private final class Connection: Sendable {
    private let hub: Signal<Shared>
    private let onReady: @Sendable () -> Void
    private let isOpen = Atomic(true)
    /// Messages pass without further checks: the connection is ready, open, and nothing is remembered.
    private let isDirect = Atomic(false)
    private let ready = Atomic(false)
    private let ended = Atomic(false)

    init(_ hub: Signal<Shared>, onReady: @escaping @Sendable () -> Void) {
      self.hub = hub
      self.onReady = onReady
    }

    /// Whether the source is known to be subscribed to: it has sent something.
    var isReady: Bool { ready.load(ordering: .acquiring) }

    var hasEnded: Bool { ended.load(ordering: .acquiring) }

    var sink: Sink<Message, End> {
      Sink(
        message: { [self] in
          if isDirect.load(ordering: .relaxed) { hub.send(.message($0)) } else { pass(.message($0)) }
        },
        end: {
          self.ended.store(true, ordering: .releasing)
          self.pass(.end($0))
        })
    }

    /// Stops passing messages, and forgets the remembered one.
    func close() {
      hub.forget {
        isOpen.store(false, ordering: .relaxed)
        isDirect.store(false, ordering: .relaxed)
      }
    }

    private func pass(_ event: Shared) {
      if !ready.load(ordering: .relaxed) {
        ready.store(true, ordering: .releasing)
        onReady()
        if !hub.remembers, isOpen.load(ordering: .relaxed) { isDirect.store(true, ordering: .relaxed) }
      }
      if hub.remembers {
        // Checked under the lock of the hub, or a message that another thread is sending could be remembered after the
        // end.
        hub.sendRemembered(event) { isOpen.load(ordering: .relaxed) }
      } else if isOpen.load(ordering: .relaxed) {
        hub.send(event)
      }
    }
  }
}

/// Which shared sources the caller is setting up or cleaning up.
private enum SharedWork {
  @TaskLocal private static var sources: [ObjectIdentifier] = []

  static func running<Result>(_ source: AnyObject, _ work: () -> Result) -> Result {
    $sources.withValue(sources + [ObjectIdentifier(source)], operation: work)
  }

  static func isRunning(_ source: AnyObject) -> Bool { sources.contains(ObjectIdentifier(source)) }
}
