// SPDX-License-Identifier: MIT

public import Synchronization

/// Sends initial messages to one subscriber before those of its source, though the source is subscribed to first.
///
///     attaching ── begin ──▶ beginning ── nothing queued any more ──▶ open
///
/// What is sent meanwhile, by the observer or by another thread, is queued and comes afterwards: if the source were
/// subscribed to later, it would be lost.
@usableFromInline
final class Beginning<Message: Sendable, End: Ending>: Sendable {
  private struct State {
    var isAttaching = true
    var waiting: [Event<Message, End>] = []
  }

  @usableFromInline let sink: Sink<Message, End>
  private let supersedes: Bool
  private let state = Mutex(State())
  /// Nothing is queued, and the source may send to the sink directly; set under the lock.
  @usableFromInline let isOpen: Atomic<Bool>

  /// - Parameter supersedes: Whether the initial message includes what the source sends while it is subscribed to.
  @usableFromInline
  init(_ sink: Sink<Message, End>, supersedes: Bool = false) {
    isOpen = Atomic(false)
    self.sink = sink
    self.supersedes = supersedes
  }

  /// The sink that the source sends to.
  ///
  /// A stage before the observer, so that once open it costs only one check.
  @inlinable
  var entrance: Sink<Message, End> {
    let stages: Stages<Message> =
      if let next = sink.stages?.closure {
        Stages { [self] message, observer in
          if isOpen.load(ordering: .acquiring) { next(message, observer) } else { receive(message) }
        }
      } else {
        Stages { [self] message, observer in
          if isOpen.load(ordering: .acquiring) { unsafe observer.call(message) } else { receive(message) }
        }
      }
    return Sink(stages: stages, observer: sink.observer, end: { self.receive(end: $0) })
  }

  @usableFromInline
  func receive(_ message: Message) {
    if !waits(.message(message)) { sink.message(message) }
  }

  @usableFromInline
  func receive(end: End) {
    if !waits(.end(end)) { sink.end(end) }
  }

  private func waits(_ event: Event<Message, End>) -> Bool {
    state.withLock { state in
      if isOpen.load(ordering: .relaxed) { return false }
      if case .message = event, supersedes, state.isAttaching { return true }
      state.waiting.append(event)
      return true
    }
  }

  /// Runs `first`, and then delivers what the source has sent; to be called when the source has been subscribed to.
  @usableFromInline
  func begin(_ first: () -> Void) {
    state.withLock { $0.isAttaching = false }
    first()
    while true {
      let waiting = state.withLock { state in
        let waiting = state.waiting
        state.waiting = []
        if waiting.isEmpty { isOpen.store(true, ordering: .releasing) }
        return waiting
      }
      if waiting.isEmpty { return }
      for event in waiting { deliver(event) }
    }
  }

  private func deliver(_ event: Event<Message, End>) {
    switch event {
    case .message(let message): sink.message(message)
    case .end(let end): sink.end(end)
    }
  }
}
