// SPDX-License-Identifier: MIT
import Foundation
import SignalStore
import Synchronization
import Testing

@testable import Signals

/// What only the main actor may touch, and what tells where it goes away.
@MainActor private final class Screen {
  var title = ""
  var numbers: [Int] = []
  let released: Log<Bool>

  init(_ released: Log<Bool> = Log()) { self.released = released }

  func show(_ source: Property<Int>) -> Subscription {
    source.map { "\($0)" }.subscribe(boundTo: self) { $0.title = $1 }
  }

  deinit { released.add(onMainQueue()) }
}

/// Whether the caller is on the main queue, which is the executor of the main actor.
private func onMainQueue() -> Bool { Delivery.main.executor?.isCurrent == true }

/// Lets everything run that waits for the main actor.
private func mainTurn() async {
  await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
}

@Suite struct `Closures of an actor` {
  @Test @MainActor func `cannot be moved away from it`() async {
    let signal = Signal<Int>()
    let screen = Screen()
    let tokens = [
      signal.subscribe(isolation: #isolation) { screen.numbers.append($0) },
      signal.map { $0 }.subscribe(isolation: #isolation) { screen.numbers.append($0) },
      Property(0).subscribe(isolation: #isolation) { screen.numbers.append($0) },
      signal.subscribe(on: .main) { screen.numbers.append($0) },
      signal.subscribe(boundTo: screen) { $0.numbers.append($1) },
      signal.map { $0 }.subscribe(boundTo: screen) { $0.numbers.append($1) },
    ]
    screen.numbers = []
    for token in tokens { #expect(!token.deliver(on: .background(.utility))) }
    await Task.detached { signal.send(1) }.value
    await mainTurn()
    #expect(screen.numbers == [1, 1, 1, 1, 1])
    // A closure that may run anywhere may be moved.
    let free = signal.subscribe(on: .background(.utility)) { _ in }
    #expect(free.deliver(on: .inline))
    for token in tokens { token.cancel() }
  }

  /// The ways to have a closure on the main actor that keeps `screen`.
  @MainActor private static func subscriptions(_ signal: Signal<Int>, _ make: () -> Screen) -> [Subscription] {
    let property = Property(0)
    return (0..<5).map { way in
      let screen = make()
      return switch way {
      case 0: signal.subscribe(isolation: #isolation) { screen.numbers.append($0) }
      case 1: signal.map { $0 }.subscribe(isolation: #isolation) { screen.numbers.append($0) }
      case 2: property.subscribe(isolation: #isolation) { screen.numbers.append($0) }
      case 3: signal.subscribe(on: .main) { screen.numbers.append($0) }
      default: property.subscribe(on: .main) { screen.numbers.append($0) }
      }
    }
  }

  @Test @MainActor func `are released there, whoever drops the token`() async {
    for round in 0..<10 {
      let released = Log<Bool>()
      let tokens = Box(Self.subscriptions(Signal<Int>()) { Screen(released) })
      #expect(released.entries == [])
      await Task.detached {
        if round.isMultiple(of: 2) { for token in tokens.value { token.cancel() } }
        tokens.value = []
      }.value
      await mainTurn()
      #expect(released.entries == [true, true, true, true, true])
    }
  }

  @Test @MainActor func `are released at once when the token is cancelled there`() {
    let released = Log<Bool>()
    let tokens = Self.subscriptions(Signal<Int>()) { Screen(released) }
    for token in tokens { token.cancel() }
    #expect(released.entries == [true, true, true, true, true])
  }

  @Test @MainActor func `are released there while messages come from elsewhere`() async {
    for _ in 0..<20 {
      let released = Log<Bool>()
      let signal = Signal<Int>()
      let tokens = Box(Self.subscriptions(signal) { Screen(released) })
      let sender = Task.detached { for n in 1...200 { signal.send(n) } }
      let dropper = Task.detached { tokens.value = [] }
      _ = await (sender.value, dropper.value)
      await mainTurn()
      await mainTurn()
      #expect(released.entries == [true, true, true, true, true])
    }
  }

  private actor Counter {
    var seen: [Int] = []
    private var token: Subscription?
    private let gone: Log<String>

    init(_ gone: Log<String>) { self.gone = gone }

    func follow(_ signal: Signal<Int>) {
      token = signal.subscribe(isolation: self) { [weak self] n in self?.assumeIsolated { $0.seen.append(n) } }
    }

    func followStrongly(_ signal: Signal<Int>, _ canary: Canary) -> Subscription {
      signal.subscribe(isolation: self) { n in
        self.preconditionIsolated()
        self.seen.append(n)
        canary.touch()
      }
    }

    deinit { gone.add("gone") }
  }

  @Test func `do not keep an actor of one's own that keeps the token`() async {
    let gone = Log<String>()
    let signal = Signal<Int>()
    var counter: Counter? = Counter(gone)
    await counter?.follow(signal)
    signal.send(1)
    while await counter?.seen != [1] { await Task.yield() }
    counter = nil
    while gone.entries.isEmpty { await Task.yield() }
    #expect(signal.observerCount == 0)
    signal.send(2)
  }

  @Test func `of an actor of one's own are released by it`() async {
    for _ in 0..<50 {
      let released = Log<String>()
      let counter = Counter(Log())
      let signal = Signal<Int>()
      let token = await counter.followStrongly(signal, Canary { released.add("released") })
      signal.send(1)
      token.cancel()
      while released.entries.isEmpty { await Task.yield() }
    }
  }
}

@Suite struct `Receivers that belong to an actor` {
  @Test @MainActor func `may be touched behind operators, and are not kept`() async {
    let released = Log<Bool>()
    var screen: Screen? = Screen(released)
    let property = Property(1)
    let token = screen?.show(property)
    #expect(screen?.title == "1")
    property.value = 2
    #expect(screen?.title == "2")
    await Task.detached { property.value = 3 }.value
    await mainTurn()
    #expect(screen?.title == "3")
    screen = nil
    #expect(released.entries == [true])
    property.value = 4
    #expect(property.observerCount == 0)
    withExtendedLifetime(token) {}
  }

  @Test @MainActor func `may be touched on every kind of source`() {
    let screen = Screen()
    let signal = Signal<Int>()
    let property = Property(1)
    let literal: IntProperty = 2
    let finite = FiniteSignal<Int>()
    let stored = PropertyStore().property("a", as: Int.self)
    signal.subscribe(boundTo: screen) { $0.numbers.append($1) }
    signal.readOnly.subscribe(boundTo: screen) { $0.numbers.append($1) }
    property.subscribe(boundTo: screen) { $0.numbers.append($1) }
    property.map { -$0 }.subscribe(boundTo: screen) { $0.numbers.append($1) }
    literal.subscribe(boundTo: screen, from: .future) { $0.numbers.append($1) }
    finite.subscribe(boundTo: screen) { $0.numbers.append($1) }
    stored.subscribe(boundTo: screen) { $0.numbers.append($1 ?? 0) }
    combineLatest(property, literal).subscribe(boundTo: screen, once: true) { $0.numbers.append($1.0 + $1.1) }
    #expect(screen.numbers == [1, -1, 0, 3])
    screen.numbers = []
    signal.send(3)
    property.value = 4
    literal.value = 5
    finite.send(6)
    stored.value = 7
    #expect(screen.numbers == [3, 3, 4, -4, 5, 6, 7])
    signal.removeObservers(of: screen)
    property.removeObservers(of: screen)
    signal.send(8)
    #expect(screen.numbers == [3, 3, 4, -4, 5, 6, 7, 8])
    #expect(!signal.isObserved(by: screen))
  }

  @Test @MainActor func `are removed with what is on its way to them`() async {
    let screen = Screen()
    let signal = Signal<Int>()
    signal.subscribe(boundTo: screen) { $0.numbers.append($1) }
    #expect(signal.isObserved(by: screen))
    let sent = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      signal.send(1)
      sent.signal()
    }
    // The main actor is held up, so the message waits.
    wait(sent)
    signal.removeObservers(of: screen)
    await mainTurn()
    #expect(screen.numbers == [])
    #expect(signal.observerCount == 0)
  }

  private nonisolated func wait(_ semaphore: DispatchSemaphore) { semaphore.wait() }

  @Test @MainActor func `can be bound to and be called on the main queue`() async {
    let screen = Screen()
    let property = Property(1)
    let bag = SubscriptionBag()
    property.map { "\($0)" }.bind(to: screen, \.title).stored(in: bag)
    property.subscribe(on: .main) { screen.numbers.append($0) }.stored(in: bag)
    #expect(screen.title == "1")
    await Task.detached { property.value = 2 }.value
    await mainTurn()
    #expect(screen.title == "2")
    #expect(screen.numbers == [1, 2])
    bag.cancel()
    property.value = 3
    #expect(screen.title == "2")
  }

  @Test func `behind an operator last as long as they live, and get what they are for once`() {
    final class Receiver: Sendable {
      let log = Log<Int>()
      @Sendable func take(_ n: Int) { log.add(n) }
    }
    var receiver: Receiver? = Receiver()
    let log = receiver?.log
    let signal = Signal<Int>()
    if let receiver {
      signal.map { $0 * 10 }.subscribe(boundTo: receiver) { $0.take($1) }
      signal.filter { $0 > 0 }.subscribe(boundTo: receiver, once: true, call: Receiver.take)
    }
    signal.send(1)
    signal.send(2)
    #expect(log?.entries == [10, 1, 20])
    receiver = nil
    #expect(signal.observerCount == 1)
    signal.send(3)
    #expect(signal.observerCount == 0)
    #expect(log?.entries == [10, 1, 20])
  }
}
