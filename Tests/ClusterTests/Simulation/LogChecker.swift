// SPDX-License-Identifier: MIT
import SignalCluster
import SignalStore

/// Finds out what a log says, without anything of the nodes but the form of its records.
struct LogChecker {
  /// The operations in the order of their revisions.
  private(set) var operations: [String] = []
  /// Records that do not count.
  private(set) var skipped = 0

  init(_ stream: SimulatedStream) throws {
    var term: UInt64 = 0
    var leader = ""
    var number: UInt64 = 0
    var link = ChainLink.none
    let key = ChainKey(Array("secret".utf8))
    for bytes in stream.records {
      let record = try LogRecord(bytes)
      switch record.head {
      case .claim(let claim):
        guard claim.term > term, claim.last.number == UInt64(operations.count), claim.previous == link else {
          skipped += 1
          continue
        }
        (term, leader, number) = (claim.term, claim.node, 0)
      case .fence: return
      case .batch(let batch):
        guard batch.term == term, batch.node == leader, batch.number == number + 1,
          batch.first.number == UInt64(operations.count) + 1, batch.previous == link
        else {
          skipped += 1
          continue
        }
        number += 1
        operations += SimulatedNode.operations(of: record)
      }
      link = key.link(after: link, bytes)
    }
  }

  /// What is wrong with the nodes of a run that has become quiet; nil when nothing is.
  func fault(of cluster: SimulatedCluster) -> String? {
    if cluster.hasDiverged { return "a node believes that the logs differ" }
    if Set(operations).count != operations.count { return "an operation is there twice" }
    for node in cluster.nodes {
      if node.applied != operations {
        return "\(node.name) has applied \(node.applied.count) operations of \(operations.count), or others"
      }
      if node.machine.position.revision.number != UInt64(operations.count) { return "the revision of \(node.name)" }
    }
    let there = Set(operations)
    let acknowledged = cluster.acknowledged.union(cluster.nodes.flatMap(\.acknowledged))
    let dropped = cluster.dropped.union(cluster.nodes.flatMap(\.dropped))
    if let lost = acknowledged.first(where: { !there.contains($0) }) { return "\(lost) was acknowledged and is lost" }
    if let undead = dropped.first(where: there.contains) { return "\(undead) was given up and is there" }
    if cluster.nodes.count(where: \.isLeading) != 1 { return "there is not one leader" }
    return nil
  }
}
