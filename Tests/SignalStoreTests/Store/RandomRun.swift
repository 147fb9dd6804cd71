// SPDX-License-Identifier: MIT

import JSON

@testable import SignalStore

/// A store under every kind of operation, in an order that is the same again for the same seed.
final class RandomRun {
  let clock = ManualClock()
  let limits = StoreLimits(
    properties: 40, transactionOperations: 8, historyChanges: 64, computedProperties: 12, formulaDepth: 4,
    formulaUnits: 4000,
    formulaBytes: 400, heldProperties: 5, rememberedSignals: 6, rememberedBytes: 3000, timers: 6)
  private(set) var store: PropertyStore
  private var random: StoreGenerator
  private var holders: [Holder] = []
  /// What the wall clock is ahead of that of the timers; it is also set back.
  private let drift = Box<Int64>(0)

  init(seed: UInt64) throws {
    random = StoreGenerator(seed: seed)
    let (clock, drift) = (clock, drift)
    store = PropertyStore(epoch: .random(using: &random), limits: limits, timers: clock) {
      Timestamp(milliseconds: clock.now.milliseconds + drift.value)
    }
  }

  /// Begins with a store that omits records.
  convenience init(seed: UInt64, rules: [PersistenceRule], sink: any RecordSink) throws {
    try self.init(seed: seed)
    restart(from: store.replica, sink: sink, rules: rules)
  }

  /// The text of a formula says which properties it adds, and what it does with the sum.
  static func formula(_ source: String) throws(FormulaError) -> Formula {
    let words = source.split(separator: " ")
    guard let kind = words.first else { throw FormulaError("nothing") }
    let inputs = words.dropFirst().map { PropertyPath(stringLiteral: String($0)) }
    return Formula(source: source, inputs: inputs) { read, budget in
      var sum = 0
      for input in inputs {
        guard let value = read(input) else { return .failure("there is no \(input)") }
        sum += Int(value.value.description) ?? value.value.bytes.count
      }
      switch kind {
      case "costly": budget.units -= 1500
      case "long": return .value(JSONText(String(repeating: "x", count: sum & 255)))
      default: break
      }
      return .value(JSONText(sum % 1000))
    }
  }

  func steps(_ count: Int) throws {
    for _ in 0..<count { try step() }
  }

  private func step() throws {
    switch random.number(below: 20) {
    case 0...6: _ = try? store.execute(operation())
    case 7...8:
      let operations = (0...random.number(below: 7)).map { _ in operation() }
      _ = try? store.transact(operations)
    case 9...10: _ = try? store.execute(definition())
    case 11: _ = try? store.signals.send(path(), value(), remember: random.chance(60))
    case 12: _ = try? store.timers.set(path(), schedule(), message: value())
    case 13: store.timers.remove(path())
    case 14: keepLastOperations()
    case 15: if let holder = holders.randomElement(using: &random) { store.release(holder) }
    case 16: drift.value += Int64(random.number(below: 4000)) - 1500
    default: clock.advance(to: clock.now + .milliseconds(random.number(below: 400)))
    }
  }

  private func path() -> PropertyPath {
    PropertyPath(
      stringLiteral: ["a", "b", "c", "d", "a/a", "a/b", "a-b", "b/c", "é", "x/y/z"][random.number(below: 10)])
  }

  private func value() -> JSONText {
    random.chance(20)
      ? JSONText(String(repeating: "é", count: random.number(below: 200))) : JSONText(random.number(below: 4))
  }

  private func holder() -> Holder {
    if holders.isEmpty || (holders.count < 4 && random.chance(20)) { holders.append(store.makeHolder()) }
    return holders[random.number(below: holders.count)]
  }

  private func condition() -> Condition {
    guard random.chance(20) else { return .any }
    let cursor = Cursor(
      epoch: store.epoch, revision: Revision(UInt64(random.number(below: Int(store.revision.number) + 1))))
    return switch random.number(below: 5) {
    case 0: .exists
    case 1: .absent
    case 2: .matches(store.get(path()).map { Cursor(epoch: store.epoch, revision: $0.revision) } ?? cursor)
    case 3: .noneMatch([cursor])
    default: .unmodifiedSince(store.get(path())?.time ?? Timestamp(milliseconds: 0))
    }
  }

  private func operation() -> PropertyStore.Operation {
    if random.chance(10) { return definition() }
    if random.chance(20) { return .delete(path(), if: condition()) }
    return .set(
      path(), value(), if: condition(), always: random.chance(10),
      ttl: random.chance(30) ? .microseconds(1 + random.number(below: 900_000)) : nil,
      holder: random.chance(25) ? holder() : nil)
  }

  private func definition() -> PropertyStore.Operation {
    let kind = ["sum", "sum", "costly", "long"][random.number(below: 4)]
    let inputs = (0..<random.number(below: 4)).map { _ in path().description }
    let source = ([kind] + inputs).joined(separator: " ")
    guard let formula = try? Self.formula(source) else { preconditionFailure("A formula begins with a word.") }
    return .define(path(), formula, if: condition())
  }

  private func schedule() -> TimerSchedule {
    let time = Duration.milliseconds(10 + random.number(below: 900))
    return switch random.number(below: 3) {
    case 0: .after(time)
    case 1: .at(Timestamp(milliseconds: clock.now.milliseconds + drift.value + time.milliseconds))
    default: .every(time)
    }
  }

  private func keepLastOperations() {
    store.keep(lastOperations: random.chance(30) ? nil : JSONText("op \(random.number(below: 100))"), of: holder())
  }

  /// Goes on with a store that was made anew of a replica, as after a restart.
  func restart(
    from replica: Replica, sink: (any RecordSink)?, rules: [PersistenceRule] = [], isClean: Bool = true,
    quotas: [Quota] = []
  ) {
    let (clock, drift) = (clock, drift)
    store = PropertyStore(
      restoring: replica, limits: limits, timers: clock, sink: sink,
      rules: rules, isClean: isClean, quotas: quotas,
      clock: { Timestamp(milliseconds: clock.now.milliseconds + drift.value) }, compile: Self.formula)
    holders = store.holders
  }
}
