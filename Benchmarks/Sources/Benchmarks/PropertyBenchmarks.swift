// SPDX-License-Identifier: MIT

import Foundation
import SignalStore

private struct Point: Sendable, Equatable {
  var x = 0
  var y = 0
}

/// The ways of setting a property beside the plainest one, each with one observer.
func measurePropertySets(_ harness: inout Harness) throws {
  let counter = Counter()
  let plain = Property(0)
  let property = Property(0)
  let skipping = Property(0, skipsEqual: true)
  let point = Property(Point())
  let x = point[\.x]
  let others = (0..<4).map { _ in Property(0) }
  var kept = [plain, property, skipping].map { $0.subscribe { counter.add($0) } }
  kept += others.map { $0.subscribe { counter.add($0) } }
  kept.append(point.subscribe { counter.add($0.x) })
  let value = Candidate("Property value =") { times in
    for n in 0..<times { plain.value = n }
    return counter.sum
  }
  try harness.compare(
    "Property update",
    { times in
      for _ in 0..<times { property.update { $0 &+= 1 } }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Property value =, skipsEqual",
    { times in
      for n in 0..<times { skipping.value = n }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Property value =, skipsEqual, an equal one",
    { times in
      for _ in 0..<times { skipping.value = -1 }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Property value = through a key path",
    { times in
      for n in 0..<times { x.value = n }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Property value = through a key path, made each time",
    { times in
      for n in 0..<times { point[\.y].value = n }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Transaction that sets one property",
    { times in
      for n in 0..<times { withTransaction { property.value = n } }
      return counter.sum
    }, beside: value)
  try harness.compare(
    "Transaction that sets four properties",
    { times in
      for n in 0..<times { withTransaction { for other in others { other.value = n } } }
      return counter.sum
    },
    beside: Candidate("Property value =, four times") { times in
      for n in 0..<times { for other in others { other.value = n } }
      return counter.sum
    })
  withExtendedLifetime(kept) {}
}

/// Loops of one task that sends a message and takes it by `next`, as `for await` does: nanoseconds of the clock for each.
func measureAsyncLoops(_ harness: inout Harness) {
  let count = 20_000
  func sample(_ name: String, _ loop: @escaping @Sendable () async -> Int) -> Sample {
    Sample(name) {
      let done = DispatchSemaphore(value: 0)
      let start = ContinuousClock.now
      Task.detached {
        let sum = await loop()
        precondition(sum == count * (count - 1) / 2, "a message was lost")
        done.signal()
      }
      done.wait()
      return (ContinuousClock.now - start) / .nanoseconds(count)
    }
  }
  func stream(_ policy: AsyncStream<Int>.Continuation.BufferingPolicy) -> Sample {
    sample("AsyncStream") {
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: policy)
      var iterator = stream.makeAsyncIterator()
      var sum = 0
      for n in 0..<count {
        continuation.yield(n)
        sum += await iterator.next() ?? 0
      }
      return sum
    }
  }
  let messages = "for await over a signal, send and next"
  harness.compare(
    messages, unit: "ns",
    sample(messages) {
      let signal = Signal<Int>()
      var iterator = signal.messages().makeAsyncIterator()
      var sum = 0
      for n in 0..<count {
        signal.send(n)
        sum += await iterator.next() ?? 0
      }
      return sum
    }, beside: stream(.unbounded))
  let values = "for await over a property, set and next"
  harness.compare(
    values, unit: "ns",
    sample(values) {
      let property = Property(0)
      var iterator = property.values().makeAsyncIterator()
      var sum = await iterator.next() ?? 0
      for n in 0..<count {
        property.value = n
        sum += await iterator.next() ?? 0
      }
      return sum
    }, beside: stream(.bufferingNewest(1)))
}
