// SPDX-License-Identifier: MIT

// Operators that use time.

extension SignalSource {
  /// Sends each message once nothing has followed it for `interval`.
  ///
  /// A message that still waits when the source ends is sent before the end.
  public func debounce(
    for interval: Duration, tolerance: Duration = .zero, clock: any TimerClock = DispatchClock()
  ) -> DerivedSignal<Message, End> {
    debounce(for: interval, tolerance: tolerance, clock: clock, firstAtOnce: false)
  }

  fileprivate func debounce(
    for interval: Duration, tolerance: Duration, clock: any TimerClock, firstAtOnce: Bool
  ) -> DerivedSignal<Message, End> {
    DerivedSignal { sink in
      let relay = Relay<Message?, Message, End>(nil, into: sink)
      let alarm = Alarm(clock)
      relay.link.onEnd { alarm.cancel() }
      let isAtOnce = OperatorState(firstAtOnce)
      let sendKept: @Sendable () -> Void = {
        relay.change { kept in
          defer { kept = nil }
          return kept.map { .message($0) }
        }
      }
      relay.hold(
        attach(
          Sink(
            message: { message in
              if isAtOnce.value {
                isAtOnce.value = false
                return relay.change { _ in .message(message) }
              }
              relay.change {
                $0 = message
                return nil
              }
              alarm.set(clock.now + interval, tolerance: tolerance, sendKept)
            },
            end: { end in
              sendKept()
              relay.change { _ in .end(end) }
            })))
      return relay.token()
    }
  }

  /// Sends a message at most every `interval`: at once after a pause, then the last one at the end of each interval.
  ///
  /// For a property the current value comes at once, and begins an interval. A message that still waits when the source
  /// ends is sent before the end.
  ///
  /// - Parameter trailing: False drops everything that comes within the interval.
  public func throttle(
    for interval: Duration, trailing: Bool = true, tolerance: Duration = .zero,
    clock: any TimerClock = DispatchClock()
  ) -> DerivedSignal<Message, End> {
    DerivedSignal { sink in
      let throttle = Throttle(sink, interval: interval, trailing: trailing, tolerance: tolerance, clock: clock)
      throttle.relay.hold(attach(Sink(message: { throttle.receive($0) }, end: { throttle.finish($0) })))
      return throttle.relay.token()
    }
  }

  /// Sends each message, and the end, `interval` later.
  ///
  /// Those that wait are dropped when the subscription is cancelled.
  public func delay(
    by interval: Duration, tolerance: Duration = .zero, clock: any TimerClock = DispatchClock()
  ) -> DerivedSignal<Message, End> {
    delayed(tolerance, clock, firstAtOnce: false, end: interval) { _ in interval }
  }

  /// Sends each message `interval` later, computed for each, but never before an earlier one; the end comes after all
  /// of them.
  public func delay(
    tolerance: Duration = .zero, clock: any TimerClock = DispatchClock(),
    by interval: @escaping @Sendable (Message) -> Duration
  ) -> DerivedSignal<Message, End> {
    delayed(tolerance, clock, firstAtOnce: false, end: .zero, by: interval)
  }

  fileprivate func delayed(
    _ tolerance: Duration, _ clock: any TimerClock, firstAtOnce: Bool, end endInterval: Duration,
    by interval: @escaping @Sendable (Message) -> Duration
  ) -> DerivedSignal<Message, End> {
    DerivedSignal { sink in
      let relay = Relay<Delayed<Event<Message, End>>, Message, End>(Delayed(), into: sink)
      let alarm = Alarm(clock)
      relay.link.onEnd { alarm.cancel() }
      let wait: @Sendable (Event<Message, End>, Duration) -> Void = { event, interval in
        let deadline = clock.now + interval
        relay.change(releases: false) { waiting in
          waiting.append(event, at: deadline)
          return nil
        }
        sendDelayed(relay, alarm, tolerance, clock)
      }
      let isAtOnce = OperatorState(firstAtOnce)
      relay.hold(
        attach(
          Sink(
            message: { message in
              let interval = isAtOnce.value ? .zero : interval(message)
              isAtOnce.value = false
              wait(.message(message), interval)
            }, end: { wait(.end($0), endInterval) })))
      return relay.token()
    }
  }
}

/// Messages with the times at which they are to be sent, both in order.
///
/// Read and written under the lock of its relay. Unchecked for that reason.
private final class Delayed<Message: Sendable>: @unchecked Sendable {
  private var queue = PendingQueue<(deadline: Duration, message: Message)>()
  private var last: Duration?
  /// The time of the oldest message.
  private(set) var next: Duration?
  /// The message that belongs to `next`.
  private var head: Message?

  func append(_ message: Message, at deadline: Duration) {
    let deadline = max(deadline, last ?? deadline)
    last = deadline
    if next == nil {
      (next, head) = (deadline, message)
    } else {
      queue.append(Pending(number: 0, target: 0, message: (deadline, message)))
    }
  }

  /// Removes the oldest message.
  func popFirst() -> Message? {
    var message: Message?
    swap(&message, &head)
    if let following = queue.popFirst()?.message {
      (next, head) = (following.deadline, following.message)
    } else {
      (next, last) = (nil, nil)
    }
    return message
  }
}

/// Sends the messages that are due, and sets the alarm for the next one.
private func sendDelayed<Message, End>(
  _ relay: Relay<Delayed<Event<Message, End>>, Message, End>, _ alarm: Alarm, _ tolerance: Duration,
  _ clock: any TimerClock
) {
  while true {
    let now = clock.now
    let next = Box<Duration?>(nil)
    let sent = Box(false)
    relay.change(releases: false) { waiting in
      guard let deadline = waiting.next else { return nil }
      if deadline > now {
        next.value = deadline
        return nil
      }
      sent.value = true
      return waiting.popFirst()
    }
    if sent.value { continue }
    if let deadline = next.value {
      alarm.set(deadline, tolerance: tolerance) { sendDelayed(relay, alarm, tolerance, clock) }
    }
    return
  }
}

/// A variable that closures can set which may not capture one.
private final class Box<Value> {
  var value: Value
  init(_ value: Value) { self.value = value }
}

/// The state of one subscriber of `throttle`.
private final class Throttle<Message: Sendable, End: Ending>: Sendable {
  struct State: Sendable {
    /// The end of the current interval; nil in a pause.
    var end: Duration?
    var kept: Message?
  }

  let relay: Relay<State, Message, End>
  private let alarm: Alarm
  private let interval: Duration
  private let trailing: Bool
  private let tolerance: Duration
  private let clock: any TimerClock

  init(
    _ sink: Sink<Message, End>, interval: Duration, trailing: Bool, tolerance: Duration, clock: any TimerClock
  ) {
    relay = Relay(State(), into: sink)
    alarm = Alarm(clock)
    self.interval = interval
    self.trailing = trailing
    self.tolerance = tolerance
    self.clock = clock
    relay.link.onEnd { [alarm] in alarm.cancel() }
  }

  func receive(_ message: Message) {
    let now = clock.now
    let end = Box<Duration?>(nil)
    relay.change { state in
      if let running = state.end, now < running {
        if trailing { state.kept = message }
        return nil
      }
      state.end = now + interval
      state.kept = nil
      end.value = state.end
      return .message(message)
    }
    if trailing, let end = end.value { wait(until: end) }
  }

  func finish(_ end: End) {
    relay.change { state in
      defer { state.kept = nil }
      return state.kept.map { .message($0) }
    }
    relay.change { _ in .end(end) }
  }

  private func wait(until end: Duration) {
    alarm.set(end, tolerance: tolerance) { [weak self] in self?.intervalEnded(end) }
  }

  private func intervalEnded(_ end: Duration) {
    let next = Box<Duration?>(nil)
    relay.change { state in
      guard state.end == end else { return nil }
      guard let kept = state.kept else {
        state.end = nil
        return nil
      }
      state.kept = nil
      // From the end of the interval, not from now: no drift.
      state.end = end + interval
      next.value = state.end
      return .message(kept)
    }
    if let next = next.value { wait(until: next) }
  }
}

extension ReadableSource {
  /// Sends the current value at once, and each later one once nothing has followed it for `interval`.
  public func debounce(
    for interval: Duration, tolerance: Duration = .zero, clock: any TimerClock = DispatchClock()
  ) -> DerivedSignal<Message, Never> {
    debounce(for: interval, tolerance: tolerance, clock: clock, firstAtOnce: true)
  }

  /// Sends the current value at once, and each later one `interval` later.
  public func delay(
    by interval: Duration, tolerance: Duration = .zero, clock: any TimerClock = DispatchClock()
  ) -> DerivedSignal<Message, Never> {
    delay(tolerance: tolerance, clock: clock) { _ in interval }
  }

  /// Sends the current value at once, and each later one `interval` later, computed for each, but never before an
  /// earlier one.
  public func delay(
    tolerance: Duration = .zero, clock: any TimerClock = DispatchClock(),
    by interval: @escaping @Sendable (Message) -> Duration
  ) -> DerivedSignal<Message, Never> {
    delayed(tolerance, clock, firstAtOnce: true, end: .zero, by: interval)
  }
}
