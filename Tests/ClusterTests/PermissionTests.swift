// SPDX-License-Identifier: MIT
import Dispatch
import Foundation
import SignalHTTP
import SignalStore
import TestSupport
import Testing

@testable import SignalCluster

/// Users of an engine who may not do everything.
@Suite(.enabled(if: Engine.program != nil))
struct PermissionTests {
  /// The permissions that the documents name, of the cluster of the tests.
  private static func documented() throws -> String {
    let path = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../docs/cluster.md").standardized.path
    let text = try String(contentsOfFile: path, encoding: .utf8)
    let block = try #require(text.firstMatch(of: /\n```\npermissions: ([^`]*)```/))
    return String(block.1).replacing("signal.home", with: "signal.test").replacing("SIGNAL_home", with: "SIGNAL_test")
  }

  @Test func `what the documents name is enough`() throws {
    let engine = try Engine(permissions: Self.documented())
    let small = { (configuration: inout ClusterConfiguration) in
      configuration.snapshotRecords = 4
      configuration.times.snapshots = 100
    }
    let a = try TestNode("a", engine, configure: small)
    let b = try TestNode("b", engine, configure: small)
    let client = try b.server.connect()
    let snapshots = {
      (a.events.all + b.events.all).count { if case .snapshotWritten = $0 { true } else { false } }
    }
    var number = 0
    // The log has been shortened long before there are that many.
    try eventually("eight snapshots") {
      number += 1
      let status = try client.request("PUT", "/properties/x", body: "\(number)").status
      #expect(status < 300)
      return snapshots() >= 8
    }
    // This one reads the snapshot.
    let c = try TestNode("c", engine, configure: small)
    #expect(c.store.get("x") != nil && c.events.all.contains { if case .snapshotLoaded = $0 { true } else { false } })
    for node in [a, b, c] {
      let refused = node.events.all.filter { if case .engineRefused = $0 { true } else { false } }
      #expect(refused.isEmpty, "\(refused)")
      node.leave()
    }
  }

  @Test func `what is not allowed is told, once`() throws {
    let engine = try Engine(
      permissions: #"{ publish: { deny: "$JS.API.STREAM.INFO.SIGNAL_test_SNAP" } }"#)
    let events = TestNode.EventLog()
    let member = try ClusterMember(TestNode.configuration("a", engine), session: "s", seed: 1) { events.add($0) }
    member.start { _ in }
    let told = { events.all.compactMap { if case .engineRefused(let reason) = $0 { reason } else { nil } } }
    try eventually { told().contains("it does not say which snapshots there are") }
    let denials = told().filter { $0.contains("SIGNAL_test_SNAP") }
    #expect(denials.count == 1 && told().count == 2, "\(told())")
    let left = DispatchSemaphore(value: 0)
    member.end { left.signal() }
    left.wait()
  }
}
