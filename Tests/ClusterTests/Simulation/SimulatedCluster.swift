// SPDX-License-Identifier: MIT
import SignalCluster

/// Nodes, a stream and what is between them, in one sequence of events that follows from a seed.
///
/// Appends, acknowledgements and live records are lost, delayed, doubled and overtake each other; beats are lost; nodes
/// stop for a while and go on as if nothing had been, or begin anew; their clocks differ; old records appear again.
struct SimulatedCluster {
  /// What is on its way.
  enum Event {
    case append(from: Int, incarnation: Int, record: [UInt8], after: UInt64, tag: UInt64)
    case appended(to: Int, incarnation: Int, AppendAnswer, tag: UInt64)
    case read(from: Int, incarnation: Int, after: UInt64, tag: UInt64)
    case answer(to: Int, incarnation: Int, ReadAnswer, tag: UInt64)
    case live(to: Int, incarnation: Int, sequence: UInt64, [UInt8])
    case beat(to: Int, incarnation: Int, Beat)
    case streamLeaderElected(to: Int)
    case tick(of: Int)
    case write
    case fault
    case loss(LossEvent)
  }

  var nodes: [SimulatedNode] = []
  var stream = SimulatedStream()
  var now: UInt64 = 0
  var hasDiverged = false
  /// All operations that were ever given to a node, and those acknowledged by nodes that are gone.
  var written = 0
  var acknowledged: Set<String> = []
  var dropped: Set<String> = []
  var incarnations: [Int] = []
  var events: [(time: UInt64, order: UInt64, event: Event)] = []
  var order: UInt64 = 0
  var random: SeededGenerator
  let faultsEnd: UInt64
  var streamPausedUntil: UInt64 = 0
  /// The share of messages that are lost, in thousandths.
  let loss: UInt64
  /// What the stream loses, if anything, and what is known of it.
  var lossPlan: LossPlan?
  /// The snapshots by which nodes restart the log, which are not complete.
  var restarts: [Int: SimulatedStream.Snapshot] = [:]
  var history = ToldHistory()

  init(seed: UInt64, nodes count: Int, milliseconds: UInt64, losing plan: LossPlan? = nil) {
    lossPlan = plan
    random = SeededGenerator(seed: seed)
    faultsEnd = milliseconds
    loss = random.number(below: 80)
    for index in 0..<count {
      incarnations.append(0)
      nodes.append(makeNode(index))
    }
    for index in 0..<count { begin(index) }
    schedule(.write, in: 500)
    schedule(.fault, in: 700)
    if let plan { beginLosses(plan) }
  }

  mutating func makeNode(_ index: Int) -> SimulatedNode {
    SimulatedNode(
      ["a", "b", "c", "d", "e"][index], session: incarnations[index] * 10 + index, seed: random.next(),
      offset: random.number(below: 100_000), rate: 980 + random.number(below: 41),
      isEngineSynced: lossPlan?.isEngineSynced ?? true)
  }

  mutating func begin(_ index: Int) {
    if let newest = stream.snapshots.last { nodes[index].machine.knows(snapshot: newest.sequence) }
    nodes[index].machine.start(at: nodes[index].clock(now))
    perform(index)
    schedule(.tick(of: index), in: 1)
  }

  // MARK: Running

  /// Runs faults and writes, and then until everything is quiet.
  mutating func run() {
    while let next = takeNext() {
      now = next.time
      handle(next.event)
      if now > faultsEnd + 30_000 { return }
    }
  }

  mutating func schedule(_ event: Event, in delay: UInt64) {
    order += 1
    let entry = (time: now + delay, order: order, event: event)
    // A binary heap by time, then by order.
    events.append(entry)
    var child = events.count - 1
    while child > 0 {
      let parent = (child - 1) / 2
      guard isBefore(child, parent) else { break }
      events.swapAt(child, parent)
      child = parent
    }
  }

  func isBefore(_ a: Int, _ b: Int) -> Bool {
    (events[a].time, events[a].order) < (events[b].time, events[b].order)
  }

  mutating func takeNext() -> (time: UInt64, order: UInt64, event: Event)? {
    guard let first = events.first else { return nil }
    let last = events.removeLast()
    guard !events.isEmpty else { return first }
    events[0] = last
    var parent = 0
    while true {
      var least = parent
      for child in [2 * parent + 1, 2 * parent + 2] where child < events.count && isBefore(child, least) {
        least = child
      }
      if least == parent { return first }
      events.swapAt(parent, least)
      parent = least
    }
  }

  var areFaultsOver: Bool { now >= faultsEnd }

  mutating func isLost() -> Bool { !areFaultsOver && random.number(below: 1000) < loss }

  /// Usually short, seldom very long.
  mutating func delay() -> UInt64 {
    if !areFaultsOver, random.number(below: 100) == 0 { return random.number(below: 3000) }
    return 1 + random.number(below: 15)
  }

  mutating func handle(_ event: Event) {
    switch event {
    case .append(let from, let incarnation, let record, let after, let tag):
      if postponeForStream(event) || isOfEarlierLife(from, incarnation) { return }
      let stored = stream.append(record, after: after)
      if let stored { publish(stored, record) }
      if isLost() { return }
      schedule(
        .appended(to: from, incarnation: incarnation, stored.map { .stored($0) } ?? .failed, tag: tag), in: delay())
    case .read(let from, let incarnation, let after, let tag):
      if postponeForStream(event) { return }
      schedule(
        .answer(to: from, incarnation: incarnation, stream.answer(after: after, atMost: 8), tag: tag), in: delay())
    case .appended(let to, let incarnation, let answer, let tag):
      guard incarnation == incarnations[to], !postpone(event, of: to) else { return }
      nodes[to].machine.appended(answer, tag: tag, at: nodes[to].clock(now))
      perform(to)
    case .answer(let to, let incarnation, let answer, let tag):
      guard incarnation == incarnations[to], !postpone(event, of: to) else { return }
      nodes[to].machine.read(answer, tag: tag, at: nodes[to].clock(now))
      perform(to)
    case .live(let to, let incarnation, let sequence, let record):
      if postpone(event, of: to) || isOfEarlierLife(to, incarnation) { return }
      nodes[to].machine.received(sequence, record, at: nodes[to].clock(now))
      perform(to)
    case .beat(let to, let incarnation, let beat):
      if postpone(event, of: to) || isOfEarlierLife(to, incarnation) { return }
      nodes[to].machine.received(beat, at: nodes[to].clock(now))
      nodes[to].heard(beat)
      perform(to)
    case .streamLeaderElected(let to):
      if postpone(event, of: to) { return }
      nodes[to].machine.streamLeaderElected(at: nodes[to].clock(now))
      perform(to)
    case .tick(let node):
      if postpone(event, of: node) { return }
      nodes[node].machine.tick(at: nodes[node].clock(now))
      perform(node)
      let next = nodes[node].moment(of: nodes[node].machine.deadline)
      schedule(.tick(of: node), in: max(1, min(next, now + 1000) - min(now, next)))
    case .write: write()
    case .fault: fault()
    case .loss(let event): handle(event)
    }
  }

  private mutating func send(_ sequence: UInt64, _ record: [UInt8], to index: Int) {
    schedule(.live(to: index, incarnation: incarnations[index], sequence: sequence, record), in: delay())
  }

  /// Whether a message is from or to a process that is gone, where those who begin anew have to be all who know: what is
  /// still under way would tell them more.
  private func isOfEarlierLife(_ index: Int, _ incarnation: Int) -> Bool {
    lossPlan?.what == .nodesBeginAnew && incarnation != incarnations[index]
  }

  /// Whether the node is stopped: then it happens when the node goes on.
  mutating func postpone(_ event: Event, of node: Int) -> Bool {
    guard nodes[node].pausedUntil > now else { return false }
    schedule(event, in: nodes[node].pausedUntil - now)
    return true
  }

  /// Whether the stream does nothing for a while: then it happens when it goes on.
  mutating func postponeForStream(_ event: Event) -> Bool {
    guard streamPausedUntil > now else { return false }
    schedule(event, in: streamPausedUntil - now + random.number(below: 5))
    return true
  }

  mutating func publish(_ sequence: UInt64, _ record: [UInt8]) {
    for index in nodes.indices {
      if !isLost() { send(sequence, record, to: index) }
      if !areFaultsOver, random.number(below: 50) == 0 {
        send(sequence, record, to: index)
      }
    }
  }

  mutating func perform(_ index: Int) {
    let node = nodes[index]
    node.propose(at: now)
    for action in node.machine.takeActions() {
      switch action {
      case .append(let record, let after, let tag):
        let event = Event.append(
          from: index, incarnation: incarnations[index], record: record.bytes, after: after, tag: tag)
        if !isLost() { schedule(event, in: delay()) }
        if !areFaultsOver, random.number(below: 50) == 0 { schedule(event, in: delay()) }
      case .read(let after, let tag):
        if !isLost() {
          schedule(.read(from: index, incarnation: incarnations[index], after: after, tag: tag), in: delay())
        }
      case .publish(let beat):
        for other in nodes.indices where other != index && !isLost() {
          schedule(.beat(to: other, incarnation: incarnations[other], beat), in: delay())
        }
      case .adopt(let record): node.adopt(record)
      case .committed(let record): node.committed(record, at: now)
      case .follow(let head):
        node.follow()
        node.take(head.epoch)
      case .lead(let head):
        node.take(head.epoch)
        node.lead()
      case .caughtUp: break
      case .load(let sequence) where lossPlan != nil && !node.isServing:
        schedule(.loss(.load(index, incarnation: incarnations[index], behind: sequence)), in: delay())
      case .restart(let position):
        schedule(.loss(.written(index, incarnation: incarnations[index], node.snapshot(at: position))), in: delay() * 4)
      case .finishRestart(let end):
        schedule(.loss(.complete(index, incarnation: incarnations[index], before: end)), in: delay())
      case .abandonRestart: restarts[index] = nil
      case .load, .diverged:
        node.diverge()
        hasDiverged = true
      }
    }
    history.note(node)
    if lossPlan != nil, node.hasDiverged {
      schedule(.loss(.restart(index, incarnation: incarnations[index])), in: 100 + random.number(below: 300))
      return node.machine.stop()
    }
    // Not before, as what is committed may not have been taken yet.
    node.stepBackIfStuck(at: now)
    acknowledged.formUnion(node.acknowledged.suffix(64))
    if node.isLeading, node.machine.canPropose, !node.queue.isEmpty { perform(index) }
  }

  // MARK: Clients and faults

  /// Somebody writes at a node that believes to lead.
  mutating func write() {
    for index in nodes.indices where nodes[index].isLeading && nodes[index].pausedUntil <= now {
      for _ in 0..<1 + random.number(below: 5) {
        written += 1
        nodes[index].write("o\(written)")
      }
      perform(index)
    }
    if !areFaultsOver { schedule(.write, in: 1 + random.number(below: 60)) }
  }

  mutating func fault() {
    if areFaultsOver || lossPlan?.areFaultsOver(at: now) == true { return }
    let index = Int(random.number(below: UInt64(nodes.count)))
    let leader = nodes.firstIndex { $0.isLeading } ?? index
    switch random.number(below: 9) {
    // Stopped for longer than others wait: two nodes then believe to lead.
    case 0, 1: nodes[leader].pausedUntil = now + random.number(below: 5000)
    case 2: nodes[index].pausedUntil = now + random.number(below: 5000)
    case 3: restart(leader)
    case 4: restart(index)
    // A record of before appears again, as no engine should let it.
    case 5: if lossPlan == nil, let old = stream.records.randomElement(using: &random) { repeatRecord(old) }
    case 6:
      // Another server leads it then, or it was only slow.
      let pause = random.number(below: 6000)
      streamPausedUntil = now + pause
      if random.number(below: 2) == 0 {
        for node in nodes.indices where !isLost() { schedule(.streamLeaderElected(to: node), in: pause + delay()) }
      }
    default: break
    }
    schedule(.fault, in: 100 + random.number(below: 3000))
  }

  mutating func repeatRecord(_ record: [UInt8]) {
    stream.append(unconditionally: record)
    publish(stream.last, record)
  }

  /// The process of a node ends, and another one begins, which knows nothing.
  mutating func restart(_ index: Int) {
    acknowledged.formUnion(nodes[index].acknowledged)
    dropped.formUnion(nodes[index].dropped)
    incarnations[index] += 1
    restarts[index] = nil
    nodes[index] = makeNode(index)
    begin(index)
  }
}
