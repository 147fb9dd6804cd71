// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalStore
@testable import Signals

private final class Window: Sendable {}
private final class Network: TopicOwner { let lost = Topic<Network, Int>() }

@Suite struct `What a debugger shows` {
  @Test func `sources tell their value and their observers`() {
    let signal = Signal<Int>()
    let property = Property(3)
    let finite = FiniteSignal<String>()
    let bag = SubscriptionBag()
    for _ in 0..<2 { signal.subscribe { _ in }.stored(in: bag) }
    property.subscribe { _ in }.stored(in: bag)
    #expect("\(signal)" == "Signal<Int>, 2 observers")
    #expect("\(property)" == "Property<Int>(3), 1 observer")
    #expect("\(finite)" == "FiniteSignal<String>, 0 observers")
    finite.end()
    #expect("\(finite)" == "FiniteSignal<String>, ended")
    #expect("\(property.map { $0 * 2 })" == "DerivedProperty<Int>(6)")
    #expect("\(property.distinct())" == "WritableProperty<Int>(3)")
    #expect("\(property.filter { $0 > 0 })" == "DerivedSignal<Int>")
    #expect("\(property.take(first: 1))" == "DerivedSignal<Int, Completion>")
    #expect("\(IntProperty(3))" == "Property<Int>(3), 0 observers")
    #expect("\(WeakProperty<Window>())" == "WeakProperty<Window>(nil)")
    #expect("\(Network().lost)" == "Topic<Network, Int>, 0 observers")
    #expect("\(bag)" == "SubscriptionBag of 3")
    let store = PropertyStore()
    let stored = store.property("kitchen/temperature", as: Double.self)
    stored.value = 21.5
    #expect("\(stored)" == "StoreProperty<Double>(kitchen/temperature: 21.5)")
  }

  @Test func `subscriptions tell to what they are and whether they have ended`() {
    let property = Property("a")
    let token = property.subscribe { _ in }
    let derived = property.filter { $0 != "" }.share().subscribe { _ in }
    #expect("\(token)" == "Subscription to Property<String>, active")
    #expect("\(derived)" == "Subscription, active")
    token.cancel()
    #expect("\(token)" == "Subscription to Property<String>, ended")
    derived.cancel()
  }

  @Test func `mirrors have what counts, and nothing of the machinery`() {
    let signal = Signal<Int>(remembersLast: true)
    signal.send(7)
    let property = Property(3)
    #expect(
      Mirror(reflecting: property).children.map { "\($0.label ?? ""): \($0.value)" } == [
        "value: 3", "observers: 0 observers",
      ])
    #expect(Mirror(reflecting: signal).children.first.map { "\($0.value)" } == "Optional(7)")
    #expect(Mirror(reflecting: property.subscribe { _ in }).children.map(\.label) == ["isActive"])
  }
}
