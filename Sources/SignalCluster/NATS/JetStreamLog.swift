// SPDX-License-Identifier: MIT

internal import JSON
package import SignalHTTP

/// The five verbs by which a cluster uses its log: append after, read from, live, publish, request.
///
/// Called on the loop of the owner, to which answers come on the same.
package protocol ClusterLog: AnyObject {
  /// Appends a record if the last one has this sequence; answered by `appended`.
  func append(_ record: [UInt8], after sequence: UInt64, tag: UInt64, on loop: isolated EventLoop)
  /// Reads what is behind a sequence; answered by `read`.
  func read(after sequence: UInt64, tag: UInt64, on loop: isolated EventLoop)
  /// From now on records come by themselves when they are stored (`received`).
  func live(on loop: isolated EventLoop)
  /// Tells all nodes something.
  func publish(_ beat: Beat, on loop: isolated EventLoop)
  /// Sends a node something, or an answer to what it has sent.
  func request(_ message: [UInt8], to node: String, isReply: Bool, on loop: isolated EventLoop)
}

/// The owner of a log; called on its loop.
package protocol ClusterLogOwner: AnyObject {
  /// The log can be used.
  func opened(maxRecordBytes: Int, on loop: isolated EventLoop)
  /// It cannot for the moment; what was under way is not answered.
  func closed(_ reason: String, on loop: isolated EventLoop)
  /// It cannot be used as it is.
  func refused(_ reason: String, on loop: isolated EventLoop)
  /// The engine does not allow something that was asked for, which is not answered.
  func denied(_ reason: String, on loop: isolated EventLoop)
  func appended(_ answer: AppendAnswer, tag: UInt64, on loop: isolated EventLoop)
  func read(_ answer: ReadAnswer, tag: UInt64, on loop: isolated EventLoop)
  func received(_ record: [UInt8], sequence: UInt64, on loop: isolated EventLoop)
  /// The engine has chosen who leads the stream; what was appended before may be lost.
  func streamLeaderElected(on loop: isolated EventLoop)
  func received(_ beat: Beat, on loop: isolated EventLoop)
  func received(_ message: [UInt8], isReply: Bool, on loop: isolated EventLoop)
}

/// What the owner of a log is told of snapshots, and of what is watched elsewhere; called on its loop.
protocol SnapshotOwner: AnyObject {
  func received(_ answer: SnapshotAnswer, on loop: isolated EventLoop)
  func received(_ message: DemandMessage, on loop: isolated EventLoop)
}

/// A log in a stream of NATS JetStream.
///
// Unchecked: only its loop touches it, which the compiler checks by the parameter `loop`.
package final class JetStreamLog: ClusterLog, NATSClientOwner, @unchecked Sendable {
  /// A question for records that is open: first how far the stream goes, by its leader, then the records.
  private struct Reading {
    let after: UInt64
    let tag: UInt64
    /// How far the stream goes; nil until its leader has said so.
    var last: UInt64?
    /// When its leader is asked again.
    var askAgain: UInt64?
    var records: [(sequence: UInt64, bytes: [UInt8])] = []
  }

  /// Records that are asked for at once, and their bytes.
  private static let batch = 512
  private static let batchBytes = 8 << 20
  /// After which the leader of the stream is asked again how far it goes, in milliseconds: a question is lost while the
  /// engine elects another one.
  private static let endPatience: UInt64 = 100
  /// What a server has to take of one message, so that the largest commit that the limits allow fits.
  package static let leastPayload = 4 << 20

  private let stream: StreamConfiguration
  private let node: String
  /// Where answers to this process come.
  private let inbox: String
  private weak var owner: (any ClusterLogOwner & SnapshotOwner)?
  /// The snapshots beside the log.
  private(set) var snapshots: JetStreamSnapshots!
  private var client: NATSClient!
  private var live: UInt64 = 0
  private var elections: UInt64 = 0
  private var beats: UInt64 = 0
  private var demand: UInt64 = 0
  private var commands: UInt64 = 0
  private var answers: UInt64 = 0
  private var isOpen = false
  private var isLive = false
  private var reading: Reading?
  private var lastQuestion: UInt64 = 0
  private var maxPayload = 0

  /// - Parameter session: Tells apart the processes of one node.
  init(
    _ stream: StreamConfiguration, _ nats: NATSConfiguration, node: String, session: String,
    owner: any ClusterLogOwner & SnapshotOwner
  ) {
    self.stream = stream
    self.node = node
    self.owner = owner
    inbox = "_INBOX.signal.\(stream.cluster).\(node).\(session)"
    client = NATSClient(nats, owner: self)
    snapshots = JetStreamSnapshots(stream, client, inbox: inbox)
    _ = client.subscribe(inbox + ".*")
    elections = client.subscribe(stream.elections)
    beats = client.subscribe(stream.beats)
    demand = client.subscribe(stream.demand)
    commands = client.subscribe(stream.commands(to: node))
    answers = client.subscribe(stream.answers(to: node))
  }

  /// To be called in each turn.
  package func proceed(at now: UInt64, on loop: isolated EventLoop) -> UInt64 {
    let deadline = client.proceed(at: now, on: loop)
    guard let reading, reading.last == nil else { return deadline }
    if let askAgain = reading.askAgain, now < askAgain { return min(deadline, askAgain) }
    if reading.askAgain != nil { askForEnd(reading.tag) }
    self.reading?.askAgain = now + Self.endPatience
    return min(deadline, now + Self.endPatience)
  }

  package func end(on loop: isolated EventLoop) { client.end(on: loop) }

  /// Breaks the connection and makes no other one, or ends that.
  func cutOff(_ isCutOff: Bool, on loop: isolated EventLoop) { client.cutOff(isCutOff, on: loop) }

  // MARK: Opening

  func connected(maxPayload: Int, on loop: isolated EventLoop) {
    self.maxPayload = maxPayload
    guard maxPayload >= Self.leastPayload else {
      owner?.refused(
        "max_payload of the engine is \(maxPayload), less than the \(Self.leastPayload) that are needed", on: loop)
      return
    }
    client.publish("$JS.API.STREAM.INFO.\(stream.name)", reply: "\(inbox).info", [])
  }

  func disconnected(_ reason: String, on loop: isolated EventLoop) {
    isOpen = false
    reading = nil
    owner?.closed(reason, on: loop)
  }

  func denied(_ reason: String, on loop: isolated EventLoop) { owner?.denied(reason, on: loop) }

  /// The stream has been described, or made.
  private func described(_ payload: [UInt8], on loop: isolated EventLoop) {
    guard let tree = LogRecord.tree(of: payload[...]) else { return }
    if let error = tree.member("error", of: tree.root) {
      let code = tree.member("err_code", of: error).flatMap { tree.uint64($0) }
      let text = tree.member("description", of: error).flatMap { tree.string($0) } ?? "an error"
      // 10058: somebody else has made it meanwhile, otherwise.
      switch code {
      case StreamConfiguration.noSuchStream:
        client.publish("$JS.API.STREAM.CREATE.\(stream.name)", reply: "\(inbox).info", stream.request)
      case 10058: client.publish("$JS.API.STREAM.INFO.\(stream.name)", reply: "\(inbox).info", [])
      case 10008, 10074, 10005, 10028: owner?.closed("the engine is not ready: \(text)", on: loop)
      default: owner?.refused("the stream \(stream.name) cannot be used: \(text)", on: loop)
      }
      return
    }
    if let fault = stream.fault(of: tree) {
      owner?.refused("the stream \(stream.name) \(fault)", on: loop)
      return
    }
    isOpen = true
    // The fields of the request that stores a record.
    owner?.opened(maxRecordBytes: maxPayload - 4096, on: loop)
  }

  /// Asks again for what was not answered; to be called now and then while the log is not open.
  package func retryOpening(on loop: isolated EventLoop) {
    guard client.isConnected, !isOpen, maxPayload >= Self.leastPayload else { return }
    client.publish("$JS.API.STREAM.INFO.\(stream.name)", reply: "\(inbox).info", [])
  }

  package func live(on loop: isolated EventLoop) {
    guard !isLive else { return }
    isLive = true
    live = client.subscribe(stream.live)
  }

  // MARK: Verbs

  package func append(_ record: [UInt8], after sequence: UInt64, tag: UInt64, on loop: isolated EventLoop) {
    client.publish(
      stream.subject, reply: "\(inbox).a\(tag)", header: Array("Nats-Expected-Last-Sequence: \(sequence)\r\n".utf8),
      record)
  }

  package func read(after sequence: UInt64, tag: UInt64, on loop: isolated EventLoop) {
    reading = Reading(after: sequence, tag: tag)
    askForEnd(tag)
  }

  private func askForEnd(_ tag: UInt64) {
    client.publish("$JS.API.STREAM.INFO.\(stream.name)", reply: "\(inbox).e\(tag)", [])
  }

  package func publish(_ beat: Beat, on loop: isolated EventLoop) { client.publish(stream.beats, beat.bytes) }

  /// Tells all nodes what is watched at this one.
  func publish(_ message: DemandMessage) { client.publish(stream.demand, message.bytes) }

  package func request(_ message: [UInt8], to node: String, isReply: Bool, on loop: isolated EventLoop) {
    client.publish(isReply ? stream.answers(to: node) : stream.commands(to: node), message)
  }

  // MARK: Answers

  func received(_ message: NATSMessage, on loop: isolated EventLoop) {
    switch message.subscription {
    case live where isLive:
      if let sequence = message.number("Nats-Sequence") {
        owner?.received(message.payload, sequence: sequence, on: loop)
      }
    case elections:
      retryOpening(on: loop)
      owner?.streamLeaderElected(on: loop)
    case beats: if let beat = Beat(message.payload) { owner?.received(beat, on: loop) }
    case demand: if let told = DemandMessage(message.payload) { owner?.received(told, on: loop) }
    case commands: owner?.received(message.payload, isReply: false, on: loop)
    case answers: owner?.received(message.payload, isReply: true, on: loop)
    default: answered(message, on: loop)
    }
  }

  private func answered(_ message: NATSMessage, on loop: isolated EventLoop) {
    let token = String(decoding: message.subject.dropFirst(inbox.utf8.count + 1), as: UTF8.self)
    if token == "info" {
      // It may have been asked for more than once.
      if isOpen { return }
      // Without an answer of the engine's own: it has no JetStream, or none that can answer now.
      if message.status != nil {
        owner?.closed("the engine has no JetStream for this account, or is not ready", on: loop)
      } else {
        described(message.payload, on: loop)
      }
      return
    }
    if token.first == "s" {
      if let answer = snapshots.answered(token.dropFirst(), message, on: loop) { owner?.received(answer, on: loop) }
      return
    }
    guard let kind = token.first, let tag = UInt64(token.dropFirst()) else { return }
    switch kind {
    case "a": owner?.appended(Self.appendAnswer(message), tag: tag, on: loop)
    case "e": endIsKnown(message, tag: tag, on: loop)
    case "r": recordCame(message, tag: tag, on: loop)
    default: break
    }
  }

  private static func appendAnswer(_ message: NATSMessage) -> AppendAnswer {
    guard message.status == nil, let tree = LogRecord.tree(of: message.payload[...]),
      tree.member("error", of: tree.root) == nil,
      let sequence = tree.member("seq", of: tree.root).flatMap({ tree.uint64($0) })
    else { return .failed }
    return .stored(sequence)
  }

  /// The leader of the stream has said how far it goes.
  private func endIsKnown(_ message: NATSMessage, tag: UInt64, on loop: isolated EventLoop) {
    guard var reading, reading.tag == tag, reading.last == nil else { return }
    let tree = message.status == nil ? LogRecord.tree(of: message.payload[...]) : nil
    if let error = tree.flatMap({ $0.member("error", of: $0.root) }), let tree,
      tree.member("err_code", of: error).flatMap({ tree.uint64($0) }) == StreamConfiguration.noSuchStream
    {
      // Somebody has removed it; where it is there after all this changes nothing.
      client.publish("$JS.API.STREAM.CREATE.\(stream.name)", reply: "\(inbox).info", stream.request)
      return fail(on: loop)
    }
    guard let tree, let state = tree.member("state", of: tree.root),
      let first = tree.member("first_seq", of: state).flatMap({ tree.uint64($0) }),
      let last = tree.member("last_seq", of: state).flatMap({ tree.uint64($0) })
    else { return fail(on: loop) }
    reading.last = last
    self.reading = reading
    if last <= reading.after { return finish(on: loop) }
    if first > reading.after + 1 {
      self.reading = nil
      owner?.read(.purged(first: first), tag: tag, on: loop)
      return
    }
    // By naming no subject, which is ten times as fast.
    let count = min(UInt64(Self.batch), last - reading.after)
    client.publish(
      "$JS.API.DIRECT.GET.\(stream.name)", reply: "\(inbox).r\(tag)",
      Array(
        #"{"seq":\#(reading.after + 1),"next_by_subj":">","batch":\#(count),"max_bytes":\#(Self.batchBytes)}"#.utf8))
  }

  /// One of the records, or their end.
  private func recordCame(_ message: NATSMessage, tag: UInt64, on loop: isolated EventLoop) {
    guard var reading, reading.tag == tag else { return }
    if let status = message.status {
      // 204 is the end of a batch, 404 that this server does not have it yet.
      if status == 204 || status == 404 { finish(on: loop) } else { fail(on: loop) }
      return
    }
    guard let sequence = message.number("Nats-Sequence") else { return }
    guard sequence == reading.after + UInt64(reading.records.count) + 1 else {
      // Another server answers, which is not as far: what came so far is right.
      return finish(on: loop)
    }
    reading.records.append((sequence, message.payload))
    self.reading = reading
  }

  private func finish(on loop: isolated EventLoop) {
    guard let reading, let last = reading.last else { return }
    self.reading = nil
    owner?.read(.records(reading.records, last: last), tag: reading.tag, on: loop)
  }

  private func fail(on loop: isolated EventLoop) {
    guard let reading else { return }
    self.reading = nil
    owner?.read(.failed, tag: reading.tag, on: loop)
  }
}
