// SPDX-License-Identifier: MIT
import SignalCluster
import SignalStore

/// How a stream loses records in a run.
struct LossPlan {
  enum Case: CaseIterable {
    /// Nothing else happens to the nodes from then on: what they had must still be there at the end.
    case nodesLive
    /// Nodes are stopped and started again all the time.
    case nodesFail
    /// Nobody who knows more than the stream lives on, but the newest snapshot may be further than that.
    case nodesBeginAnew
    /// One node that knows more is stopped while all others begin anew.
    case oneKnows
    /// Nothing: a replica that is behind answers for a while, and nodes are stopped and started again all the time.
    case nothing
  }

  let what: Case
  /// When it happens.
  let time: UInt64
  /// Whether the stream is made anew.
  let isEmptied: Bool
  var isEngineSynced = true

  var hasFaultsToTheEnd: Bool { what == .nodesFail || what == .nothing }

  func areFaultsOver(at now: UInt64) -> Bool { !hasFaultsToTheEnd && now >= time }
}

/// What happens because of it.
enum LossEvent {
  case loss
  /// What seemed to be lost is there again.
  case found
  /// A follower writes a snapshot, and the log is shortened.
  case snapshot
  case load(Int, incarnation: Int, behind: UInt64, attempts: Int = 1)
  /// The steps by which a node restarts the log.
  case written(Int, incarnation: Int, SimulatedStream.Snapshot)
  case complete(Int, incarnation: Int, before: UInt64)
  case completed(Int, incarnation: Int, before: UInt64)
  case shift(Int, incarnation: Int)
  case ended(Int, incarnation: Int)
  /// The process of a node that has diverged is started again.
  case restart(Int, incarnation: Int)
}

/// What nodes have shown: a cursor stands for one state, whoever has given it.
struct ToldHistory {
  private struct Cursor: Hashable {
    let epoch: Epoch
    let revision: UInt64
  }

  private var states: [Cursor: UInt64] = [:]
  /// The first that stood for two.
  private(set) var ambiguous: String?
  /// What the most advanced node had shown before the loss, and the epoch of then.
  var kept: [String] = []
  var epoch: Epoch?

  mutating func note(_ node: SimulatedNode) {
    guard node.isServing, let epoch = node.epoch else { return }
    let revision = UInt64(node.applied.count)
    if let known = states.updateValue(node.digest, forKey: Cursor(epoch: epoch, revision: revision)),
      known != node.digest
    {
      ambiguous = ambiguous ?? "\(epoch):\(revision) of \(node.name)"
    }
  }
}

extension SimulatedCluster {
  mutating func beginLosses(_ plan: LossPlan) {
    schedule(.loss(.loss), in: plan.time)
    schedule(.loss(.snapshot), in: 2000)
  }

  mutating func handle(_ event: LossEvent) {
    switch event {
    case .loss: lose()
    case .found: stream.endOfReplica = nil
    case .snapshot: writeSnapshot()
    case .load(let index, let incarnation, let sequence, let attempts):
      guard isThere(index, incarnation, event) else { return }
      guard let snapshot = stream.snapshots.first(where: { $0.sequence >= sequence }) else {
        guard attempts < 10 else {
          nodes[index].machine.misses(
            snapshot: stream.snapshots.last?.sequence ?? 0, at: nodes[index].clock(now))
          if nodes[index].machine.role != .behind { return perform(index) }
          return schedule(.loss(.load(index, incarnation: incarnation, behind: sequence)), in: 1000)
        }
        let next = LossEvent.load(index, incarnation: incarnation, behind: sequence, attempts: attempts + 1)
        return schedule(.loss(next), in: 1000)
      }
      nodes[index].load(snapshot, at: now)
      perform(index)
    case .written(let index, let incarnation, let snapshot):
      guard isThere(index, incarnation, event) else { return }
      restarts[index] = snapshot
      nodes[index].machine.restartWritten(at: nodes[index].clock(now))
      perform(index)
    case .complete(let index, let incarnation, let end):
      if postponeForStream(.loss(event)) { return }
      if let snapshot = restarts[index] { stream.add(snapshot) }
      schedule(.loss(.completed(index, incarnation: incarnation, before: end)), in: isLost() ? 5000 : delay())
    case .completed(let index, let incarnation, let end):
      guard isThere(index, incarnation, event) else { return }
      guard nodes[index].clock(now) < end else {
        if let snapshot = restarts[index] {
          stream.removeSnapshot(of: snapshot.session, at: snapshot.sequence)
        }
        return handle(.ended(index, incarnation: incarnation))
      }
      schedule(.loss(.shift(index, incarnation: incarnation)), in: 1 + random.number(below: 15))
    case .shift(let index, let incarnation):
      if postponeForStream(.loss(event)) { return }
      if incarnation == incarnations[index], let snapshot = restarts[index] {
        stream.begin(behind: snapshot.sequence)
      }
      schedule(.loss(.ended(index, incarnation: incarnation)), in: isLost() ? 5000 : delay())
    case .ended(let index, let incarnation):
      guard isThere(index, incarnation, event) else { return }
      restarts[index] = nil
      nodes[index].machine.restartEnded(at: nodes[index].clock(now))
      perform(index)
    case .restart(let index, let incarnation):
      if incarnation == incarnations[index] { restart(index) }
    }
  }

  /// Whether it happens to the same process, and now.
  private mutating func isThere(_ index: Int, _ incarnation: Int, _ event: LossEvent) -> Bool {
    incarnation == incarnations[index] && !postpone(.loss(event), of: index)
  }

  private mutating func lose() {
    guard var plan = lossPlan else { return }
    let serving = nodes.filter { $0.isServing && !$0.hasDiverged }
    guard let most = serving.max(by: { $0.applied.count < $1.applied.count }) else { return }
    (history.kept, history.epoch) = (most.applied, most.epoch)
    guard plan.what != .nothing else {
      stream.endOfReplica = stream.last - min(1 + random.number(below: 60), stream.last - stream.base)
      return schedule(.loss(.found), in: random.number(below: 20_000))
    }
    if plan.isEmptied { stream.makeAnew() } else { stream.lose(1 + Int(random.number(below: 60))) }
    switch plan.what {
    case .nodesLive, .nodesFail, .nothing: break
    case .nodesBeginAnew:
      plan.isEngineSynced = (stream.snapshots.last?.sequence ?? 0) > stream.last
      lossPlan = plan
      for index in nodes.indices { restart(index) }
    case .oneKnows:
      for index in nodes.indices {
        if nodes[index] === most {
          nodes[index].pausedUntil = now + random.number(below: 8000)
        } else {
          restart(index)
        }
      }
    }
  }

  private mutating func writeSnapshot() {
    schedule(.loss(.snapshot), in: 1000 + random.number(below: 6000))
    // Who finds that its place in the log is gone cannot tell what was there.
    if let plan = lossPlan, plan.what == .oneKnows, now >= plan.time { return }
    guard
      let node = nodes.first(where: { $0.isServing && !$0.isLeading && $0.machine.isCaughtUp && $0.pausedUntil <= now }
      ),
      node.machine.role == .following
    else { return }
    stream.add(node.snapshot(at: node.machine.position))
    for node in nodes { node.machine.knows(snapshot: stream.snapshots.last?.sequence ?? 0) }
    if let leader = nodes.first(where: \.isLeading) { stream.shorten(for: leader.machine.position) }
  }
}
