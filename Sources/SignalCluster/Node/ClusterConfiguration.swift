// SPDX-License-Identifier: MIT

package import SignalStore

/// What makes a node of a cluster.
package struct ClusterConfiguration: Sendable {
  /// The name of the cluster, and of this node in it.
  package var name: String
  package var node: String
  /// Whether it may lead.
  package var isMember = true
  package var nats: NATSConfiguration
  package var secret: [UInt8]
  package var replicas = 3
  package var logBytes = 4 << 30
  /// Whether the engine keeps what it has acknowledged also when all of it loses power.
  package var isEngineSynced = true
  package var times = ClusterTimes()
  /// For the answer of another node, in milliseconds; then it is not known what became of a command.
  package var writeTimeout: UInt64 = 10_000
  /// Bytes and records of the log after which a snapshot is written.
  package var snapshotBytes = 256 << 20
  package var snapshotRecords: UInt64 = 50_000
  /// Bytes of changes that wait to be confirmed; then writes are refused.
  package var queueBytes = 64 << 20
  package var store = StoreLimits()
  package var quotas: [Quota] = []
  /// Compiles a formula.
  package var compile: @Sendable (String) throws(FormulaError) -> Formula

  package init(
    name: String, node: String, nats: NATSConfiguration, secret: [UInt8],
    compile: @escaping @Sendable (String) throws(FormulaError) -> Formula
  ) {
    self.name = name
    self.node = node
    self.nats = nats
    self.secret = secret
    self.compile = compile
  }
}

/// What a node tells whoever runs it.
package enum ClusterEvent: Sendable, Equatable {
  case engineConnected
  case engineLost(String)
  /// The engine or its stream cannot be used as it is.
  case engineRefused(String)
  case leads(term: UInt64)
  case follows(node: String, term: UInt64)
  /// Changes that had not been confirmed were taken back.
  case tookBack
  /// This node leads no more, because the engine has not confirmed anything for too long.
  case steppedBack
  /// A snapshot was written, with everything up to a record of the log, and what was loaded instead of the records before.
  case snapshotWritten(sequence: UInt64)
  case snapshotLoaded(sequence: UInt64)
  /// The log ends below what was told: it is restarted with what this node has, as another epoch.
  case restartsLog(sequence: UInt64, revision: Revision)
  /// Another process has the name of this node, and joined later: it is going to end.
  case namesake(session: String)
  /// Nothing that is held here can be trusted any more: the process has to begin anew.
  case ended(String)
  /// This node cannot be in the cluster as it is configured: to begin anew would change nothing.
  case misconfigured(String)
}
