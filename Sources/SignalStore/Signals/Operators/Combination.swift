// SPDX-License-Identifier: MIT

import Synchronization

/// The last value of one of the sources of a combination.
///
/// Read and written under the lock of the combination. Unchecked for that reason.
final class CombinationPart<Value: Sendable>: @unchecked Sendable {
  /// The value that results are made from.
  fileprivate(set) var current: Value?

  /// A newer value, which becomes the current one at the end of a transaction.
  fileprivate var staged: Value?
}

/// The last values of several sources of different types.
struct CombinationParts<each Value: Sendable>: Sendable {
  let parts: (repeat CombinationPart<each Value>)

  init() { parts = (repeat CombinationPart<each Value>()) }

  /// All values, once each source has sent one.
  ///
  /// Needs the lock of the combination.
  var all: (repeat each Value)? {
    for part in repeat each parts {
      if part.current == nil { return nil }
    }
    // Checked above; a forced unwrapping is not accepted inside a pack expansion.
    return unsafe (repeat (each parts).current.unsafelyUnwrapped)
  }
}

/// Combines the values of several sources into one result, for one subscriber.
///
/// Values set in a transaction are staged until all its messages have been delivered, by whichever threads, and then
/// applied in one step. A value that another thread sets meanwhile is sent with the values from before the transaction;
/// unless it comes from a source with a staged value, which it then replaces.
final class Combination<Result: Sendable>: Sendable {
  private struct State {
    /// Apply the staged values.
    ///
    /// Each returns what it replaced, to be released after unlocking.
    var takers: [@Sendable () -> (any Sendable)?] = []
    /// Results wait until all sources have been subscribed to.
    var isAttaching = true
  }

  private let link = Link()
  private let state = Mutex(State())
  private let results = Signal<Result>()
  private let start: StartingPoint
  /// The result, once all sources have a value.
  private let make: @Sendable () -> Result?
  /// The number of combinations upstream of this one; those with fewer send first at the end of a transaction.
  private let height = CombinationHeight()

  init(_ start: StartingPoint, into sink: Sink<Result, Never>, _ make: @escaping @Sendable () -> Result?) {
    self.start = start
    self.make = make
    link.hold(results.attach(sink))
  }

  func attach<Source: ReadableSource>(_ source: Source, _ part: CombinationPart<Source.Message>) {
    link.hold(source.attach(from: .current, Sink { self.receive($0, part) }))
  }

  private func receive<Value>(_ value: Value, _ part: CombinationPart<Value>) {
    let postpones = Transaction.postpone(self, height: height.current) { $0.takeOver() }
    // What is replaced is released after unlocking.
    var value: Value? = value
    let (result, waits): (Result?, Bool) = state.withLock { state in
      // The first value of a source is the current one, not a change.
      let isFirst = part.current == nil
      if !isFirst, postpones || part.staged != nil {
        if part.staged == nil { state.takers.append { Self.takeOver(part) } }
        swap(&value, &part.staged)
        return (nil, state.isAttaching)
      }
      swap(&value, &part.current)
      if isFirst, start == .future { return (nil, state.isAttaching) }
      return (enqueueResult(), state.isAttaching)
    }
    withExtendedLifetime(result) {}
    if !waits { results.deliver() }
  }

  /// Applies the staged values.
  private func takeOver() {
    let (replaced, waits) = state.withLock { state in
      let takers = state.takers
      if takers.isEmpty { return (([], nil) as ([(any Sendable)?], Result?), state.isAttaching) }
      state.takers = []
      return ((takers.map { $0() }, enqueueResult()), state.isAttaching)
    }
    withExtendedLifetime(replaced) {}
    if !waits { results.deliver() }
  }

  private static func takeOver<Value>(_ part: CombinationPart<Value>) -> (any Sendable)? {
    let replaced = part.current
    part.current = part.staged
    part.staged = nil
    return replaced
  }

  /// Needs the lock.
  private func enqueueResult() -> Result? {
    let result = make()
    if let result { results.enqueue(result) }
    return result
  }

  /// Runs `attach`, which subscribes to all sources, determines the height, and only then sends what came meanwhile:
  /// what the observer sends in turn has to reach all sources.
  func attachingAll(_ attach: () -> Void) {
    height.measure { FirstValue.atOnce(attach) }
    state.withLock { $0.isAttaching = false }
    results.deliver()
  }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}

/// The number of combinations upstream of one, each the source of the next.
///
/// Subscribing to a combination subscribes to those upstream, and meanwhile each of them reports to the enclosing one;
/// so does one that gets other sources later.
final class CombinationHeight: Sendable {
  private static let around = ThreadLocal<CombinationHeight>()

  private let value = Atomic(0)
  /// The height of the combination that this one is attached to, which is greater.
  private let above = CombinationHeight.around.object

  var current: Int { value.load(ordering: .relaxed) }

  /// Runs `attach`, which subscribes to the sources upstream.
  func measure<Result>(_ attach: () -> Result) -> Result {
    above?.raise(above: self)
    return Self.around.with(self, attach)
  }

  private func raise(above other: CombinationHeight) {
    let height = other.current + 1
    guard height > current else { return }
    value.max(height, ordering: .relaxed)
    above?.raise(above: self)
  }
}
