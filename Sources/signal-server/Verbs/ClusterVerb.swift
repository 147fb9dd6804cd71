// SPDX-License-Identifier: MIT
import ArgumentParser
import Glibc
import JSON
import SignalHTTP

/// `signal-server cluster`: asks a node of a cluster how it is, or to let another one lead.
struct ClusterVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "cluster", abstract: "Look at a cluster, and have another node lead.",
    subcommands: [Status.self, StepDown.self])

  /// `signal-server cluster status`.
  struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "status", abstract: "Show how a node is: exit status 0 when it is ready and changes can be made.")

    @OptionGroup var client: ClientOptions

    func run() throws {
      let node = try NodeStatus(of: client)
      Terminal.print(node.lines.joined(separator: "\n"))
      if !node.isReady { throw Failure(.refused, "the node is \(node.state)") }
      if !node.isWritable { throw Failure(.refused, "no node decides changes at the moment") }
    }
  }

  /// `signal-server cluster step-down`.
  struct StepDown: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "step-down", abstract: "Have the leading node let another one lead, and wait until one does.",
      discussion:
        "Before its machine is restarted, for example: nothing is lost, and writes wait for some tenths of a second.")

    @OptionGroup var client: ClientOptions

    func run() throws {
      let before = try NodeStatus(of: client)
      _ = try client.request("POST", "/server/step-down", body: [])
      let end = ContinuousClock.now + .seconds(15)
      while ContinuousClock.now < end {
        let now = try NodeStatus(of: client)
        if now.term > before.term, let leader = now.leader {
          guard leader != before.node else { throw Failure(.refused, "no other node took over; \(leader) leads again") }
          return Terminal.print("\(leader) leads")
        }
        usleep(100_000)
      }
      throw Failure(.timedOut, "no node leads yet")
    }
  }
}

/// What `GET /health/ready` of a node says.
private struct NodeStatus {
  let state: String
  let isReady: Bool
  let node: String
  let leader: String?
  let term: UInt64
  let isWritable: Bool
  let lines: [String]

  init(of client: ClientOptions) throws(Failure) {
    let response = try client.exchange("GET", "/health/ready")
    guard let body = Members.body(response.body), let state = body.string("status") else {
      throw Failure(.refused, response.refusal())
    }
    guard let cluster = body.members("cluster"), let node = cluster.string("node") else {
      throw Failure(.refused, "the server is not a node of a cluster")
    }
    self.state = state.printable
    isReady = response.status == 200
    self.node = node.printable
    leader = cluster.string("leader")?.printable
    term = cluster.number("term") ?? 0
    isWritable = cluster.bool("writable") ?? false
    func text(_ name: String) -> String { cluster.text(name).map { "\($0)" } ?? "" }
    let members = cluster.tree.member("members", of: cluster.node).map { list in
      cluster.tree.elements(of: list).compactMap { cluster.tree.string($0)?.printable }
    }
    lines = [
      "cluster   \(cluster.string("name")?.printable ?? "")",
      "node      \(self.node), \(cluster.string("role")?.printable ?? ""), \(self.state)",
      "leader    \(leader ?? "none"), term \(term)",
      "engine    \(cluster.bool("engine") == true ? "connected" : "not connected")",
      "revision  \(text("revision")), record \(text("sequence")), \(text("lag")) s behind",
      "members   \((members ?? []).joined(separator: ", "))",
    ]
  }
}
