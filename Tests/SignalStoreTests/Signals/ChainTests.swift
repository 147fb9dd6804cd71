// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

/// The roots that chains can stand on, each as something to send to.
private enum Root: CaseIterable, Sendable {
  case signal, remembering, property, finite, erased, ownSource

  /// Attaches a chain that is made of the root, sends the numbers, and answers what came out.
  func run(_ numbers: [Int], _ chain: (DerivedSignal<Int, Never>) -> DerivedSignal<String, Never>) -> [String] {
    let signal = Signal<Int>(remembersLast: self == .remembering)
    let property = Property(0)
    let finite = FiniteSignal<Int>()
    let root: DerivedSignal<Int, Never> =
      switch self {
      case .signal, .remembering: signal.readOnly
      case .property: property.plain
      case .finite: DerivedSignal { sink in finite.attach(Sink(message: { sink.message($0) }, end: { _ in })) }
      case .erased: signal.erased.erased.erased
      case .ownSource: OwnSource(property: property).erased
      }
    let log = Log<String>()
    let token = chain(root).subscribe { log.add($0) }
    for number in numbers {
      switch self {
      case .signal, .remembering, .erased: signal.send(number)
      case .property, .ownSource: property.value = number
      case .finite: finite.send(number)
      }
    }
    token.cancel()
    signal.send(1)
    property.value = 1
    return log.entries
  }
}

/// Puts its messages into the sink by itself.
private struct OwnSource: SignalSource {
  let property: Property<Int>
  func attach(_ sink: Sink<Int, Never>) -> Subscription { property.subscribe(from: .future) { sink.message($0) } }
}

/// Not inlined, so that the parts of a chain do not see each other.
@inline(never)
private func half<Source: SignalSource<Int, Never>>(_ source: Source) -> DerivedSignal<Int, Never> {
  source.compactMap { $0.isMultiple(of: 2) ? $0 / 2 : nil }
}

@Suite struct `Chains of map, filter and compactMap` {
  private let numbers = [3, -4, 10, 7, 0, 12, -1, 8]

  @Test(arguments: Root.allCases)
  fileprivate func `are what they are on an array`(root: Root) {
    let expected = numbers.map { $0 + 2 }.filter { $0 > 0 }.compactMap { $0.isMultiple(of: 2) ? "\($0 / 2)" : nil }
    #expect(
      root.run(numbers) {
        $0.map { $0 + 2 }.filter { $0 > 0 }.compactMap { $0.isMultiple(of: 2) ? "\($0 / 2)" : nil }
      } == expected)
    #expect(root.run(numbers) { half($0.map { $0 + 2 }.filter { $0 > 0 }).map { "\($0)" } } == expected)
  }

  @Test(arguments: Root.allCases)
  fileprivate func `may capture`(root: Root) {
    for offset in [-3, 0, 5] {
      let object = Log<Int>()
      let expected = numbers.map { "\($0 + offset)" }
      let found = root.run(numbers) {
        $0.map { $0 + offset }
          .filter {
            object.add($0)
            return true
          }
          .map { "\($0)" }
      }
      #expect(found == expected)
      #expect(object.entries == numbers.map { $0 + offset })
    }
  }

  @Test func `go on behind operators that remember something`() {
    #expect(
      Root.signal.run([1, 1, 2, 2, 3, 4]) {
        $0.filter { $0 < 4 }.distinct().map { $0 * 2 }.scan(0, +).filter { $0 > 2 }.map { "\($0)" }
      } == ["6", "12"])
  }

  @Test func `stand among the other observers of a property in their order`() {
    let property = Property(1)
    let log = Log<String>()
    let bag = SubscriptionBag()
    property.subscribe(from: .future) { log.add("first \($0)") }.stored(in: bag)
    property.map { $0 * 10 }.subscribe { log.add("map \($0)") }.stored(in: bag)
    property.changes.subscribe { log.add("change \($0.old) \($0.new)") }.stored(in: bag)
    property.filter { $0 > 2 }.map { $0 + 1 }.subscribe { log.add("filter \($0)") }.stored(in: bag)
    property.subscribe(from: .future) { log.add("last \($0)") }.stored(in: bag)
    property.value = 2
    property.value = 3
    #expect(
      log.entries == [
        "map 10",
        "first 2", "map 20", "change 1 2", "last 2",
        "first 3", "map 30", "change 2 3", "filter 4", "last 3",
      ])
  }

  @Test func `wait in the queue, start from a remembered message, and are replayed`() {
    let signal = Signal<Int>(remembersLast: true)
    let log = Log<Int>()
    let again = signal.subscribe { if $0 > 0 { signal.send($0 - 1) } }
    signal.send(2)
    let token = signal.map { $0 + 100 }.filter { $0 != 101 }.subscribe { log.add($0) }
    #expect(log.entries == [100])
    signal.send(3)
    #expect(log.entries == [100, 103, 102, 100])
    #expect(token.replay())
    #expect(log.entries == [100, 103, 102, 100, 100])
    token.cancel()
    #expect(!token.replay())
    again.cancel()
  }

  @Test func `end with the next message, and when they are cancelled from inside`() {
    let signal = Signal<Int>()
    let log = Log<Int>()
    let once = signal.map { $0 + 1 }.subscribe { log.add($0) }
    once.endAfterNext()
    signal.send(1)
    signal.send(2)
    #expect(log.entries == [2])
    let box = Box<Subscription?>(nil)
    box.value = signal.filter { $0 > 0 }.map { -$0 }.subscribe {
      log.add($0)
      box.value?.cancel()
      signal.send(8)
    }
    signal.send(7)
    #expect(log.entries == [2, -7])
    #expect(signal.observerCount == 0)
  }
}
