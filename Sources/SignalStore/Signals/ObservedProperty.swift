// SPDX-License-Identifier: MIT

public import Observation
import Synchronization

/// A readable source for code that works with Swift Observation (`withObservationTracking`, `Observations`, user
/// interfaces).
///
/// Code that reads `value` under observation is notified when it has changed. Observation notifies once, and for most
/// types before the new value is stored; here the value is already stored, so reading it in `onChange` returns the new
/// one.
///
/// Observation registers when the reading closure has returned. A set between the read and that is not notified, and if
/// it is the last one, never. So when the value has been read less often since it was set than before, a second
/// notification follows 20 ms later: an observer may be called without a change, but does not keep an old value.
public final class ObservedProperty<Value: Sendable>: Observable, Sendable {
  private struct Reads {
    /// Reads since the last set.
    var count = 0
    /// Reads between the last two sets that had any between them.
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
    // Counted before the value is read, so that any later set sees this read.
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

  /// Checks later whether the previous readers have read the value again.
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
