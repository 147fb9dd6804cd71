// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import Signals

@Suite struct `More kinds of sources` {
  @Test func `a weak property does not keep its object`() {
    let log = Log<String>()
    var object: Canary? = Canary { log.add("gone") }
    let property = WeakProperty(object)
    let seen = Log<Bool>()
    let subscription = property.subscribe { seen.add($0 != nil) }
    #expect(property.value === object)
    object = nil
    #expect(log.entries == ["gone"])
    #expect(property.value == nil)
    let other = Canary {}
    property.value = other
    property.modify { $0 = nil }
    #expect(seen.entries == [true, true, false])
    withExtendedLifetime((subscription, other)) {}
  }

  @Test func `properties are made of literals`() {
    let number: IntProperty = 1
    let fraction: DoubleProperty = 1.5
    let flag: BoolProperty = true
    let text: StringProperty = "a"
    let nothing: LiteralProperty<Int?> = nil
    #expect(number.value == 1 && fraction.value == 1.5 && flag.value && text.value == "a")
    #expect(nothing.value == nil)
    let log = Log<Int>()
    let subscription = number.map { $0 * 2 }.subscribe { log.add($0) }
    number.value = 2
    #expect(number.property.value == 2)
    #expect(log.entries == [2, 4])
    subscription.cancel()
  }

  @Test func `discard sends the end alone`() {
    let signal = FiniteSignal<Int>()
    let log = Log<String>()
    let subscription = signal.discard().subscribe(onEnd: { _ in log.add("end") }) { log.add("\($0)") }
    signal.send(1)
    signal.end()
    #expect(log.entries == ["end"])
    subscription.cancel()
  }

  @Test func `a buffered source asks its getter once for all`() {
    let reads = Log<Int>()
    let storage = Box(1)
    let changed = Signal<Void>()
    let source = changed.readable {
      reads.add(1)
      return storage.value
    }.buffered()
    let log = Log<String>()
    let first = source.subscribe { log.add("a\($0)") }
    let second = source.subscribe { log.add("b\($0)") }
    let third = source.subscribe(from: .future) { log.add("c\($0)") }
    #expect(reads.entries.count == 1)
    #expect(source.value == 1)
    #expect(reads.entries.count == 1)
    #expect(changed.observerCount == 1)
    storage.value = 2
    changed.send()
    #expect(reads.entries.count == 2)
    #expect(log.entries == ["a1", "b1", "a2", "b2", "c2"])
    for token in [first, second, third] { token.cancel() }
    #expect(changed.observerCount == 0)
    storage.value = 3
    #expect(source.value == 3)
  }

  @Test func `a notification centre is observed only while somebody listens`() {
    let center = NotificationCenter()
    let name = Notification.Name("test")
    let installed = Box(0)
    let source = DerivedSignal<String, Never>.connecting { sink in
      installed.update { $0 += 1 }
      // Unchecked: the centre's token is not Sendable, and only handed back to the centre.
      nonisolated(unsafe) let token = center.addObserver(forName: name, object: nil, queue: nil) {
        sink.message($0.object as? String ?? "")
      }
      return {
        unsafe center.removeObserver(token)
        installed.update { $0 -= 1 }
      }
    }
    let log = Log<String>()
    center.post(name: name, object: "unheard")
    #expect(installed.value == 0)
    let subscription = source.subscribe { log.add($0) }
    let other = source.subscribe { _ in }
    #expect(installed.value == 1)
    center.post(name: name, object: "heard")
    subscription.cancel()
    #expect(installed.value == 1)
    other.cancel()
    #expect(installed.value == 0)
    center.post(name: name, object: "unheard")
    #expect(log.entries == ["heard"])
  }
}
