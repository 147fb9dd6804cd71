// SPDX-License-Identifier: MIT
import SignalCluster
import Testing
import TestSupport

#if canImport(Glibc)
  import Glibc
#endif

/// Many runs of clusters among faults; `CLUSTER_RUNS=10000` for more, `CLUSTER_SEED=n` for one of them, both for so many from
/// one on.
struct SimulationTests {
  @Test func `nothing acknowledged is lost, nothing is there twice, and all nodes have the same`() throws {
    let environment = { (name: String) in unsafe getenv(name).flatMap { unsafe Int(String(cString: $0)) } }
    let first = environment("CLUSTER_SEED") ?? 1
    let runs = environment("CLUSTER_RUNS") ?? (environment("CLUSTER_SEED") != nil ? 1 : 60)
    var (committed, skipped, stepsBack, takeovers) = (0, 0, 0, UInt64(0))
    for seed in first..<first + runs {
      var cluster = SimulatedCluster(seed: UInt64(seed), nodes: 2 + seed % 4, milliseconds: 20_000)
      cluster.run()
      let checker = try LogChecker(cluster.stream)
      if let fault = checker.fault(of: cluster) {
        Issue.record("seed \(seed): \(fault)")
        return
      }
      committed += checker.operations.count
      skipped += checker.skipped
      stepsBack += cluster.nodes.reduce(0) { $0 + $1.stepsBack }
      takeovers += cluster.nodes.reduce(0) { $0 + $1.machine.counts.takeovers }
    }
    print(
      "\(runs) runs: \(committed) operations, \(skipped) records skipped, "
        + "\(takeovers) takeovers and \(stepsBack) steps back of living nodes")
    #expect(committed > runs * 100)
  }

  @Test func `a run follows from its seed`() throws {
    let logs = (0..<2).map { _ in
      var cluster = SimulatedCluster(seed: 7, nodes: 3, milliseconds: 5000)
      cluster.run()
      return cluster.stream.records
    }
    #expect(logs[0] == logs[1])
    #expect(!logs[0].isEmpty)
  }
}
