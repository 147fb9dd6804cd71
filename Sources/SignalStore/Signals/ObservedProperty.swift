// SPDX-License-Identifier: MIT

public import Observation
import Synchronization

/// A readable source for code that works with Swift Observation (`withObservationTracking`, `Observations`, user interfaces).
///
/// Whoever reads `value` under observation is told when it has changed. Observation tells once and before most types have
/// stored their new value; here the value is stored already, so reading it in `onChange` gives the new one.
///
/// Observation begins to listen when the closure that reads has returned. A value that is set between the two is not told,
/// and if it is the last one, never. So when the value has been read less often since it was set than before, it is told
/// once more 20 ms later: an observer may be called without a change, and is not left with an old value.
public final class ObservedProperty<Value: Sendable>: Observable, Sendable {
  private struct Reads {
    /// Since the last set.
    var count = 0
    /// Between the last two sets that had reads between them.
    var expected = 0
    var lastSet = Duration.zero
    var isWaiting = false
  }

  private let registrar = ObservationRegistrar()
  private let source: DerivedProperty<Value>
  private let bag = SubscriptionBag()
  private let reads = Mutex(Reads())
  private let clock: any TimerClock
  private let alarm: Alarm

  /// Observes a source.
  public init<Source: ReadableSource>(_ source: Source, clock: any TimerClock = DispatchClock())
  where Source.Message == Value {
    self.source = source.readOnly
    self.clock = clock
    alarm = Alarm(clock)
    bag.insert(source.attach(from: .future, Sink { [weak self] _ in self?.wasSet() }))
  }

  /// The current value.
  public var value: Value {
    registrar.access(self, keyPath: \.value)
    // Before the value is read: a set from here on finds that it has been.
    reads.withLock { $0.count += 1 }
    return source.value
  }

  private func wasSet() {
    let now = clock.now
    let waits = reads.withLock { reads in
      if reads.count > 0 { reads.expected = reads.count }
      reads.count = 0
      reads.lastSet = now
      if reads.expected == 0 || reads.isWaiting { return false }
      reads.isWaiting = true
      return true
    }
    registrar.withMutation(of: self, keyPath: \.value) {}
    if waits { look(at: now + Self.pause) }
  }

  private static var pause: Duration { .milliseconds(20) }

  /// Looks later whether those that read the value before have read it again.
  private func look(at time: Duration) {
    alarm.set(time) { [weak self] in
      guard let self else { return }
      let now = clock.now
      let (next, isMissed): (Duration?, Bool) = reads.withLock { reads in
        let next = reads.lastSet + Self.pause
        if next > now { return (next, false) }
        reads.isWaiting = false
        let isMissed = reads.count < reads.expected
        reads.expected = 0
        return (nil, isMissed)
      }
      if let next { return look(at: next) }
      if isMissed { registrar.withMutation(of: self, keyPath: \.value) {} }
    }
  }
}
