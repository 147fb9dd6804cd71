// SPDX-License-Identifier: MIT

internal import JSON

/// The stream of a cluster's log, as it has to be.
package struct StreamConfiguration: Sendable, Equatable {
  /// The name of the cluster: letters, digits, `-` and `_`.
  package var cluster: String
  package var replicas: Int
  /// How large it may become; then nothing more is stored.
  package var bytes: Int

  package init(cluster: String, replicas: Int, bytes: Int) {
    self.cluster = cluster
    self.replicas = replicas
    self.bytes = bytes
  }

  var name: String { "SIGNAL_\(cluster)" }
  var subject: String { "signal.\(cluster).log" }
  /// Where each record is sent when it is stored.
  var live: String { "signal.\(cluster).out" }
  /// Where the engine tells that it has chosen a leader of the stream.
  var elections: String { "$JS.EVENT.ADVISORY.STREAM.LEADER_ELECTED.\(name)" }
  var beats: String { "signal.\(cluster).beat" }
  /// The stream of snapshots, and its subjects.
  var snapshotName: String { "SIGNAL_\(cluster)_SNAP" }
  var snapshots: String { "signal.\(cluster).snap." }
  var completeSnapshots: String { "signal.\(cluster).done." }
  func snapshot(_ name: SnapshotName) -> String { snapshots + name.text }
  func completeSnapshot(_ name: SnapshotName) -> String { completeSnapshots + name.text }
  /// The code of an answer that there is no such stream.
  static let noSuchStream: UInt64 = 10059
  /// Where nodes tell what their clients watch.
  var demand: String { "signal.\(cluster).demand" }
  func commands(to node: String) -> String { "signal.\(cluster).commands.\(node)" }
  func answers(to node: String) -> String { "signal.\(cluster).answers.\(node)" }

  /// The request that makes it.
  var request: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"name":"#)
    text.appendJSON(name)
    text.append(literal: #","subjects":["#)
    text.appendJSON(subject)
    text.append(literal: #"],"retention":"limits","storage":"file","discard":"new","max_msgs":-1,"max_age":0"#)
    text.append(literal: #","max_consumers":-1,"max_msg_size":-1,"duplicate_window":0,"num_replicas":"#)
    text.appendJSON(replicas)
    text.append(literal: #","max_bytes":"#)
    text.appendJSON(bytes)
    text.append(literal: #","allow_direct":true,"deny_delete":true,"allow_rollup_hdrs":false,"republish":{"src":"#)
    text.appendJSON(subject)
    text.append(literal: #","dest":"#)
    text.appendJSON(live)
    text.append(literal: "}}")
    return text
  }

  /// The request that makes the stream of snapshots.
  var snapshotRequest: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"name":"#)
    text.appendJSON(snapshotName)
    text.append(literal: #","subjects":["#)
    text.appendJSON(snapshots + "*.*")
    text.append(UInt8(ascii: ","))
    text.appendJSON(completeSnapshots + "*.*")
    text.append(literal: #"],"retention":"limits","storage":"file","discard":"new","max_msgs":-1,"max_age":0"#)
    text.append(literal: #","max_consumers":-1,"max_msg_size":-1,"max_bytes":-1,"num_replicas":"#)
    text.appendJSON(replicas)
    text.append(literal: #","allow_direct":true}"#)
    return text
  }

  /// Whether a stream that is there can be used: how it is replicated and how large it may become is up to who operates it.
  ///
  /// - Parameter answer: That of `STREAM.INFO`.
  /// - Returns: What is wrong, as a clause about the stream; nil when nothing is.
  func fault(of answer: JSONTree) -> String? {
    guard let config = answer.member("config", of: answer.root) else { return "is not described" }
    func text(_ name: String) -> String? { answer.member(name, of: config).flatMap { answer.string($0) } }
    func flag(_ name: String) -> Bool { answer.member(name, of: config).flatMap { answer.bool($0) } ?? false }
    let subjects = answer.member("subjects", of: config).map { node in
      answer.elements(of: node).compactMap { answer.string($0) }
    }
    if subjects != [subject] { return "does not hold the subject \(subject) alone" }
    if text("storage") != "file" { return "is not kept in files" }
    if text("retention") ?? "limits" != "limits" { return "forgets records that were read" }
    if text("discard") != "new" { return "forgets old records when it is full (discard is not \"new\")" }
    if !flag("allow_direct") { return "does not allow direct reads (allow_direct)" }
    if let age = answer.member("max_age", of: config), answer.int64(age) ?? 0 > 0 { return "forgets old records" }
    let republish = answer.member("republish", of: config).flatMap { answer.member("dest", of: $0) }
    if republish.flatMap({ answer.string($0) }) != live { return "does not republish to \(live)" }
    return nil
  }
}
