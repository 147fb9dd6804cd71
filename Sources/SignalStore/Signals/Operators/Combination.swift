// SPDX-License-Identifier: MIT

import Synchronization

/// What one of the sources of a combination told last.
///
/// Read and written under the lock of the combination. Unchecked for that reason.
final class CombinationPart<Value: Sendable>: @unchecked Sendable {
  /// The value that results are made of.
  fileprivate(set) var current: Value?

  /// A newer one, that becomes the current one at the end of a transaction.
  fileprivate var staged: Value?
}

/// What several sources of different types told last.
struct CombinationParts<each Value: Sendable>: Sendable {
  let parts: (repeat CombinationPart<each Value>)

  init() { parts = (repeat CombinationPart<each Value>()) }

  /// All values, once each source has told one.
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

/// Makes one result of the values of several sources, for one subscriber.
///
/// What a transaction has set is put aside until all its messages have been delivered, by whichever threads, and then taken
/// over in one step. What another thread sets meanwhile is told with the values from before the transaction; unless it comes
/// from a source whose value has been put aside, and then takes its place.
final class Combination<Result: Sendable>: Sendable {
  private struct State {
    /// Takes over what was put aside.
    ///
    /// Each gives back what it replaced, to be released after the lock.
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
  /// How many combinations are below this one; those with fewer are told first at the end of a transaction.
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
    // What is replaced is released after the lock.
    var value: Value? = value
    let (result, waits): (Result?, Bool) = state.withLock { state in
      // The first value of a source is that of now, and no change.
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

  /// Takes over all that was put aside.
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

  /// Runs `attach`, which subscribes to all sources, finds out how many combinations are among them, and only then tells
  /// what came meanwhile: what the observer sends in turn has to reach all of them.
  func attachingAll(_ attach: () -> Void) {
    height.measure { FirstValue.atOnce(attach) }
    state.withLock { $0.isAttaching = false }
    results.deliver()
  }

  /// The token for the subscriber.
  func token() -> Subscription { link.token() }
}

/// How many combinations are below one, each the source of the next.
///
/// Subscribing to a combination subscribes to those below it, and while it does each of them reports to the one around it; so
/// does one that gets other sources later.
final class CombinationHeight: Sendable {
  private static let around = ThreadLocal<CombinationHeight>()

  private let value = Atomic(0)
  /// That of the combination that this one is attached to, which is higher.
  private let above = CombinationHeight.around.object

  var current: Int { value.load(ordering: .relaxed) }

  /// Runs `attach`, which subscribes to what is below.
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
