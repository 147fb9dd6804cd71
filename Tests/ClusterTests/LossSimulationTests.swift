// SPDX-License-Identifier: MIT
import SignalCluster
import SignalStore
import Testing

#if canImport(Glibc)
  import Glibc
#endif

/// Many runs of clusters whose stream loses records that nodes have shown; `CLUSTER_RUNS` and `CLUSTER_SEED` are those of
/// ``SimulationTests``, a tenth of the runs for each way of loss.
struct LossSimulationTests {
  @Test(arguments: LossPlan.Case.allCases)
  func `no cursor is taken for something else, whatever the stream has lost`(_ what: LossPlan.Case) throws {
    let environment = { (name: String) in unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) } }
    let first = environment("CLUSTER_SEED") ?? 1
    let runs = environment("CLUSTER_RUNS").map { max(1, $0 / 10) } ?? (environment("CLUSTER_SEED") != nil ? 1 : 30)
    var renewed = 0
    for seed in first..<first + runs {
      let plan = LossPlan(
        what: what, time: 8000 + UInt64(seed % 50) * 150, isEmptied: seed % 3 == 0,
        isEngineSynced: [.oneKnows, .nodesLive, .nothing].contains(what))
      var cluster = SimulatedCluster(
        seed: UInt64(seed), nodes: 2 + seed % 4, milliseconds: plan.hasFaultsToTheEnd ? 40_000 : 20_000, losing: plan)
      cluster.run()
      if let fault = Self.fault(of: cluster, what) {
        Issue.record("seed \(seed), \(what): \(fault)")
        return
      }
      if cluster.history.epoch != nil, cluster.nodes.first?.epoch != cluster.history.epoch { renewed += 1 }
    }
    print("\(runs) runs, \(what): another epoch in \(renewed)")
    #expect(what == .nothing ? renewed == 0 : renewed > runs / 2)
  }

  private static func fault(of cluster: SimulatedCluster, _ what: LossPlan.Case) -> String? {
    guard let first = cluster.nodes.first else { return nil }
    for node in cluster.nodes {
      let state = "\(node.machine.role) at \(node.machine.position.sequence) of \(cluster.stream.last)"
      if !node.isServing || node.hasDiverged { return "\(node.name) shows nothing: \(state)" }
      if node.applied != first.applied || node.epoch != first.epoch {
        return "\(node.name) has \(node.applied.count) operations, \(first.name) \(first.applied.count): \(state)"
      }
    }
    if cluster.nodes.count(where: \.isLeading) != 1 { return "there is not one leader" }
    if Set(first.applied).count != first.applied.count { return "an operation is there twice" }
    switch what {
    case .nodesLive, .nothing:
      guard first.applied.starts(with: cluster.history.kept) else {
        return "of \(cluster.history.kept.count) operations that were shown some are lost"
      }
      fallthrough
    case .nodesFail, .nodesBeginAnew:
      return cluster.history.ambiguous.map { "the cursor \($0) stands for two states" }
    // What the others show before the one who knows is heard of cannot be prevented; but it does not last.
    case .oneKnows:
      if !first.applied.starts(with: cluster.history.kept), first.epoch == cluster.history.epoch {
        return "another history goes on with the same epoch"
      }
      return nil
    }
  }
}
