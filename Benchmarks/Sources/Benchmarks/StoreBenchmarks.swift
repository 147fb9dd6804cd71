// SPDX-License-Identifier: MIT

import JSON
import SignalStore
import Synchronization

/// Measures reading and changing a property among none, 10 000 and a million others, beside a dictionary with a lock.
///
/// The dictionary has no revisions, no history, no order, no snapshots and nobody to tell.
func measureStore(_ harness: inout Harness) throws {
  for (count, others) in [(0, "0"), (10_000, "10 k"), (1_000_000, "1 M")] {
    let getName = "PropertyStore get among \(others)"
    let setName = "PropertyStore set among \(others)"
    guard harness.wants(getName) || harness.wants(setName) else { continue }
    let fixture = try StoreFixture(others: count)
    try harness.compare(
      getName, { times in fixture.get(times) },
      beside: Candidate("Mutex<[String: JSONText]>") { times in fixture.dictionaryGet(times) })
    try harness.compare(
      setName, { times in try fixture.set(times) },
      beside: Candidate("Mutex<[String: JSONText]>") { times in fixture.dictionarySet(times) })
  }
}

/// A store and a dictionary with the same properties, and the paths that are asked for in random order.
private final class StoreFixture {
  private let store = PropertyStore(limits: StoreLimits(properties: 2_000_000))
  private let dictionary = Mutex<[String: JSONText]>([:])
  private let paths: [PropertyPath]
  private let keys: [String]
  private let values: [JSONText]
  /// The path that was asked for last.
  private var index = 0
  /// Goes on from round to round, so that a value is not set where it is already.
  private var step = 0

  init(others: Int) throws {
    var generator = SplitMix64(state: 1)
    let numbers = Array(0...others).shuffled(using: &generator)
    let key = { (number: Int) in "sensors/device-\(1_000_000 + number)/temperature" }
    let value = { (number: Int) in try JSONText(validating: #"{"temperature":\#(1_000_000 + number),"unit":"C"}"#) }
    for number in numbers {
      let text = try value(number)
      try store.set(PropertyPath(key(number)), text)
      dictionary.withLock { $0[key(number)] = text }
    }
    // More than a cache holds, few enough to have them ready.
    keys = numbers.shuffled(using: &generator).prefix(200_000).map(key)
    paths = try keys.map { try PropertyPath($0) }
    values = try (0..<64).map { try value(2_000_000 + $0) }
  }

  func get(_ times: Int) -> Int {
    var bytes = 0
    for _ in 0..<times { bytes &+= store.get(paths[nextIndex()])?.value.bytes.count ?? 0 }
    return bytes
  }

  func dictionaryGet(_ times: Int) -> Int {
    var bytes = 0
    for _ in 0..<times {
      let key = keys[nextIndex()]
      bytes &+= dictionary.withLock { $0[key] }?.bytes.count ?? 0
    }
    return bytes
  }

  func set(_ times: Int) throws -> Int {
    for _ in 0..<times { try store.set(paths[nextIndex()], nextValue()) }
    return store.count
  }

  func dictionarySet(_ times: Int) -> Int {
    for _ in 0..<times {
      let key = keys[nextIndex()]
      let value = nextValue()
      dictionary.withLock { $0[key] = value }
    }
    return dictionary.withLock { $0.count }
  }

  private func nextIndex() -> Int {
    index = index + 1 == keys.count ? 0 : index + 1
    return index
  }

  private func nextValue() -> JSONText {
    step += 1
    return values[(step + step / keys.count) % values.count]
  }
}

/// A generator with a seed: every run asks in the same order.
private struct SplitMix64: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }
}
