// SPDX-License-Identifier: MIT
@testable import SignalStore

/// What an operator gives.
enum Outcome: Sendable {
  case endless(DerivedSignal<Int, Never>)
  case property(DerivedProperty<Int>)
  case ending(DerivedSignal<Int, Completion>)

  /// Puts the messages into `message`.
  func attach(_ message: @escaping @Sendable (Int) -> Void) -> Subscription {
    switch self {
    case .endless(let source): source.subscribe(message)
    case .property(let source): source.subscribe(message)
    case .ending(let source): source.subscribe(message)
    }
  }
}

private func out(_ source: DerivedSignal<Int, Never>) -> Outcome { .endless(source) }
private func out(_ source: DerivedSignal<Int, Completion>) -> Outcome { .ending(source) }
private func out(_ source: DerivedProperty<Int>) -> Outcome { .property(source) }
private func out(_ source: WritableProperty<Int>) -> Outcome { .property(source.readOnly) }

/// One operator, on each kind of source that has it.
struct OperatorCase: Sendable {
  /// The name of its declaration, and what tells it from others of that name.
  let name: String, variant: String
  var signal: (@Sendable (DerivedSignal<Int, Never>, ManualClock) -> Outcome)?
  var property: (@Sendable (DerivedProperty<Int>, ManualClock) -> Outcome)?
  var writable: (@Sendable (WritableProperty<Int>, ManualClock) -> Outcome)?
  var finite: (@Sendable (DerivedSignal<Int, Completion>, ManualClock) -> Outcome)?
  /// What it makes of all messages of its source, a first value included.
  var model: @Sendable ([Int]) -> [Int] = { $0 }
  /// Leaves messages out that come too soon behind others.
  var isTimed = false

  init(
    _ name: String, _ variant: String = "",
    signal: (@Sendable (DerivedSignal<Int, Never>, ManualClock) -> Outcome)? = nil,
    property: (@Sendable (DerivedProperty<Int>, ManualClock) -> Outcome)? = nil,
    writable: (@Sendable (WritableProperty<Int>, ManualClock) -> Outcome)? = nil,
    finite: (@Sendable (DerivedSignal<Int, Completion>, ManualClock) -> Outcome)? = nil,
    isTimed: Bool = false, model: @escaping @Sendable ([Int]) -> [Int] = { $0 }
  ) {
    (self.name, self.variant) = (name, variant)
    (self.signal, self.property, self.writable, self.finite) = (signal, property, writable, finite)
    (self.model, self.isTimed) = (model, isTimed)
  }

  /// The operator on a source; nil when a source of this kind does not have it.
  func apply(to form: SourceForm, _ clock: ManualClock) -> Outcome? {
    switch form {
    case .signal(let source): signal?(source, clock)
    case .property(let source): property?(source, clock)
    case .writable(let source): writable.map { $0(source, clock) } ?? property?(source.readOnly, clock)
    case .finite(let source): finite?(source, clock)
    }
  }
}

private let second: Duration = .seconds(1)
/// Kept, so that it may be referred to weakly.
private let somebody = Property(0)
/// A second source; a fresh one for each, so that nobody else is delivering it.
private func other() -> Property<Int> { Property(0) }

/// Every operator on one source, with each of its variants.
let operatorCases: [OperatorCase] = [
  OperatorCase(
    "map", signal: { s, _ in out(s.map { $0 * 2 }) }, property: { s, _ in out(s.map { $0 * 2 }) },
    finite: { s, _ in out(s.map { $0 * 2 }) }, model: { $0.map { $0 * 2 } }),
  OperatorCase(
    "tryMap", signal: { s, _ in out(s.tryMap { $0 }) }, property: { s, _ in out(s.tryMap { $0 }) },
    finite: { s, _ in out(s.tryMap { $0 }) }),
  OperatorCase(
    "filter", signal: { s, _ in out(s.filter { $0 != 3 }) }, property: { s, _ in out(s.filter { $0 != 3 }) },
    finite: { s, _ in out(s.filter { $0 != 3 }) }, model: { $0.filter { $0 != 3 } }),
  OperatorCase(
    "compactMap", signal: { s, _ in out(s.compactMap { $0 == 3 ? nil : $0 }) },
    property: { s, _ in out(s.compactMap { $0 == 3 ? nil : $0 }) },
    finite: { s, _ in out(s.compactMap { $0 == 3 ? nil : $0 }) }, model: { $0.filter { $0 != 3 } }),
  OperatorCase(
    "flatMap", signal: { s, _ in out(s.flatMap { [$0, -$0] }) }, property: { s, _ in out(s.flatMap { [$0, -$0] }) },
    finite: { s, _ in out(s.flatMap { [$0, -$0] }) }, model: { $0.flatMap { [$0, -$0] } }),
  OperatorCase(
    "toVoid", signal: { s, _ in out(s.toVoid().map { 7 }) }, property: { s, _ in out(s.toVoid().map { 7 }) },
    finite: { s, _ in out(s.toVoid().map { 7 }) }, model: { $0.map { _ in 7 } }),
  OperatorCase(
    "constant", signal: { s, _ in out(s.constant(7)) }, property: { s, _ in out(s.constant(7)) },
    finite: { s, _ in out(s.constant(7)) }, model: { $0.map { _ in 7 } }),
  OperatorCase(
    "tap", signal: { s, _ in out(s.tap { _ in }) }, property: { s, _ in out(s.tap { _ in }) },
    finite: { s, _ in out(s.tap { _ in }) }),
  OperatorCase(
    "onEvent", signal: { s, _ in out(s.onEvent { _ in }) }, property: { s, _ in out(s.onEvent { _ in }) },
    finite: { s, _ in out(s.onEvent { _ in }) }),
  OperatorCase("atEnd", finite: { s, _ in out(s.atEnd {}) }),
  OperatorCase("atError", finite: { s, _ in out(s.atError { _ in }) }),
  OperatorCase(
    "discard", signal: { s, _ in out(s.discard()) }, property: { s, _ in out(s.discard()) },
    finite: { s, _ in out(s.discard()) }, model: { _ in [] }),
  OperatorCase(
    "start", signal: { s, _ in out(s.start(with: 0)) }, property: { s, _ in out(s.start(with: 0)) },
    finite: { s, _ in out(s.start(with: 0)) }, model: { [0] + $0 }),
  OperatorCase(
    "start", "twice", signal: { s, _ in out(s.start(with: 0).start(with: -1)) },
    property: { s, _ in out(s.start(with: 0).start(with: -1)) },
    finite: { s, _ in out(s.start(with: 0).start(with: -1)) }, model: { [-1, 0] + $0 }),
  OperatorCase(
    "bracketed", signal: { s, _ in out(s.bracketed(hello: 0)) }, property: { s, _ in out(s.bracketed(hello: 0)) },
    finite: { s, _ in out(s.bracketed(hello: 0)) }, model: { [0] + $0 }),
  OperatorCase(
    "debug", signal: { s, _ in out(s.debug(print: { _ in })) }, property: { s, _ in out(s.debug(print: { _ in })) },
    finite: { s, _ in out(s.debug(print: { _ in })) }),
  OperatorCase(
    "scan", signal: { s, _ in out(s.scan(10) { $0 + $1 }) }, property: { s, _ in out(s.scan(10) { $0 + $1 }) },
    finite: { s, _ in out(s.scan(10) { $0 + $1 }) }, model: { sums($0, from: 10) }),
  OperatorCase(
    "count", signal: { s, _ in out(s.count()) }, property: { s, _ in out(s.count()) },
    finite: { s, _ in out(s.count()) }, model: { Array($0.indices.map { $0 + 1 }) }),
  OperatorCase(
    "enumerated", signal: { s, _ in out(s.enumerated().map { $0.offset * 1000 + $0.message }) },
    property: { s, _ in out(s.enumerated().map { $0.offset * 1000 + $0.message }) },
    finite: { s, _ in out(s.enumerated().map { $0.offset * 1000 + $0.message }) },
    model: { $0.enumerated().map { $0.offset * 1000 + $0.element } }),
  OperatorCase(
    "buffer", signal: { s, _ in out(s.buffer(count: 2).map { $0[0] - $0[1] }) },
    property: { s, _ in out(s.buffer(count: 2).map { $0[0] - $0[1] }) },
    finite: { s, _ in out(s.buffer(count: 2).map { $0[0] - $0[1] }) },
    model: { all in stride(from: 0, to: all.count - 1, by: 2).map { all[$0] - all[$0 + 1] } }),
  OperatorCase(
    "pairwise", signal: { s, _ in out(s.pairwise().map { $0.current - $0.previous }) },
    property: { s, _ in out(s.pairwise().map { $0.current - $0.previous }) },
    finite: { s, _ in out(s.pairwise().map { $0.current - $0.previous }) },
    model: { zip($0.dropFirst(), $0).map { $0.0 - $0.1 } }),
  OperatorCase(
    "contains", signal: { s, _ in out(s.contains { $0 == 3 }.map { $0 ? 1 : 0 }) },
    property: { s, _ in out(s.contains { $0 == 3 }.map { $0 ? 1 : 0 }) },
    finite: { s, _ in out(s.contains { $0 == 3 }.map { $0 ? 1 : 0 }) },
    model: { all in all.indices.map { all[...$0].contains(3) ? 1 : 0 } }),
  OperatorCase(
    "allSatisfy", signal: { s, _ in out(s.allSatisfy { $0 != 3 }.map { $0 ? 1 : 0 }) },
    property: { s, _ in out(s.allSatisfy { $0 != 3 }.map { $0 ? 1 : 0 }) },
    finite: { s, _ in out(s.allSatisfy { $0 != 3 }.map { $0 ? 1 : 0 }) },
    model: { all in all.indices.map { all[...$0].contains(3) ? 0 : 1 } }),
  OperatorCase("collect", finite: { s, _ in out(s.collect().map { $0.count }) }, model: { _ in [] }),
  OperatorCase(
    "take", "first", signal: { s, _ in out(s.take(first: 2)) }, property: { s, _ in out(s.take(first: 2)) },
    finite: { s, _ in out(s.take(first: 2)) }, model: { Array($0.prefix(2)) }),
  OperatorCase(
    "take", "while", signal: { s, _ in out(s.take { $0 != 3 }) }, property: { s, _ in out(s.take { $0 != 3 }) },
    finite: { s, _ in out(s.take { $0 != 3 }) }, model: { Array($0.prefix { $0 != 3 }) }),
  OperatorCase(
    "finite", signal: { s, _ in out(s.finite()) }, property: { s, _ in out(s.finite()) },
    finite: { s, _ in out(s.finite()) }),
  OperatorCase(
    "skip", "first", signal: { s, _ in out(s.skip(first: 1)) }, property: { s, _ in out(s.skip(first: 1)) },
    finite: { s, _ in out(s.skip(first: 1)) }, model: { Array($0.dropFirst()) }),
  OperatorCase(
    "skip", "until", signal: { s, _ in out(s.skip { $0 == 3 }) }, property: { s, _ in out(s.skip { $0 == 3 }) },
    finite: { s, _ in out(s.skip { $0 == 3 }) }, model: { Array($0.drop { $0 != 3 }) }),
  OperatorCase(
    "distinct", signal: { s, _ in out(s.distinct()) }, property: { s, _ in out(s.distinct()) },
    writable: { s, _ in out(s.distinct() as WritableProperty) }, finite: { s, _ in out(s.distinct()) },
    model: { all in all.indices.filter { $0 == 0 || all[$0 - 1] != all[$0] }.map { all[$0] } }),
  OperatorCase(
    "merge", signal: { s, _ in out(merge(s, Signal<Int>())) }, property: { s, _ in out(merge(s, Signal<Int>())) },
    finite: { s, _ in out(merge([s, DerivedSignal.never])) }),
  OperatorCase(
    "combineLatest", signal: { s, _ in out(combineLatest(messages: s, other()).map { $0 + $1 }) },
    property: { s, _ in out(combineLatest(s, other()).map { $0 + $1 }) },
    finite: { s, _ in out(combineLatest(messages: s, other().finite()).map { $0 + $1 }) }),
  OperatorCase(
    "combineLatest", "messages", property: { s, _ in out(combineLatest(messages: other(), s).map { $0 + $1 }) },
    finite: { s, _ in out(combineLatest(messages: other().finite(), s).map { $0 + $1 }) }),
  OperatorCase("combineLatest", "array", property: { s, _ in out(combineLatest([s]).map { $0[0] }) }),
  OperatorCase("combine", writable: { s, _ in out(combine(s, other()).map { $0 + $1 }) }),
  OperatorCase(
    "withLatest", "from", signal: { s, _ in out(s.withLatest(from: other()).map { $0 + $1 }) },
    property: { s, _ in out(s.withLatest(from: other()).map { $0 + $1 }) },
    finite: { s, _ in out(s.withLatest(from: other()).map { $0 + $1 }) }),
  OperatorCase(
    "withLatest", "fromMessagesOf", signal: { s, _ in out(s.withLatest(fromMessagesOf: other()).map { $0 + $1 }) },
    property: { s, _ in out(s.withLatest(fromMessagesOf: other()).map { $0 + $1 }) },
    finite: { s, _ in out(s.withLatest(fromMessagesOf: other()).map { $0 + $1 }) }),
  OperatorCase(
    "withLatest", "fromMessagesOf a signal",
    signal: { s, _ in out(s.withLatest(fromMessagesOf: other().erased).map { $0 + $1 }) },
    property: { s, _ in out(s.withLatest(fromMessagesOf: other().erased).map { $0 + $1 }) },
    finite: { s, _ in out(s.withLatest(fromMessagesOf: other().erased).map { $0 + $1 }) }),
  OperatorCase(
    "with", signal: { s, _ in out(s.with(weak: somebody).map { $1 }) },
    property: { s, _ in out(s.with(weak: somebody).map { $1 }) }),
  OperatorCase(
    "wait", signal: { s, _ in out(s.wait(until: Property(true))) },
    property: { s, _ in out(s.wait(until: Property(true))) }),
  OperatorCase(
    "driven", signal: { s, _ in out(other().driven(by: s)) }, property: { s, _ in out(other().driven(by: s)) },
    finite: { s, _ in out(other().driven(by: s)) }, model: { $0.map { _ in 0 } }),
  OperatorCase(
    "share", signal: { s, _ in out(s.share()) }, property: { s, _ in out(s.share()) },
    finite: { s, _ in out(s.share()) }),
  OperatorCase("buffered", property: { s, _ in out(s.buffered()) }),
  OperatorCase(
    "readable", "read", signal: { s, _ in out(s.toVoid().readable { 7 }) }, property: { s, _ in out(s.readable { 7 }) },
    model: { all in [7] + all.dropFirst(all.first == 1 ? 1 : 0).map { _ in 7 } }),
  OperatorCase(
    "writable", signal: { s, _ in out(s.writable({ 7 }) { _ in }) },
    property: { s, _ in out(s.writable({ 7 }) { _ in }) },
    model: { all in [7] + all.dropFirst(all.first == 1 ? 1 : 0).map { _ in 7 } }),
  OperatorCase(
    "readable", "initial", signal: { s, _ in out(s.readable(initial: 0)) },
    property: { s, _ in out(s.readable(initial: 0)) },
    model: { $0.first == 1 ? $0 : [0] + $0 }),
  OperatorCase(
    "connecting",
    signal: { s, _ in
      out(
        DerivedSignal<Int, Never>.connecting { sink in
          let token = s.subscribe { sink.message($0) }
          return { token.cancel() }
        })
    },
    finite: { s, _ in
      out(
        DerivedSignal<Int, Completion>.connecting { sink in
          let token = s.attach(sink)
          return { token.cancel() }
        })
    }),
  OperatorCase(
    "flatMapLatest", "into properties", signal: { s, _ in out(s.flatMapLatest { Property($0) }) },
    property: { s, _ in out(s.flatMapLatest { Property($0) } as DerivedProperty) },
    writable: { s, _ in out(s.flatMapLatest(writable: { Property($0) })) },
    finite: { s, _ in out(s.flatMapLatest { Property($0) }) }),
  OperatorCase(
    "flatMapLatest", "into signals", signal: { s, _ in out(s.flatMapLatest { Property($0).filter { _ in true } }) },
    property: { s, _ in out(s.flatMapLatest { n -> DerivedSignal<Int, Never> in Property(n).filter { _ in true } }) },
    finite: { s, _ in out(s.flatMapLatest { Property($0).filter { _ in true } }) }),
  OperatorCase(
    "flatMapLatest", "into finite signals", signal: { s, _ in out(s.flatMapLatest { DerivedSignal.just($0) }) },
    property: { s, _ in out(s.flatMapLatest { DerivedSignal.just($0) }) },
    finite: { s, _ in out(s.flatMapLatest { DerivedSignal.just($0) }) }),
  OperatorCase(
    "switchToLatest", signal: { s, _ in out(s.map { Property($0) }.switchToLatest()) },
    property: { s, _ in out(s.map { Property($0) }.switchToLatest()) },
    finite: { s, _ in out(s.map { Property($0) }.switchToLatest()) }),
  OperatorCase(
    "debounce", signal: { s, clock in out(s.debounce(for: second, clock: clock)) },
    property: { s, clock in out(s.debounce(for: second, clock: clock)) },
    finite: { s, clock in out(s.debounce(for: second, clock: clock)) }, isTimed: true),
  OperatorCase(
    "throttle", signal: { s, clock in out(s.throttle(for: second, clock: clock)) },
    property: { s, clock in out(s.throttle(for: second, clock: clock)) },
    finite: { s, clock in out(s.throttle(for: second, clock: clock)) }, isTimed: true),
  OperatorCase(
    "delay", signal: { s, clock in out(s.delay(by: second, clock: clock)) },
    property: { s, clock in out(s.delay(by: second, clock: clock)) },
    finite: { s, clock in out(s.delay(by: second, clock: clock)) }, isTimed: true),
  OperatorCase(
    "delay", "each", signal: { s, clock in out(s.delay(clock: clock) { _ in second }) },
    property: { s, clock in out(s.delay(clock: clock) { _ in second }) },
    finite: { s, clock in out(s.delay(clock: clock) { _ in second }) }, isTimed: true),
  OperatorCase(
    "delivered", signal: { s, _ in out(s.delivered(on: .inline)) }, property: { s, _ in out(s.delivered(on: .inline)) },
    finite: { s, _ in out(s.delivered(on: .inline)) }),
  OperatorCase(
    "transform", signal: { s, _ in out(s.transform { (sink: Sink<Int, Never>) in Sink { sink.message($0) } }) },
    property: { s, _ in out(s.transform { (sink: Sink<Int, Never>) in Sink { sink.message($0) } }) },
    finite: { s, _ in
      out(
        s.transform { (sink: Sink<Int, Completion>) in Sink(message: { sink.message($0) }, end: sink.end) })
    }),
  OperatorCase(
    "erased", signal: { s, _ in out(s.erased) }, property: { s, _ in out(s.erased) },
    finite: { s, _ in out(s.erased) }),
  OperatorCase("readOnly", property: { s, _ in out(s.readOnly) }),
  OperatorCase("fromCurrent", property: { s, _ in out(s.fromCurrent) }),
  OperatorCase("plain", property: { s, _ in out(s.plain) }, model: { Array($0.dropFirst()) }),
  OperatorCase(
    "negate", property: { s, _ in out(s.map { $0 == 3 }.negate().map { $0 ? 1 : 0 }) },
    model: { $0.map { $0 == 3 ? 0 : 1 } }),
]

private func sums(_ all: [Int], from start: Int) -> [Int] {
  var sum = start
  return all.map {
    sum += $0
    return sum
  }
}
