// SPDX-License-Identifier: MIT

internal import JSON
package import SignalStore

/// Records of every kind, in an order that is the same again for the same seed, and what they come to.
package struct RandomRecords {
  /// What a store has that has made the records so far.
  package private(set) var replica: Replica
  private var random: Generator
  private let paths: [PropertyPath]
  private let longest: Int

  /// - Parameters:
  ///   - paths: How many paths there are.
  ///   - longest: Most bytes of a value, about.
  package init(seed: UInt64, paths: Int = 30, longest: Int = 200, limits: StoreLimits = StoreLimits()) {
    random = Generator(seed: seed)
    guard let epoch = Epoch("seed") else { preconditionFailure("\"seed\" is an epoch.") }
    replica = Replica(epoch: epoch, limits: limits)
    self.paths = (0..<paths).map { PropertyPath(stringLiteral: ["a", "a/b", "a-b", "é/x"][$0 % 4] + "/\($0)") }
    self.longest = longest
  }

  package struct Generator: RandomNumberGenerator {
    private var state: UInt64

    package init(seed: UInt64) { state = seed }

    /// SplitMix64.
    package mutating func next() -> UInt64 {
      state &+= 0x9E37_79B9_7F4A_7C15
      var result = state
      result = (result ^ result >> 30) &* 0xBF58_476D_1CE4_E5B9
      result = (result ^ result >> 27) &* 0x94D0_49BB_1331_11EB
      return result ^ result >> 31
    }

    mutating func number(below limit: Int) -> Int { Int(next() % UInt64(limit)) }
    mutating func chance(_ percent: Int) -> Bool { number(below: 100) < percent }
  }

  /// Makes the next record, and applies it.
  package mutating func next() -> Record {
    let record = make()
    replica.apply(record)
    return record
  }

  private mutating func make() -> Record {
    switch random.number(below: 20) {
    case 0: return .signal(message(at: path()), isKept: random.chance(60))
    case 1: return .timer(timer())
    case 2:
      guard let timer = replica.timers.values.min(by: { $0.path < $1.path }) else { return commit() }
      return .timerFired(message(at: timer.path), count: timer.count + 1 + random.number(below: 3))
    case 3:
      guard let timer = replica.timers.values.max(by: { $0.path < $1.path }) else { return commit() }
      return .timerRemoved(timer.path)
    case 4:
      return .lastOperations(
        Holder(number: UInt64(random.number(below: 5))), random.chance(40) ? nil : JSONText("op \(random.next())"))
    case 5:
      guard let old = replica.tree.value(at: path()) else { return commit() }
      return .amendment(property(at: old.path, value: old.value, revision: old.revision, time: old.time))
    default: return commit()
    }
  }

  private mutating func commit() -> Record {
    let revision = Revision(replica.revision.number + 1)
    let time = Timestamp(
      milliseconds: max(replica.time.milliseconds, 1_700_000_000_000) + Int64(random.number(below: 50)))
    var changes: [Change] = []
    var seen: Set<PropertyPath> = []
    for _ in 0..<(random.chance(80) ? 1 : 1 + random.number(below: 5)) {
      let path = path()
      guard seen.insert(path).inserted else { continue }
      changes.append(change(at: path, revision, time))
    }
    return .commit(Commit(changes[0], rest: Array(changes.dropFirst())))
  }

  private mutating func change(at path: PropertyPath, _ revision: Revision, _ time: Timestamp) -> Change {
    let old = replica.tree.value(at: path)
    if let old, random.chance(20) {
      return switch random.number(below: 3) {
      case 0: Change(delete: old, revision: revision, time: time)
      case 1: Change(end: old, by: .expire, revision: revision, time: time)
      default: Change(end: old, by: .release, revision: revision, time: time)
      }
    }
    return Change(set: property(at: path, value: value(), revision: revision, time: time), replacing: old)
  }

  private mutating func property(
    at path: PropertyPath, value: JSONText, revision: Revision, time: Timestamp
  ) -> StoredValue {
    switch random.number(below: 4) {
    case 0:
      let term =
        random.chance(70)
        ? Lease.Term(
          end: Timestamp(milliseconds: time.milliseconds + 5000),
          length: .nanoseconds(1 + random.number(below: 5_000_000_000)))
        : nil
      let holder = term == nil || random.chance(30) ? Holder(number: UInt64(random.number(below: 5))) : nil
      return StoredValue(
        path: path, value: value, revision: revision, time: time, lease: Lease(term: term, holder: holder))
    case 1:
      let error = ["", "there is no é", "e\u{301}"].randomElement(using: &random)
      return StoredValue(
        path: path, value: value, revision: revision, time: time,
        computation: Computation(
          Formula(uncompiled: "sum \(random.number(below: 9)) é"), error: random.chance(50) ? error : nil))
    default: return StoredValue(path: path, value: value, revision: revision, time: time)
    }
  }

  private mutating func message(at path: PropertyPath) -> SignalMessage {
    let time = max(replica.signals.time.milliseconds, 1_700_000_000_000) + Int64(random.number(below: 9))
    return SignalMessage(
      path: path, message: value(), time: Timestamp(milliseconds: time), number: replica.signals.number + 1)
  }

  private mutating func timer() -> StoredTimer {
    let length = Duration.milliseconds(1 + random.number(below: 90_000))
    let start = Timestamp(milliseconds: 1_700_000_000_000 + Int64(random.number(below: 100_000)))
    let schedule: TimerSchedule =
      switch random.number(below: 3) {
      case 0: .after(length)
      case 1: .at(start)
      default: .every(length)
      }
    return StoredTimer(path: path(), schedule: schedule, message: value(), start: start)
  }

  private mutating func path() -> PropertyPath { paths[random.number(below: paths.count)] }

  private mutating func value() -> JSONText {
    switch random.number(below: 4) {
    case 0: .null
    case 1: JSONText(random.number(below: 100))
    case 2: JSONText(String(repeating: "é", count: random.number(below: 10)))
    default: JSONText(String(repeating: "x", count: random.number(below: longest)))
    }
  }
}
