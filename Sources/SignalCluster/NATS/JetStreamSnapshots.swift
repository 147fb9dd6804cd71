// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalHTTP

/// What was asked about snapshots is answered.
enum SnapshotAnswer {
  /// Those that are complete, the oldest first, and those that are not, or not yet.
  case listed(complete: [SnapshotName], incomplete: [SnapshotName])
  case stored
  /// Parts, where to go on, and whether there were no more.
  case parts([[UInt8]], next: UInt64, isEnd: Bool)
  case failed
}

/// The snapshots of a cluster, in a stream of their own: a subject for the parts of each, and another one that says that all
/// are there.
///
/// One question at a time; its answer comes to ``ClusterLogOwner``.
///
// Unchecked: only the loop of the log touches it, which the compiler checks by the parameter `loop`.
final class JetStreamSnapshots: @unchecked Sendable {
  private let stream: StreamConfiguration
  private let inbox: String
  private let client: NATSClient
  private var tag: UInt64 = 0
  private var parts: [[UInt8]] = []
  private var next: UInt64 = 0

  /// Parts that are asked for at once.
  private static let batch = 4

  init(_ stream: StreamConfiguration, _ client: NATSClient, inbox: String) {
    self.stream = stream
    self.client = client
    self.inbox = inbox
  }

  /// Asks which there are.
  func list(on loop: isolated EventLoop) {
    ask("$JS.API.STREAM.INFO.\(stream.snapshotName)", "l", Array(#"{"subjects_filter":">"}"#.utf8))
  }

  /// Stores a part; nil says that all are there.
  func store(_ part: [UInt8]?, of name: SnapshotName, on loop: isolated EventLoop) {
    let subject = part == nil ? stream.completeSnapshot(name) : stream.snapshot(name)
    ask(subject, "s", part ?? Array("{}".utf8))
  }

  /// Reads parts from a sequence on; 1 for the first.
  func read(_ name: SnapshotName, from sequence: UInt64, on loop: isolated EventLoop) {
    (parts, next) = ([], sequence)
    ask(
      "$JS.API.DIRECT.GET.\(stream.snapshotName)", "r",
      Array(#"{"seq":\#(sequence),"next_by_subj":"\#(stream.snapshot(name))","batch":\#(Self.batch)}"#.utf8))
  }

  /// Removes one.
  func remove(_ name: SnapshotName, on loop: isolated EventLoop) {
    for subject in [stream.completeSnapshot(name), stream.snapshot(name)] {
      client.publish("$JS.API.STREAM.PURGE.\(stream.snapshotName)", Array(#"{"filter":"\#(subject)"}"#.utf8))
    }
  }

  /// Has the log begin behind a sequence, also when it ends before that; answered as a part that is stored.
  func restartLog(behind sequence: UInt64, on loop: isolated EventLoop) {
    ask("$JS.API.STREAM.PURGE.\(stream.name)", "p", Array(#"{"seq":\#(sequence + 1)}"#.utf8))
  }

  /// Removes the records of the log up to one that is in all snapshots that are kept.
  func purgeLog(through sequence: UInt64, on loop: isolated EventLoop) {
    client.publish("$JS.API.STREAM.PURGE.\(stream.name)", Array(#"{"seq":\#(sequence + 1)}"#.utf8))
  }

  private func ask(_ subject: String, _ kind: String, _ payload: [UInt8]) {
    tag += 1
    client.publish(subject, reply: "\(inbox).s\(kind)\(tag)", payload)
  }

  // MARK: Answers

  /// Takes an answer.
  ///
  /// - Parameter token: What is behind the `s`.
  /// - Returns: nil while there will be more.
  func answered(_ token: Substring, _ message: NATSMessage, on loop: isolated EventLoop) -> SnapshotAnswer? {
    guard let kind = token.first, UInt64(token.dropFirst()) == tag else { return nil }
    switch kind {
    case "l": return listed(message, on: loop)
    case "s": return Self.isStored(message) ? .stored : .failed
    case "p": return .stored
    case "r": return partCame(message)
    default: return nil
    }
  }

  private static func isStored(_ message: NATSMessage) -> Bool {
    guard message.status == nil, let tree = LogRecord.tree(of: message.payload[...]) else { return false }
    return tree.member("error", of: tree.root) == nil && tree.member("seq", of: tree.root) != nil
  }

  private func partCame(_ message: NATSMessage) -> SnapshotAnswer? {
    if let status = message.status {
      guard status == 204 || status == 404 else { return .failed }
      defer { parts = [] }
      return .parts(parts, next: next, isEnd: parts.isEmpty)
    }
    guard let sequence = message.number("Nats-Sequence"), sequence >= next else { return .failed }
    parts.append(message.payload)
    next = sequence + 1
    return nil
  }

  private func listed(_ message: NATSMessage, on loop: isolated EventLoop) -> SnapshotAnswer? {
    guard message.status == nil, let tree = LogRecord.tree(of: message.payload[...]) else { return .failed }
    if let error = tree.member("error", of: tree.root) {
      guard tree.member("err_code", of: error).flatMap({ tree.uint64($0) }) == StreamConfiguration.noSuchStream else {
        return .failed
      }
      // Asked again when it is there.
      client.publish("$JS.API.STREAM.CREATE.\(stream.snapshotName)", stream.snapshotRequest)
      return .listed(complete: [], incomplete: [])
    }
    let subjects = tree.member("state", of: tree.root).flatMap { tree.member("subjects", of: $0) }
    var (begun, complete): (Set<SnapshotName>, Set<SnapshotName>) = ([], [])
    for node in subjects.map({ Array(tree.keys(of: $0)) }) ?? [] {
      guard let subject = tree.string(node) else { continue }
      if subject.hasPrefix(stream.snapshots) {
        SnapshotName(subject.dropFirst(stream.snapshots.utf8.count)).map { _ = begun.insert($0) }
      } else if subject.hasPrefix(stream.completeSnapshots) {
        SnapshotName(subject.dropFirst(stream.completeSnapshots.utf8.count)).map { _ = complete.insert($0) }
      }
    }
    return .listed(
      complete: complete.intersection(begun).sorted(), incomplete: begun.symmetricDifference(complete).sorted())
  }
}
