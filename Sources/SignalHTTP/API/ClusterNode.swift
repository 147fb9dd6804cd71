// SPDX-License-Identifier: MIT
import JSON
package import SignalStore

/// A node of a cluster, as those see it who serve its clients.
///
/// One node decides changes; the others forward commands to it, as their clients have sent them, and pass its answers on.
package protocol ClusterNode: AnyObject, Sendable {
  /// Whether changes are decided here; read before each command that changes something.
  var isLeading: Bool { get }

  /// Executes a command on the node that decides, exactly once if at all; may be called from anywhere.
  ///
  /// - Parameter answer: Called once, from any thread, when this node has applied what followed from it.
  func forward(_ command: ForwardedCommand, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void)

  /// From now on commands of other nodes are executed by this, and what clients here watch is counted by this.
  func serve(by executor: any ForwardedExecutor, watchers: Watchers)

  /// Waits until the watchers of all nodes are known, or a while; may be called from anywhere.
  ///
  /// - Parameter done: Called once, from any thread.
  func awaitWatchers(_ done: @escaping @Sendable () -> Void)

  /// Lets another node decide, once what was decided here is confirmed; may be called from anywhere.
  ///
  /// - Returns: Whether this node decides; otherwise nothing happens.
  func stepDown() -> Bool

  /// How it is, for probes and figures.
  var status: ClusterStatus { get }
}

/// What became of a command that was forwarded.
package enum ForwardedOutcome: Sendable {
  /// The answer of the node that decides.
  case answered(ForwardedAnswer)
  /// Nobody decides at present; it was not executed, and will not be.
  case noLeader
  /// It may have been executed, or may not.
  case unknown
}

/// Executes commands of other nodes.
package protocol ForwardedExecutor: Sendable {
  /// Calls `body` where commands are executed, in the order of the calls; may be called from anywhere.
  ///
  /// - Parameter body: It gets what executes a command and returns the answer.
  func execute(_ body: @escaping @Sendable (_ execute: (ForwardedCommand) -> ForwardedAnswer) -> Void)

  /// Calls `body` when every loop has seen what was announced before.
  func whenSeen(_ body: @escaping @Sendable () -> Void)
}

/// How a node of a cluster is at one moment.
package struct ClusterStatus: Sendable, Equatable {
  package var cluster = ""
  package var node = ""
  package var role = ""
  package var term: UInt64 = 0
  /// The name of the node that decides; empty when none is known.
  package var leader = ""
  /// Whether it has been heard of lately, so that writing works.
  package var isWritable = false
  /// Whether everything that is known to exist has been applied, or was lately.
  package var isCaughtUp = false
  package var hasEngine = false
  package var sequence: UInt64 = 0
  /// Seconds since it has last had everything that is known to exist.
  package var lag = 0.0
  package var staleRecords: UInt64 = 0
  package var gaps: UInt64 = 0
  package var takeovers: UInt64 = 0
  /// Whether it has found that its log differs from that of the others.
  package var hasDiverged = false
  /// The revision that it shows.
  package var revision = Revision(0)
  /// By how much its clock is ahead of that of the node that decides, in milliseconds.
  package var clockSkew: Int64 = 0
  /// Of records that it has written as the node that decides: the times until they were confirmed, how many there were,
  /// and the entries in them.
  package var commits = DurationCounts()
  package var batches = 0
  package var batchEntries = 0
  package var openCommands = 0
  /// Nodes that have been heard of lately, this one included, by name.
  package var members: [String] = []

  package init() {}
}

extension ClusterStatus {
  /// Appends the member `cluster` of an object, with a comma before it.
  func append(to text: inout [UInt8]) {
    text.append(literal: #","cluster":{"name":"#)
    text.appendJSON(cluster)
    text.append(literal: #","node":"#)
    text.appendJSON(node)
    text.append(literal: #","role":"#)
    text.appendJSON(role)
    text.append(literal: #","term":"#)
    text.appendJSON(term)
    text.append(literal: #","leader":"#)
    if leader.isEmpty { text.append(literal: "null") } else { text.appendJSON(leader) }
    text.append(literal: #","writable":"#)
    text.appendJSON(isWritable)
    text.append(literal: #","engine":"#)
    text.appendJSON(hasEngine)
    text.append(literal: #","sequence":"#)
    text.appendJSON(sequence)
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
    text.append(literal: #","lag":"#)
    text.append(contentsOf: String(lag).utf8)
    text.append(literal: #","members":["#)
    for (index, member) in members.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.appendJSON(member)
    }
    text.append(literal: "]}")
  }
}

extension Problem {
  /// A command was not executed, because nobody decides.
  static let noLeader = Problem(
    .noLeader, "No node of the cluster decides changes at the moment; the command was not executed.")
  /// The node that decides has not answered.
  static let noAnswer = Problem(
    .noAnswer, "The node that decides changes has not answered in time; the command may have been executed or not.")
}

/// Leads back to the service of a loop, on that loop.
///
// Unchecked: it crosses threads with an answer, and is used only on the loop that the service belongs to, of which
// `noteDependence` is given the isolation.
final class ServiceReference: @unchecked Sendable {
  private let service: LiveService

  init(_ service: LiveService) { self.service = service }

  /// See ``LiveService/noteDependence()``.
  func noteDependence(on loop: isolated EventLoop) { service.noteDependence() }
}
