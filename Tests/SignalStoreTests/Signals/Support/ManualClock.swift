// SPDX-License-Identifier: MIT
import Synchronization

@testable import Signals

/// A clock that stands still until it is told to go on.
///
/// Jobs run inside `advance`, each at its own time.
final class ManualClock: TimerClock {
  private struct Job {
    let id: Int
    let deadline: Duration
    let tolerance: Duration
    let run: @Sendable () -> Void
  }

  private struct State {
    var now: Duration = .zero
    var jobs: [Job] = []
    var nextID = 0
  }

  private let state = Mutex(State())

  var now: Duration { state.withLock { $0.now } }
  var scheduled: Int { state.withLock { $0.jobs.count } }
  var tolerances: [Duration] { state.withLock { $0.jobs.map(\.tolerance) } }

  func schedule(at deadline: Duration, tolerance: Duration, _ job: @escaping @Sendable () -> Void) -> Subscription {
    let id = state.withLock { state in
      state.nextID += 1
      state.jobs.append(Job(id: state.nextID, deadline: deadline, tolerance: tolerance, run: job))
      return state.nextID
    }
    return Subscription { [weak self] in
      guard let self else { return }
      let removed = state.withLock { state in
        let index = state.jobs.firstIndex { $0.id == id }
        return index.map { state.jobs.remove(at: $0) }
      }
      withExtendedLifetime(removed) {}
    }
  }

  /// Goes on to `time`, and runs what is due on the way, earliest first.
  func advance(to time: Duration) {
    while true {
      let job = state.withLock { state -> Job? in
        guard
          let next = state.jobs.filter({ $0.deadline <= time }).min(by: { ($0.deadline, $0.id) < ($1.deadline, $1.id) })
        else {
          state.now = max(state.now, time)
          return nil
        }
        state.jobs.removeAll { $0.id == next.id }
        state.now = max(state.now, next.deadline)
        return next
      }
      guard let job else { return }
      job.run()
    }
  }

  /// Lets time pass without running anything, as a slow observer does.
  func stall(until time: Duration) { state.withLock { $0.now = max($0.now, time) } }
}
