// SPDX-License-Identifier: MIT
import Testing

@testable import Signals

private protocol Named: Sendable { var name: String { get } }

private final class Person: Named {
  private let stored: Property<String>
  let renamed = Signal<(sender: any Named, message: String)>()

  init(_ name: String) { stored = Property(name) }

  var name: String {
    get { stored.value }
    set {
      stored.value = newValue
      renamed.send(newValue, from: self)
    }
  }
}

private final class Network: TopicOwner {
  let wasLost = Topic<Network, Int>()
  let cameBack = Topic<Network, Void>()
  let nameDidChange = Topic<Network, (sender: any Named, message: String)>()
}

private enum TemperatureChanged: SignalName { typealias Message = Double }
private enum DoorOpened: SignalName { typealias Message = Void }

@Suite struct `Senders and topics` {
  @Test func `the sender comes typed with the message and has the new value`() {
    let person = Person("old")
    let log = Log<String>()
    let subscription = person.renamed.subscribe { sender, name in log.add("\(sender.name) \(name)") }
    person.name = "new"
    #expect(log.entries == ["new new"])
    subscription.cancel()
  }

  @Test func `the owner of a topic sends, everyone may subscribe`() {
    let network = Network()
    let log = Log<String>()
    let bag = SubscriptionBag()
    network.wasLost.subscribe { log.add("lost \($0)") }.stored(in: bag)
    network.cameBack.subscribe { log.add("back") }.stored(in: bag)
    network.nameDidChange.subscribe { sender, name in log.add("\(sender.name) \(name)") }.stored(in: bag)
    network.send(\.wasLost, 3)
    network.send(\.cameBack)
    network.send(\.nameDidChange, "lan", from: Person("admin"))
    #expect(log.entries == ["lost 3", "back", "admin lan"])
    bag.cancel()
    network.send(\.wasLost, 4)
    #expect(log.entries.count == 3)
  }

  @Test func `topics have operators and receivers like any source`() {
    let network = Network()
    let log = Log<String>()
    var receiver: Canary? = Canary { log.add("gone") }
    network.wasLost.subscribe(boundTo: receiver!) { _, n in log.add("\(n)") }
    let doubled = network.wasLost.map { $0 * 2 }.subscribe { log.add("doubled \($0)") }
    network.send(\.wasLost, 1)
    receiver = nil
    network.send(\.wasLost, 2)
    #expect(log.entries == ["1", "doubled 2", "gone", "doubled 4"])
    #expect(network.wasLost.observerCount == 1)
    doubled.cancel()
  }

  @Test func `a name leads to one signal of its payload`() {
    let registry = SignalRegistry()
    let log = Log<String>()
    let first = registry[name: TemperatureChanged.self].subscribe { log.add("\($0)") }
    let second = registry[name: DoorOpened.self].subscribe { log.add("door") }
    registry[name: TemperatureChanged.self].send(21.5)
    registry[name: DoorOpened.self].send()
    #expect(log.entries == ["21.5", "door"])
    #expect(registry[name: TemperatureChanged.self] === registry[name: TemperatureChanged.self])
    withExtendedLifetime((first, second)) {}
  }

  @Test func `threads that ask at the same time get the same signal`() {
    for _ in 0..<100 {
      let registry = SignalRegistry()
      let found = Log<Signal<Double>>()
      onThreads(2) { _ in found.add(registry[name: TemperatureChanged.self]) }
      #expect(found.entries[0] === found.entries[1])
    }
  }
}
