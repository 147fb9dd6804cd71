// SPDX-License-Identifier: MIT

import Synchronization

/// Brings each change of a store to those who asked for its path: one observer of the commits, whatever the number of paths.
final class ChangeRouter: Sendable {
  private struct Paths: Sendable {
    var signals: [PropertyPath: WeakReference<Signal<Change>>] = [:]
    /// At this many, those whose signal is gone are sorted out.
    var sweepAt = 16
  }

  private let paths = Mutex(Paths())
  private let commits: Signal<Commit>

  init(_ commits: Signal<Commit>) { self.commits = commits }

  /// Sends the changes of one path, as long as somebody keeps a subscription.
  func changes(at path: PropertyPath) -> Signal<Change> {
    // Made outside of the lock, and the first call begins to follow the store, for good.
    commits.subscribe(unique: "router") { [weak self] in self?.route($0) }.keepWhileSourceLives()
    let new = Signal<Change>()
    // Those that are looked at are kept until after the lock: each may be the last reference to it.
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

  /// The changes of a commit are told as one: what is combined of several of them is told once.
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
