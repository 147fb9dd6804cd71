// SPDX-License-Identifier: MIT

public import Dispatch
import Synchronization

/// A clock that can run something later.
///
/// Everything here that uses time takes a clock, so tests can provide their own.
public protocol TimerClock: Sendable {
  /// The time since some fixed moment.
  var now: Duration { get }

  /// Runs `job` once when `now` has reached `deadline`, at most `tolerance` later if that helps to save energy.
  ///
  /// If the subscription is cancelled or released before that, it never runs.
  func schedule(at deadline: Duration, tolerance: Duration, _ job: @escaping @Sendable () -> Void) -> Subscription
}

/// The time since the system was started, with timers of Dispatch.
public struct DispatchClock: TimerClock {
  /// The queue on which jobs run.
  private let queue: DispatchQueue

  /// Makes a clock whose jobs run on `queue`, by default one of the system's pool.
  public init(queue: DispatchQueue = .global()) { self.queue = queue }

  /// The time since the system was started.
  public var now: Duration { .nanoseconds(Int64(clamping: DispatchTime.now().uptimeNanoseconds)) }

  /// Runs `job` once at `deadline`.
  public func schedule(
    at deadline: Duration, tolerance: Duration, _ job: @escaping @Sendable () -> Void
  ) -> Subscription {
    let timer = DispatchSource.makeTimerSource(queue: queue)
    timer.schedule(
      deadline: DispatchTime(uptimeNanoseconds: UInt64(clamping: deadline.nanoseconds)),
      leeway: .nanoseconds(Int(clamping: tolerance.nanoseconds)))
    timer.setEventHandler(handler: job)
    timer.activate()
    let handle = Handle(timer: timer)
    return Subscription { handle.timer.cancel() }
  }

  /// Unchecked: a dispatch source may be cancelled on any thread, though its type is not `Sendable`.
  private struct Handle: @unchecked Sendable {
    let timer: any DispatchSourceTimer
  }
}

/// Any clock of the standard library, with a sleeping task for each job.
public struct ClockAdapter<Base: Clock>: TimerClock where Base.Duration == Duration, Base.Instant: Sendable {
  private let base: Base
  private let start: Base.Instant

  /// Uses `base`; `now` is the time since this call.
  public init(_ base: Base) {
    self.base = base
    start = base.now
  }

  /// The time since the adapter was made.
  public var now: Duration { start.duration(to: base.now) }

  /// Runs `job` once at `deadline`.
  public func schedule(
    at deadline: Duration, tolerance: Duration, _ job: @escaping @Sendable () -> Void
  ) -> Subscription {
    let (base, instant) = (base, start.advanced(by: deadline))
    let task = Task {
      do { try await base.sleep(until: instant, tolerance: tolerance) } catch { return }
      if !Task.isCancelled { job() }
    }
    return Subscription { task.cancel() }
  }
}

extension Duration {
  /// Whole nanoseconds, clamped.
  fileprivate var nanoseconds: Int64 {
    let (seconds, attoseconds) = components
    let (whole, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
    return overflow
      ? (seconds < 0 ? .min : .max) : whole.addingReportingOverflow(attoseconds / 1_000_000_000).partialValue
  }
}

/// One job at a time on a clock, rescheduled by each new call.
package final class Alarm: Sendable {
  private struct State {
    var generation = 0
    var token: Subscription?
  }

  private let clock: any TimerClock
  private let state = Mutex(State())

  package init(_ clock: any TimerClock) { self.clock = clock }

  /// Runs `job` at `deadline` instead of what was to run before.
  package func set(_ deadline: Duration, tolerance: Duration = .zero, _ job: @escaping @Sendable () -> Void) {
    let (generation, old) = next()
    old?.cancel()
    let token = clock.schedule(at: deadline, tolerance: tolerance) { [weak self] in
      // A timer that fires while it is rescheduled counts as rescheduled.
      if let self, isCurrent(generation) { job() }
    }
    let late = state.withLock { state in
      if state.generation == generation { state.token = token }
      return state.generation != generation
    }
    if late { token.cancel() }
  }

  /// Cancels the scheduled job.
  package func cancel() { next().old?.cancel() }

  private func isCurrent(_ generation: Int) -> Bool { state.withLock { $0.generation == generation } }

  private func next() -> (generation: Int, old: Subscription?) {
    state.withLock { state in
      state.generation += 1
      let old = state.token
      state.token = nil
      return (state.generation, old)
    }
  }

  deinit { cancel() }
}

/// Fires once, some time after it was started, and again only when it is restarted.
public final class OnceTimer: Sendable {
  private let clock: any TimerClock
  private let alarm: Alarm

  private let signal = Signal<Void>()

  /// Sends when the timer fires.
  public var fired: DerivedSignal<Void, Never> { signal.readOnly }

  /// Makes a timer that is not running.
  public init(clock: any TimerClock = DispatchClock()) {
    self.clock = clock
    alarm = Alarm(clock)
  }

  /// Fires after `interval` from now; a time that was set before is replaced.
  public func start(after interval: Duration, tolerance: Duration = .zero) {
    let signal = signal
    alarm.set(clock.now + interval, tolerance: tolerance) { signal.send() }
  }

  /// Stops the timer.
  public func cancel() { alarm.cancel() }
}

/// Sends at times computed by a closure, and only while there are subscribers.
///
/// Nothing is scheduled without observers. When the closure returns nil the source pauses, until ``start()`` asks
/// again.
public final class TimerSource: SignalSource {
  private let clock: any TimerClock
  private let tolerance: Duration
  private let next: @Sendable (_ now: Duration) -> Duration?
  private let alarm: Alarm
  private let ticks = Signal<Void>()
  private let watch = SubscriptionBag()

  /// Makes a source that asks `next` for the next time: when the first observer subscribes, after each message, and on
  /// ``start()``.
  ///
  /// A time in the past counts as now.
  public init(
    clock: any TimerClock = DispatchClock(), tolerance: Duration = .zero,
    next: @escaping @Sendable (_ now: Duration) -> Duration?
  ) {
    self.clock = clock
    self.tolerance = tolerance
    self.next = next
    alarm = Alarm(clock)
    watch.insert(
      ticks.observerCounts.subscribe { [weak self] count in
        if count == 0 { self?.alarm.cancel() } else if count == 1 { self?.start() }
      })
  }

  /// Asks for the next time again, if there are subscribers.
  public func start() {
    guard ticks.observerCount > 0, let deadline = next(clock.now) else { return alarm.cancel() }
    alarm.set(deadline, tolerance: tolerance) { [weak self] in
      guard let self else { return }
      ticks.send()
      start()
    }
  }

  /// Sends each tick to `sink`.
  public func attach(_ sink: Sink<Void, Never>) -> Subscription {
    let link = Link()
    link.hold(ticks.attach(sink))
    link.onEnd { withExtendedLifetime(self) {} }
    return link.token()
  }
}

/// Sends at regular intervals, and only while there are subscribers.
///
/// Tick k comes at start + k · interval, however long observers took; ticks that would already be late are skipped.
public final class PeriodicTimer: SignalSource {
  /// Counts from the first subscription on, or from the last change of the interval.
  private final class Rhythm: Sendable {
    private let state: Mutex<(interval: Duration, start: Duration?)>

    init(_ interval: Duration) { state = Mutex((interval, nil)) }

    var interval: Duration { state.withLock { $0.interval } }

    func change(to interval: Duration?) {
      state.withLock { state in
        if let interval { state.interval = interval }
        state.start = nil
      }
    }

    func next(_ now: Duration) -> Duration {
      state.withLock { state in
        let start = state.start ?? now
        state.start = start
        let passed = (now - start).nanoseconds / max(1, state.interval.nanoseconds)
        return start + state.interval * Int(passed + 1)
      }
    }
  }

  private let rhythm: Rhythm
  private let source: TimerSource
  private let ticks: DerivedSignal<Void, Never>

  /// Makes a timer with an interval, which has to be positive.
  public init(every interval: Duration, clock: any TimerClock = DispatchClock(), tolerance: Duration = .zero) {
    Self.check(interval)
    let rhythm = Rhythm(interval)
    let source = TimerSource(clock: clock, tolerance: tolerance) { rhythm.next($0) }
    self.rhythm = rhythm
    self.source = source
    ticks = DerivedSignal.connecting { sink in
      rhythm.change(to: nil)
      let token = source.attach(sink)
      return { token.cancel() }
    }
  }

  /// The time between two ticks.
  ///
  /// Setting it restarts the rhythm now.
  public var interval: Duration {
    get { rhythm.interval }
    set {
      Self.check(newValue)
      rhythm.change(to: newValue)
      source.start()
    }
  }

  /// Sends each tick to `sink`.
  public func attach(_ sink: Sink<Void, Never>) -> Subscription { ticks.attach(sink) }

  private static func check(_ interval: Duration) {
    precondition(interval > .zero, "the interval of a timer must be longer than nothing")
  }
}
