// SPDX-License-Identifier: MIT

import Synchronization

/// Routes each change of a store to the observers of its path, with one observer of the commits for all paths.
final class ChangeRouter: Sendable {
  private struct Paths: Sendable {
    var signals: [PropertyPath: WeakReference<Signal<Change>>] = [:]
    /// The number of paths at which entries whose signal is gone are removed.
    var sweepAt = 16
  }

  private let paths = Mutex(Paths())
  private let commits: Signal<Commit>

  init(_ commits: Signal<Commit>) { self.commits = commits }

  /// A signal of the changes of one path, which sends as long as a subscription is kept.
  func changes(at path: PropertyPath) -> Signal<Change> {
    // Made outside of the lock; the first call subscribes to the store, permanently.
    commits.subscribe(unique: "router") { [weak self] in self?.route($0) }.keepWhileSourceLives()
    let new = Signal<Change>()
    // The signals found are kept alive until the lock is released: each may be the last reference.
    let (signal, seen): (Signal<Change>, [Signal<Change>]) = paths.withLock { paths in
      if let known = paths.signals[path]?.object { return (known, []) }
      var seen: [Signal<Change>] = []
      if paths.signals.count >= paths.sweepAt {
        paths.signals = paths.signals.filter { entry in
          guard let signal = entry.value.object else { return false }
          seen.append(signal)
          return true
        }
        paths.sweepAt = max(16, paths.signals.count * 2)
      }
      paths.signals[path] = WeakReference(new)
      return (new, seen)
    }
    withExtendedLifetime(seen) {}
    return signal
  }

  /// Sends the changes of a commit as one transaction: a signal combined of several of them sends once.
  private func route(_ commit: Commit) {
    if commit.count > 1 { withTransaction { send(commit) } } else { send(commit) }
  }

  private func send(_ commit: Commit) {
    for change in commit {
      let signal = paths.withLock { $0.signals[change.path]?.object }
      signal?.send(change)
    }
  }
}
