// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import Signals

/// How many objects of a test are alive.
private final class Census: Sendable {
  private let alive = Atomic(0)
  var count: Int { alive.load(ordering: .relaxed) }

  func member() -> Canary {
    alive.add(1, ordering: .relaxed)
    return Canary { [self] in alive.subtract(1, ordering: .relaxed) }
  }
}

/// How a subscription can be kept and ended.
private enum Ending: CaseIterable, Sendable {
  case tokenCancelled, tokenDropped, bagCancelled, bagDropped, innerBag, keptBySource, receiver, once, removedAll
}

/// What it can be a subscription to.
private enum Chain: CaseIterable, Sendable {
  case property, mapped, filtered, distinct, combined, merged, shared, buffered, started, switched, deferred, updates,
    wait
}

/// A chain over a property whose closures keep an object each.
private func source(_ chain: Chain, _ property: Property<Int>, _ census: Census) -> DerivedSignal<Int, Never> {
  let member = census.member()
  let touch: @Sendable (Int) -> Int = {
    member.touch()
    return $0
  }
  return switch chain {
  case .property: property.tap { _ = touch($0) }.erased
  case .mapped: property.map(touch).map(touch).erased
  case .filtered: property.filter { touch($0) >= 0 }.erased
  case .distinct: property.map(touch).distinct().erased
  case .combined: combineLatest(property.map(touch), property.map(touch)).map { $0 + $1 }.erased
  case .merged: merge(property.map(touch), property.filter { touch($0) > 0 }).erased
  case .shared: property.map(touch).share().erased
  case .buffered: property.map(touch).buffered().erased
  case .started: property.map(touch).start(with: 0)
  case .switched: property.map(touch).flatMapLatest { Property(touch($0)) }.erased
  case .deferred: property.map(touch).delivered(on: .inline).erased
  case .updates: property.updates.map { _ in touch(1) }.erased
  case .wait: property.wait(until: Property(true).map { touch($0 ? 1 : 0) == 1 }).map(touch).erased
  }
}

/// What is observed without an operator in between.
private enum Root: CaseIterable, Sendable {
  case signal, rememberingSignal, newestSignal, property, latestProperty

  func make(_ census: Census) -> any ObservedRoot {
    switch self {
    case .signal: Signal<Canary>()
    case .rememberingSignal: Signal<Canary>(remembersLast: true)
    case .newestSignal: Signal<Canary>(pending: .newest(1))
    case .property: Property(census.member())
    case .latestProperty: Property(census.member(), pending: .latest)
    }
  }
}

/// How one becomes an observer.
private enum Joining: CaseIterable, Sendable {
  case closure, once, unique, receiver, method, deferred
}

/// How one stops.
private enum Leaving: CaseIterable, Sendable {
  case cancel, drop, bag, receiver, removeAll, source
}

/// What signals and properties have in common here; a property tells of the next set first.
private protocol ObservedRoot: AnyObject {
  func send(_ message: Canary)
  func join(once: Bool, _ observer: @escaping @Sendable (Canary) -> Void) -> Subscription
  func joinUnique(_ observer: @escaping @Sendable (Canary) -> Void) -> Subscription
  func join(on delivery: Delivery, _ observer: @escaping @Sendable (Canary) -> Void) -> Subscription
  func join(boundTo person: Person, _ observer: @escaping @Sendable (Person, Canary) -> Void) -> Subscription
  func join(
    boundTo person: Person, call method: @escaping @Sendable (Person) -> @Sendable (Canary) -> Void
  ) -> Subscription
  func removeAllObservers()
  var observerCount: Int { get }
}

extension Signal<Canary>: ObservedRoot {
  fileprivate func join(once: Bool, _ observer: @escaping @Sendable (Canary) -> Void) -> Subscription {
    subscribe(once: once, observer)
  }
  fileprivate func joinUnique(_ observer: @escaping @Sendable (Canary) -> Void) -> Subscription {
    subscribe(unique: "one", observer)
  }
  fileprivate func join(
    on delivery: Delivery, _ observer: @escaping @Sendable (Canary) -> Void
  ) -> Subscription { subscribe(on: delivery, observer) }
  fileprivate func join(
    boundTo person: Person, _ observer: @escaping @Sendable (Person, Canary) -> Void
  ) -> Subscription { subscribe(boundTo: person, observer) }
  fileprivate func join(
    boundTo person: Person, call method: @escaping @Sendable (Person) -> @Sendable (Canary) -> Void
  ) -> Subscription { subscribe(boundTo: person, call: method) }
}

extension Property<Canary>: ObservedRoot {
  fileprivate func send(_ message: Canary) { value = message }
  fileprivate func join(once: Bool, _ observer: @escaping @Sendable (Canary) -> Void) -> Subscription {
    subscribe(from: .future, once: once, observer)
  }
  fileprivate func joinUnique(_ observer: @escaping @Sendable (Canary) -> Void) -> Subscription {
    subscribe(unique: "one", from: .future, observer)
  }
  fileprivate func join(
    on delivery: Delivery, _ observer: @escaping @Sendable (Canary) -> Void
  ) -> Subscription { subscribe(from: .future, on: delivery, observer) }
  fileprivate func join(
    boundTo person: Person, _ observer: @escaping @Sendable (Person, Canary) -> Void
  ) -> Subscription { subscribe(boundTo: person, from: .future, observer) }
  fileprivate func join(
    boundTo person: Person, call method: @escaping @Sendable (Person) -> @Sendable (Canary) -> Void
  ) -> Subscription { subscribe(boundTo: person, from: .future, call: method) }
}

/// A receiver.
private final class Person: Sendable {
  private let member: Canary
  private let calls: Log<Int>

  init(_ member: Canary, _ calls: Log<Int>) {
    self.member = member
    self.calls = calls
  }

  @Sendable func tell(_ message: Canary) {
    message.touch()
    calls.add(1)
  }
}

@Suite struct `Lifetimes` {
  @Test(arguments: Chain.allCases)
  fileprivate func `nothing is left behind and nothing is called after the end`(chain: Chain) {
    for ending in Ending.allCases {
      let census = Census()
      let calls = Log<Int>()
      let property = Property(0)
      // The objects of the property of `Property(Canary)` are counted as well.
      do {
        let chained = source(chain, property, census)
        let member = census.member()
        let observer: @Sendable (Int) -> Void = { n in
          member.touch()
          calls.add(n)
        }
        var token: Subscription? = nil
        var bag: SubscriptionBag? = SubscriptionBag()
        switch ending {
        case .once: token = chained.take(first: 1).subscribe(observer)
        case .receiver:
          // A chain has no receivers: with(weak:) ends it when the object has gone.
          var receiver: Canary? = census.member()
          token = chained.with(weak: receiver!).subscribe { observer($0.1) }
          property.value = 1
          receiver = nil
          property.value = 2
        default: token = chained.subscribe(observer)
        }
        property.value = 3
        property.value = 4
        switch ending {
        case .tokenCancelled: token?.cancel()
        case .tokenDropped: token = nil
        case .bagCancelled:
          bag?.insert(token!)
          token = nil
          bag?.cancel()
        case .bagDropped:
          bag?.insert(token!)
          token = nil
          bag = nil
        case .innerBag:
          let inner = SubscriptionBag()
          inner.insert(token!)
          bag?.insert(inner)
          token = nil
          bag?.cancel()
        case .keptBySource:
          token?.keepWhileSourceLives()
          let before = calls.entries.count
          property.value = 5
          #expect(calls.entries.count > before)
          token?.cancel()
        case .removedAll: property.removeAllObservers()
        case .receiver, .once: break
        }
        let before = calls.entries.count
        property.value = 6
        #expect(calls.entries.count == before, "\(chain) \(ending)")
        #expect(property.observerCount == 0, "\(chain) \(ending)")
      }
      #expect(census.count == 0, "\(chain) \(ending)")
    }
  }

  /// Every kind of source, every way to be its observer, every way to stop.
  @Test(arguments: Root.allCases, Joining.allCases)
  fileprivate func `no source keeps its observers or is kept by them`(root: Root, joining: Joining) {
    for leaving in Leaving.allCases {
      let census = Census()
      let calls = Log<Int>()
      do {
        var source: (any ObservedRoot)? = root.make(census)
        var receiver: Person? = Person(census.member(), calls)
        let member = census.member()
        let observer: @Sendable (Canary) -> Void = { message in
          message.touch()
          member.touch()
          calls.add(1)
        }
        var token: Subscription? =
          switch joining {
          case .closure: source!.join(once: false, observer)
          case .once: source!.join(once: true, observer)
          case .unique: source!.joinUnique(observer)
          case .receiver:
            source!.join(boundTo: receiver!) { person, message in
              person.tell(message)
              member.touch()
            }
          case .method: source!.join(boundTo: receiver!, call: Person.tell)
          case .deferred: source!.join(on: .inline, observer)
          }
        source!.send(census.member())
        source!.send(census.member())
        #expect(calls.entries.count == (joining == .once ? 1 : 2), "\(root) \(joining) \(leaving)")
        let bag = SubscriptionBag()
        switch leaving {
        case .cancel: token?.cancel()
        case .drop:
          token = nil
          // A receiver's token ends nothing when it is dropped.
          receiver = nil
        case .bag:
          bag.insert(token!)
          bag.cancel()
        case .receiver:
          receiver = nil
          if joining != .receiver, joining != .method { token = nil }
        case .removeAll: source!.removeAllObservers()
        case .source:
          // The token outlives what it is a token for.
          source = nil
          token?.cancel()
        }
        let before = calls.entries.count
        source?.send(census.member())
        #expect(calls.entries.count == before, "\(root) \(joining) \(leaving)")
        #expect(source?.observerCount ?? 0 == 0, "\(root) \(joining) \(leaving)")
      }
      #expect(census.count == 0, "\(root) \(joining) \(leaving)")
    }
  }

  @Test func `a subscription given to its source goes with it`() {
    let census = Census()
    for chain in Chain.allCases where chain != .shared && chain != .buffered {
      do {
        let property = Property(0)
        let member = census.member()
        source(chain, property, census).subscribe { _ in member.touch() }.keepWhileSourceLives()
        property.value = 1
      }
      #expect(census.count == 0, "\(chain)")
    }
  }

  @Test func `a value is released when it is replaced and no observer has it any more`() {
    let census = Census()
    do {
      let property = Property(census.member())
      let signal = Signal<Canary>(remembersLast: true)
      let bag = SubscriptionBag()
      property.subscribe { _ in }.stored(in: bag)
      property.pairwise().subscribe { _ in }.stored(in: bag)
      combineLatest(property, property).subscribe { _ in }.stored(in: bag)
      signal.subscribe { _ in }.stored(in: bag)
      for _ in 0..<10 {
        property.value = census.member()
        signal.send(census.member())
      }
      // The value of now and the one before it, which `pairwise` keeps no longer, and the remembered message.
      #expect(census.count <= 3)
      withTransaction {
        property.value = census.member()
        property.value = census.member()
      }
      #expect(census.count <= 3)
    }
    #expect(census.count == 0)
  }

  @Test func `objects that use the source while they are released find it unlocked`() {
    let signal = Signal<Int>()
    let property = Property(0)
    let log = Log<Int>()
    for _ in 0..<3 {
      let captured = Canary {
        log.add(signal.observerCount)
        property.value += 1
        signal.subscribe { _ in }.cancel()
        try? signal.setObserverLimit(100)
        signal.send(1)
      }
      let token = signal.subscribe(unique: "x") { _ in captured.touch() }
      let other = property.updates.subscribe { _ in captured.touch() }
      token.cancel()
      other.cancel()
    }
    #expect(log.entries == [0, 0, 0])
    #expect(property.value == 3)
  }

  @Test func `tokens dropped by several threads while messages are sent leave nothing`() {
    for _ in 0..<20 * Effort.runs {
      let census = Census()
      do {
        let property = Property(0)
        onThreads(4) { thread in
          for n in 0..<200 {
            if thread == 0 {
              property.value = n
            } else {
              let member = census.member()
              let bag = SubscriptionBag()
              property.subscribe { _ in member.touch() }.stored(in: bag)
              property.map { $0 + 1 }.filter { $0 > 2 }.subscribe { _ in member.touch() }.stored(in: bag)
              if n % 2 == 0 { bag.cancel() }
            }
          }
        }
        #expect(property.observerCount == 0)
      }
      #expect(census.count == 0)
    }
  }
}
