// SPDX-License-Identifier: MIT
import JSON
import Testing

@testable import SignalStore

/// A source of one kind, as the operators see it: what matters to them is which protocol it is known by.
enum SourceForm: Sendable {
  case signal(DerivedSignal<Int, Never>)
  case property(DerivedProperty<Int>)
  case writable(WritableProperty<Int>)
  case finite(DerivedSignal<Int, Completion>)
}

/// One source with what is needed to drive it.
struct SourceUnderTest: Sendable {
  let form: SourceForm
  /// What it begins with for each subscriber.
  var first: [Int] = []
  let send: @Sendable (Int) -> Void
  /// The observers of what it is made of.
  let observerCount: @Sendable () -> Int
  /// What is set, for a source that reads it late.
  var storage: Property<Int>?
}

/// A kind of source, and how to make one.
struct SourceCase: Sendable, CustomTestStringConvertible {
  let name: String
  let make: @Sendable () -> SourceUnderTest
  var testDescription: String { name }
  /// Whether it reads its value when it tells that it has changed: of two sets it may tell the later one twice.
  var readsLate: Bool { name == "storage made readable" }

  /// A source over a signal.
  static func signal(
    _ name: String, _ view: @escaping @Sendable (Signal<Int>) -> SourceForm
  ) -> SourceCase {
    SourceCase(name: name) {
      let signal = Signal<Int>()
      return SourceUnderTest(
        form: view(signal), send: { signal.send($0) }, observerCount: { signal.observerCount })
    }
  }

  /// A source over a property that is 1.
  static func property(
    _ name: String, _ first: [Int] = [1], _ view: @escaping @Sendable (Property<Int>) -> SourceForm
  ) -> SourceCase {
    SourceCase(name: name) {
      let property = Property(1)
      return SourceUnderTest(
        form: view(property), first: first, send: { property.value = $0 },
        observerCount: { property.observerCount })
    }
  }
}

/// Any writable source, as one of a type that the list can hold.
private func writable<Source: WritableSource>(_ source: Source) -> SourceForm where Source.Message == Int {
  .writable(
    WritableProperty(value: { source.value }, modify: { source.modify($0) }) { source.attach(from: $0, $1) })
}

private final class Clock: TopicOwner {
  let ticked = Topic<Clock, Int>()
}

/// Every kind of source.
let sourceCases: [SourceCase] = [
  .signal("Signal") { .signal($0.erased) },
  .signal("read-only signal") { .signal($0.readOnly) },
  .signal("merged signal") { .signal(merge($0, DerivedSignal<Int, Never>.never)) },
  .signal("shared signal") { .signal($0.share()) },
  .signal("signal behind operators") { .signal($0.map { $0 }.filter { _ in true }.tap { _ in }) },
  .signal("signal delivered") { .signal($0.delivered(on: .inline)) },
  .signal("signal connecting") { signal in
    .signal(
      DerivedSignal.connecting { sink in
        let token = signal.subscribe { sink.message($0) }
        return { token.cancel() }
      })
  },
  .signal("inner signal") { signal in .signal(Property(0).flatMapLatest { _ in signal }) },
  SourceCase(name: "remembering signal") {
    let signal = Signal<Int>(remembersLast: true)
    signal.send(1)
    return SourceUnderTest(
      form: .signal(signal.erased), first: [1], send: { signal.send($0) }, observerCount: { signal.observerCount })
  },
  SourceCase(name: "topic") {
    let clock = Clock()
    return SourceUnderTest(
      form: .signal(clock.ticked.erased), send: { clock.send(\.ticked, $0) },
      observerCount: { clock.ticked.observerCount })
  },
  .property("plain property", []) { .signal($0.plain) },
  .property("property behind an operator") { .signal($0.filter { _ in true }) },
  .property("shared property") { .signal($0.share()) },
  .property("read-only property") { .property($0.readOnly) },
  .property("computed property") { .property($0.map { $0 }) },
  .property("combined property") { .property(combineLatest($0, Property(0)).map { $0.0 }) },
  .property("buffered property") { .property($0.buffered()) },
  .property("property delivered") { .property($0.readOnly.delivered(on: .inline)) },
  .property("inner property") { property in .property(Property(0).flatMapLatest { _ in property }) },
  .signal("signal made readable") { .property($0.readable(initial: 1)) }.beginning(with: [1]),
  SourceCase(name: "storage made readable") {
    let storage = Property(1)
    let changed = storage.plain.toVoid()
    return SourceUnderTest(
      form: .property(changed.readable { storage.value }), first: [1], send: { storage.value = $0 },
      observerCount: { storage.observerCount }, storage: storage)
  },
  .property("Property") { writable($0) },
  .property("part of a property") { writable($0[\.self]) },
  .property("distinct property") { writable($0.distinct() as WritableProperty) },
  SourceCase(name: "literal property") {
    let property: IntProperty = 1
    return SourceUnderTest(
      form: writable(property), first: [1], send: { property.value = $0 },
      observerCount: { property.property.observerCount })
  },
  SourceCase(name: "store property") {
    let property = PropertyStore().property("a/b", as: Int.self)
    property.value = 1
    return SourceUnderTest(
      form: writable(property.defaulting(to: 0)), first: [1], send: { property.value = $0 },
      observerCount: { property.observerCount })
  },
  SourceCase(name: "finite signal") {
    let signal = FiniteSignal<Int>()
    return SourceUnderTest(
      form: .finite(signal.erased), send: { signal.send($0) }, observerCount: { signal.observerCount })
  },
  .property("property made finite") { .finite($0.finite()) },
  .signal("combined finite signals") {
    .finite(combineLatest(messages: $0.finite(), Property(0).finite()).map { $0.0 })
  },
  .signal("inner finite signal") { signal in .finite(Property(0).flatMapLatest { _ in signal.finite() }) },
]

extension SourceCase {
  fileprivate func beginning(with first: [Int]) -> SourceCase {
    SourceCase(name: name) { [make] in
      var source = make()
      source.first = first
      return source
    }
  }
}
