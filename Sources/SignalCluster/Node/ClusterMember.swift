// SPDX-License-Identifier: MIT

internal import JSON
package import SignalHTTP
package import SignalStore
internal import Synchronization

/// A node of a cluster: joins its ``ClusterMachine`` with a log, a store and those who serve its clients.
///
/// While it follows, records from the log are applied to the store, and commands of clients are forwarded. While it leads, the
/// store judges ahead of what is committed; its records become entries of the log, and what is told of them is held back
/// until they are committed (``PropertyStore/announce(through:)``).
///
// Unchecked: everything but `shared` is touched by its loop alone, which the compiler checks by the parameter `loop`.
package final class ClusterMember: ClusterNode, ClusterLogOwner, SnapshotOwner, LoopWork, @unchecked Sendable {
  /// What others may read at any time, and what they leave for the loop.
  struct Shared {
    var status = ClusterStatus()
    var commands: [(ForwardedCommand, @Sendable (ForwardedOutcome) -> Void)] = []
    var executor: (any ForwardedExecutor)?
    /// What clients here watch; until there can be some, nothing.
    var watchers = Watchers()
    /// Clients who wait to know who watches at other nodes.
    var watcherWaits: [@Sendable () -> Void] = []
    var store: PropertyStore?
    var whenReady: (@Sendable (PropertyStore) -> Void)?
    var isAskedToStepDown = false
  }

  let loop: EventLoop
  let configuration: ClusterConfiguration
  let session: String
  let observer: @Sendable (ClusterEvent) -> Void
  let machine: ClusterMachine
  var log: JetStreamLog!
  let sink: ClusterSink
  let shared = Mutex(Shared())
  private let leads = Atomic(false)

  /// The store, once there is a leader to follow, or it is this node; before that its replica.
  var store: PropertyStore?
  var replica: Replica
  /// What is committed, while this node leads: the store is ahead of it.
  var committed: Replica?
  /// Entries of the log that have been applied: records are judged before those before them are.
  var applied: UInt64 = 0
  /// Entries of the log before this node began to lead.
  var leadBase: UInt64 = 0
  /// Records of the store that have been proposed and are not committed, and those that have not been proposed.
  var proposed: [ClusterSink.Item] = []
  var ready: [ClusterSink.Item] = []
  var readyIndex = 0
  /// When each of the records in flight was proposed, and how long all before them took.
  var proposalTimes: [ContinuousClock.Instant] = []
  /// Who waits, while this node leads, for a record that was proposed after they have asked, and what they are answered then;
  /// and those who wait for each of the records in flight.
  var barriers: [(CommandName, ForwardedAnswer)] = []
  var proposedBarriers: [[(CommandName, ForwardedAnswer)]] = []
  /// Clients of this node that wait for a barrier, and whether one is under way, for those who came before it.
  var barrierAnswers: [@Sendable (ForwardedOutcome) -> Void] = []
  var isBarrierOpen = false
  var commits = DurationCounts()
  var batches = 0
  var batchEntries = 0
  /// Records of the log that wait until everybody knows what was taken back.
  var postponed: [LogRecord] = []
  var isSettling = false
  /// The claim by which this node leads, when everybody knows it.
  var postponedLead: ClaimHead?
  var forwarding: Forwarding
  var serving = Serving()
  var isOpen = false
  /// How many connections to the engine there have been, and how many the leader has had.
  private var connections: UInt64 = 0
  private var leaderConnections: UInt64 = 0
  /// What was told last of trouble with the engine.
  private var lastTrouble: ClusterEvent?
  /// What the engine does not allow, as far as it was told; until there is another connection.
  private var denials: Set<String> = []
  private static let mostDenials = 16
  var isStarted = false
  var maxRecordBytes = 1 << 20
  /// When the leader was heard of last, and how its clock differs from this one, in milliseconds.
  var lastLeaderBeat: UInt64 = 0
  var leaderHeard = false
  var clockDifference: Int64 = 0
  var lastCaughtUp: UInt64 = 0
  /// While this node leads: when something was confirmed last, or nothing was to be.
  var lastProgress: UInt64 = 0
  /// When each node was heard of last, by name.
  var heard: [String: UInt64] = [:]
  /// Other processes with the name of this node.
  var namesakes = Namesakes()
  /// When this process began to join.
  var joined: UInt64 = 0
  /// Who holds something, and who of them is gone.
  var presence: Presence
  var snapshots = SnapshotWork()
  var demand: Demand
  /// What has been told to others.
  var toldWatchers: Watchers?
  var retryOpening: UInt64 = 0
  /// After which the engine is asked again for the stream, in milliseconds: a question is lost while it elects a leader.
  private static let openingPause: UInt64 = 100
  /// The same where the stream cannot be used.
  private static let refusalPause: UInt64 = 1000
  var isEnding = false
  /// Until when it tries to let another node lead; nil while it does not.
  var stepDownEnd: UInt64?
  var whenEnded: (@Sendable () -> Void)?

  /// Makes a node, which begins with ``start(_:)``.
  ///
  /// - Parameters:
  ///   - session: A name that no earlier process of the node had.
  ///   - observer: Called on the loop of the node.
  package init(
    _ configuration: ClusterConfiguration, session: String, seed: UInt64,
    observer: @escaping @Sendable (ClusterEvent) -> Void
  ) throws(SystemError) {
    loop = try EventLoop.forClient(label: "signal.cluster")
    self.configuration = configuration
    self.session = session
    self.observer = observer
    replica = Replica(epoch: Epoch.random(), limits: configuration.store)
    let identity = SessionEpoch(configuration.isEngineSynced)
    machine = ClusterMachine(
      node: configuration.node, session: session, canLead: configuration.isMember, times: configuration.times,
      key: ChainKey(configuration.secret), seed: seed, epoch: { identity.choose($0) })
    let home = loop
    sink = ClusterSink(limit: configuration.queueBytes) { home.needTurnSoon() }
    forwarding = Forwarding(name: "\(configuration.node).\(session)")
    presence = Presence(name: forwarding.name, timeout: configuration.times.node)
    demand = Demand(node: configuration.node, session: session, silence: configuration.times.node)
    sessionEpoch = identity
  }

  let sessionEpoch: SessionEpoch

  /// Joins the cluster; `ready` is called with the store once it can be served.
  package func start(_ ready: @escaping @Sendable (PropertyStore) -> Void) {
    shared.withLock { $0.whenReady = ready }
    loop.submit { [self] loop in
      log = JetStreamLog(
        StreamConfiguration(
          cluster: configuration.name, replicas: configuration.replicas, bytes: configuration.logBytes),
        configuration.nats, node: configuration.node, session: session, owner: self)
      joined = loop.milliseconds
      log.live(on: loop)
      loop.add(self)
    }
  }

  /// Lets another node lead, and leaves; `done` is called when what was decided here is committed, or after a while.
  package func end(_ done: @escaping @Sendable () -> Void) {
    loop.submit { [self] loop in
      isEnding = true
      endDeadline = loop.milliseconds + 2000
      whenEnded = done
    }
  }

  var endDeadline: UInt64 = .max

  /// For tests: what a node feels whose connection to the engine is gone, and then there again.
  package func cutOff() { loop.submit { [self] loop in log.cutOff(true, on: loop) } }
  package func reconnect() { loop.submit { [self] loop in log.cutOff(false, on: loop) } }

  // MARK: For those who serve clients

  package var isLeading: Bool { leads.load(ordering: .acquiring) }

  package func forward(_ command: ForwardedCommand, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void) {
    let isFirst = shared.withLock { shared in
      shared.commands.append((command, answer))
      return shared.commands.count == 1
    }
    if isFirst { loop.needTurnSoon() }
  }

  package func serve(by executor: any ForwardedExecutor, watchers: Watchers) {
    watchers.setComplete(false)
    shared.withLock { ($0.executor, $0.watchers) = (executor, watchers) }
  }

  package func awaitWatchers(_ done: @escaping @Sendable () -> Void) {
    shared.withLock { $0.watcherWaits.append(done) }
    loop.needTurnSoon()
  }

  package func stepDown() -> Bool {
    guard isLeading else { return false }
    shared.withLock { $0.isAskedToStepDown = true }
    loop.needTurnSoon()
    return true
  }

  package var status: ClusterStatus { shared.withLock { $0.status } }

  // MARK: Turns

  package func turnEnds(at now: UInt64, on loop: isolated EventLoop) -> UInt64 {
    if machine.role != .diverged {
      machine.tick(at: now)
      perform(at: now, on: loop)
      propose(at: now, on: loop)
      giveUp(at: now, on: loop)
      forward(at: now, on: loop)
      proposeBarriers(at: now, on: loop)
      sendAnswers(on: loop)
      releaseGone(at: now)
      tendSnapshots(at: now, on: loop)
      tellDemand(at: now, on: loop)
    }
    stepDownIfAsked(at: now, on: loop)
    endIfDone(at: now, on: loop)
    if !isOpen, now >= retryOpening {
      retryOpening = now + Self.openingPause
      log.retryOpening(on: loop)
    }
    tell(at: now)
    let next = log.proceed(at: now, on: loop)
    if machine.role == .diverged { return next }
    return min(
      next, isLeading && isOpen ? presence.nextLook : .max, isOpen ? snapshots.deadline : .max, demand.deadline,
      machine.deadline, forwarding.deadline(canSend: canForward(at: now)), isOpen ? .max : retryOpening,
      isEnding || stepDownEnd != nil ? now + 20 : .max)
  }

  /// Nothing more is decided; whether what was is confirmed.
  private func isQuiet() -> Bool {
    sink.setStuck(true)
    collect()
    return machine.isIdle && readyIndex == ready.count
  }

  private func stepDownIfAsked(at now: UInt64, on loop: isolated EventLoop) {
    let isAsked = shared.withLock { shared in
      defer { shared.isAskedToStepDown = false }
      return shared.isAskedToStepDown
    }
    if isAsked, isLeading { stepDownEnd = now + configuration.writeTimeout }
    guard let end = stepDownEnd else { return }
    guard isLeading, now < end else { return stepDownEnd = nil }
    guard isQuiet() else { return }
    stepDownEnd = nil
    machine.resign(at: now, for: 4 * configuration.times.takeover)
    leadNoMore(on: loop)
    perform(at: now, on: loop)
  }

  private func endIfDone(at now: UInt64, on loop: isolated EventLoop) {
    guard isEnding, let whenEnded else { return }
    if leads.load(ordering: .acquiring), now < endDeadline {
      guard isQuiet() else { return }
    }
    self.whenEnded = nil
    if machine.isIdle {
      machine.resign(at: now)
      perform(at: now, on: loop)
    }
    leads.store(false, ordering: .releasing)
    _ = log.proceed(at: now, on: loop)
    log.end(on: loop)
    whenEnded()
  }

  /// Does what the machine wants done.
  func perform(at now: UInt64, on loop: isolated EventLoop) {
    for action in machine.takeActions() {
      switch action {
      case .append(let record, let after, let tag): log.append(record.bytes, after: after, tag: tag, on: loop)
      case .read(let after, let tag): log.read(after: after, tag: tag, on: loop)
      case .publish(var beat):
        beat.time = .now
        beat.age = now - joined
        beat.holders = presence.own
        beat.connections = connections
        demand.complete(&beat)
        log.publish(beat, on: loop)
      case .adopt(let record): adopt(record, on: loop)
      case .committed(let record): commit(record, on: loop)
      case .follow(let head): follow(head, at: now, on: loop)
      case .lead(let head): lead(head, at: now, on: loop)
      case .caughtUp: lastCaughtUp = now
      case .load(let sequence):
        guard store == nil else { return end("the log does not reach back to the position of this node") }
        snapshots.load(behind: sequence)
      case .restart(let position): restart(at: position, on: loop)
      case .finishRestart(let end): finishRestart(before: end, on: loop)
      case .abandonRestart: abandonRestart(at: now, on: loop)
      case .diverged where machine.hasOtherSecret:
        misconfigured(
          "the records of the others do not follow from each other: cluster.secret-file probably has another secret here"
        )
      case .diverged where machine.newerVersion != nil:
        misconfigured(
          "the log has records of version \(machine.newerVersion ?? 0), and this program reads up to "
            + "\(LogRecord.version): this node has to be upgraded")
      case .diverged: end("the log says something else than what this node has read")
      }
    }
  }

  /// Everything here is worthless: whoever runs the process ends it.
  func end(_ reason: String) {
    leads.store(false, ordering: .releasing)
    sink.follow()
    observer(.ended(reason))
  }

  /// This node has no place in the cluster: whoever runs the process ends it, and leaves it so.
  private func misconfigured(_ reason: String) {
    machine.stop()
    leads.store(false, ordering: .releasing)
    sink.follow()
    observer(.misconfigured(reason))
  }

  // MARK: Log

  package func opened(maxRecordBytes: Int, on loop: isolated EventLoop) {
    isOpen = true
    connections += 1
    lastTrouble = nil
    denials = []
    // What others have said meanwhile was not heard.
    presence.begin(at: loop.milliseconds)
    demand.begin(at: loop.milliseconds)
    forwarding.sendAgain()
    serving.sendAgain()
    self.maxRecordBytes = maxRecordBytes
    observer(.engineConnected)
    let now = loop.milliseconds
    // It starts when it is known which snapshots there are: one that is further than the log shows that this was cut.
    guard isStarted else { return snapshots.abandon(until: now) }
    machine.reconnected(at: now)
    perform(at: now, on: loop)
  }

  package func closed(_ reason: String, on loop: isolated EventLoop) {
    isOpen = false
    demand.end()
    tell(.engineLost(reason))
  }

  package func refused(_ reason: String, on loop: isolated EventLoop) {
    isOpen = false
    retryOpening = loop.milliseconds + Self.refusalPause
    tell(.engineRefused(reason))
  }

  package func denied(_ reason: String, on loop: isolated EventLoop) {
    guard denials.count < Self.mostDenials, denials.insert(reason).inserted else { return }
    observer(.engineRefused(reason))
  }

  /// Tells of trouble with the engine, once until something else happens.
  func tell(_ event: ClusterEvent) {
    if lastTrouble != event { observer(event) }
    lastTrouble = event
  }

  package func appended(_ answer: AppendAnswer, tag: UInt64, on loop: isolated EventLoop) {
    machine.appended(answer, tag: tag, at: loop.milliseconds)
    perform(at: loop.milliseconds, on: loop)
  }

  package func read(_ answer: ReadAnswer, tag: UInt64, on loop: isolated EventLoop) {
    machine.read(answer, tag: tag, at: loop.milliseconds)
    perform(at: loop.milliseconds, on: loop)
  }

  package func received(_ record: [UInt8], sequence: UInt64, on loop: isolated EventLoop) {
    guard isStarted else { return }
    machine.received(sequence, record, at: loop.milliseconds)
    perform(at: loop.milliseconds, on: loop)
  }

  package func streamLeaderElected(on loop: isolated EventLoop) {
    machine.streamLeaderElected(at: loop.milliseconds)
    perform(at: loop.milliseconds, on: loop)
  }

  package func received(_ beat: Beat, on loop: isolated EventLoop) {
    let now = loop.milliseconds
    heard[beat.node] = now
    presence.heard(beat.holders, at: now)
    guard isStarted, beat.session != session else { return }
    if beat.node == configuration.node, !isEnding { received(namesake: beat, at: now) }
    demand.received(beat, at: now)
    machine.received(beat, at: now)
    perform(at: now, on: loop)
    if beat.isLeading, beat.term == machine.position.term {
      lastLeaderBeat = now
      leaderHeard = true
      clockDifference = Timestamp.now.milliseconds - beat.time.milliseconds
      if beat.connections != leaderConnections { forwarding.sendAgain() }
      leaderConnections = beat.connections
      if machine.role == .following { openStore() }
    }
  }

  /// Another process has the name of this node, so that others take the two for one: the later one ends.
  private func received(namesake beat: Beat, at now: UInt64) {
    switch namesakes.heard(beat, by: session, joined: joined, at: now, beats: configuration.times.beat) {
    case .nothing: return
    case .isEarlier:
      misconfigured("another process has the name of this node, '\(beat.node)': cluster.node has to differ")
    case .isLater: observer(.namesake(session: beat.session))
    }
  }

  // MARK: Shared

  func setLeading(_ isLeading: Bool) { leads.store(isLeading, ordering: .releasing) }

  /// What others are told.
  private func tell(at now: UInt64) {
    let role = machine.role
    let isKnown = role == .leading ? !machine.isStuck(at: now) : leaderHeard && now < lastLeaderBeat + 2000
    if role == .leading { sink.setStuck(isEnding || stepDownEnd != nil || machine.isStuck(at: now)) }
    if machine.isCaughtUp, isOpen { lastCaughtUp = now }
    heard[configuration.node] = now
    let silence = configuration.times.node
    shared.withLock { shared in
      var status = ClusterStatus()
      status.cluster = configuration.name
      status.node = configuration.node
      status.role = "\(role)"
      status.term = machine.position.term
      status.leader = isKnown ? machine.position.leader : ""
      status.isWritable = isKnown && isOpen
      status.isCaughtUp = store != nil && role != .diverged && (!isOpen || now < lastCaughtUp + 5000)
      status.hasEngine = isOpen
      status.sequence = machine.position.sequence
      status.lag = Double(now - min(now, lastCaughtUp)) / 1000
      status.staleRecords = machine.counts.stale
      status.gaps = machine.counts.gaps
      status.takeovers = machine.counts.takeovers
      status.openCommands = forwarding.count
      status.hasDiverged = role == .diverged
      status.revision = machine.position.revision
      status.clockSkew = role == .leading ? 0 : clockDifference
      (status.commits, status.batches, status.batchEntries) = (commits, batches, batchEntries)
      status.members = heard.filter { now < $0.value + silence }.keys.sorted()
      shared.status = status
    }
  }
}

/// Chooses the epoch of claims: that of the log, as long as nothing can have been lost.
///
// Unchecked: the machine and the member use it on one loop.
final class SessionEpoch: @unchecked Sendable {
  /// Whether the log keeps everything, or a node has lived since the last record.
  private var isTrusted: Bool

  init(_ isTrusted: Bool) { self.isTrusted = isTrusted }

  func trust() { isTrusted = true }

  func choose(_ position: LogPosition) -> Epoch {
    if isTrusted, !position.isFenced, let epoch = position.epoch { return epoch }
    return .random()
  }
}
