// SPDX-License-Identifier: MIT
package import SignalStore
import Synchronization

/// A clock of timers that stands still until a test moves it; what is due then runs on the test's thread.
package final class ManualTimers: TimerClock {
  private struct Job {
    let id: Int
    let deadline: Duration
    let run: @Sendable () -> Void
  }

  private struct State {
    var now = Duration.zero
    var jobs: [Job] = []
    var lastID = 0
  }

  private let state = Mutex(State())

  /// A clock at 0.
  package init() {}

  /// How far it has been moved.
  package var now: Duration { state.withLock { $0.now } }

  /// The jobs that are still to run.
  package var scheduled: Int { state.withLock { $0.jobs.count } }

  /// Notes a job.
  package func schedule(
    at deadline: Duration, tolerance: Duration, _ job: @escaping @Sendable () -> Void
  ) -> Subscription {
    let id = state.withLock { state in
      state.lastID += 1
      state.jobs.append(Job(id: state.lastID, deadline: deadline, run: job))
      return state.lastID
    }
    return Subscription { [weak self] in
      let removed = self?.state.withLock { state in
        state.jobs.firstIndex { $0.id == id }.map { state.jobs.remove(at: $0) }
      }
      withExtendedLifetime(removed) {}
    }
  }

  /// Moves the clock on, and runs what is due on the way, each job at its own time.
  package func advance(by time: Duration) {
    let end = now + time
    while true {
      let job = state.withLock { state -> Job? in
        let due = state.jobs.indices.filter { state.jobs[$0].deadline <= end }
        guard let first = due.min(by: { state.jobs[$0].deadline < state.jobs[$1].deadline }) else {
          state.now = max(state.now, end)
          return nil
        }
        let job = state.jobs.remove(at: first)
        state.now = max(state.now, job.deadline)
        return job
      }
      guard let job else { return }
      job.run()
    }
  }
}
