// SPDX-License-Identifier: MIT
import Synchronization

/// Events that wait to be written to an audit log, by a thread of its own: whoever records one never waits for a disk.
package final class AuditQueue: Sendable {
  /// The maximum number of events that wait; others are dropped and counted.
  ///
  /// They take some 2 KiB each at most.
  package static let mostWaiting = 8192

  private struct State {
    var events: [AuditEvent] = []
    var dropped = 0
    /// How many events were taken out before.
    var taken = 0
  }

  private let topics = Atomic<UInt8>(0)
  private let state = Mutex(State())
  private let wake: @Sendable () -> Void

  /// A queue that wants nothing yet.
  ///
  /// - Parameter wake: Called when there is something to be taken, by whoever records it; it must not wait.
  package init(wake: @escaping @Sendable () -> Void) { self.wake = wake }

  /// Whether events of this kind are wanted: what others are made of need not be computed.
  package func wants(_ kind: AuditEvent.Kind) -> Bool { kind.topic.isIn(topics.load(ordering: .relaxed)) }

  /// Says what is wanted from now on.
  package func want(_ topics: [AuditTopic]) { self.topics.store(topics.bits, ordering: .relaxed) }

  /// Adds an event, if it is wanted and there is room.
  package func record(_ event: AuditEvent) {
    guard wants(event.kind) else { return }
    let isFirst = state.withLock { state in
      guard state.events.count < Self.mostWaiting else {
        state.dropped += 1
        return false
      }
      state.events.append(event)
      return state.events.count == 1
    }
    if isFirst { wake() }
  }

  /// How many events have been added so far.
  package var count: Int { state.withLock { $0.taken + $0.events.count } }

  /// Takes out all events, in the order in which they were recorded: how many were taken before, and how many were dropped
  /// after them.
  package func take() -> (first: Int, events: [AuditEvent], dropped: Int) {
    state.withLock { state in
      defer { state = State(taken: state.taken + state.events.count) }
      return (state.taken, state.events, state.dropped)
    }
  }
}
