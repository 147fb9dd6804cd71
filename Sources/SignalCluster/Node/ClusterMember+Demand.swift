// SPDX-License-Identifier: MIT

internal import SignalHTTP
internal import Synchronization

/// What clients of other nodes watch.
extension ClusterMember {
  /// Tells others what is watched here, and clients who wait what is watched there.
  func tellDemand(at now: UInt64, on loop: isolated EventLoop) {
    let (watchers, questions) = shared.withLock { shared in
      defer { shared.watcherWaits = [] }
      return (shared.watchers, shared.watcherWaits)
    }
    if toldWatchers !== watchers {
      toldWatchers = watchers
      demand.beginTelling()
    }
    guard !questions.isEmpty || demand.isActive || now >= demand.deadline else { return }
    let others = heard.filter { $0.key != configuration.node && now < $0.value + configuration.times.node }.map(\.key)
    for message in demand.tick(watchers, questions: questions, others: others, at: now) where isOpen {
      log.publish(message)
    }
  }

  func received(_ message: DemandMessage, on loop: isolated EventLoop) {
    if message.node != configuration.node { demand.received(message, shared.withLock { $0.watchers }) }
  }
}
