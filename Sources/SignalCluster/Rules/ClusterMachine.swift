// SPDX-License-Identifier: MIT

package import SignalStore

/// One node of a cluster: who leads, what counts, what is committed.
///
///     starting ──read to the end──▶ following ──silence──▶ claiming ──own claim counts──▶ leading
///                                       ▲                      │                            │
///                                       └──another claim counts, or it was in vain──────────┴
///
/// Deterministic: it has no clock, no thread and no connection. What happens is told to it together with the time in
/// milliseconds, and what it wants done it appends to ``takeActions()``. All nodes read the same log and judge each record
/// by ``LogPosition``, so that a node that wrongly believes to lead, or to have been lost, costs time and nothing else:
///
/// 1. What a leader proposes is appended on the condition that it follows the last record that the leader knows, and is
///    committed when that is acknowledged, or read back, after all before it.
/// 2. Without an acknowledgement the leader reads to the end, and appends what is not there again, byte for byte: a
///    second copy never counts.
/// 3. Whoever has heard nothing of a leader for a while reads to the end and claims the next term.
package final class ClusterMachine {
  package enum Role: Sendable, Equatable {
    case starting, following, claiming, leading
    /// Needs a snapshot.
    case behind
    /// Does nothing any more.
    case diverged, stopped
  }

  /// An own record that has been appended and is not committed.
  struct Flight {
    let record: LogRecord
    var tag: UInt64
    /// The sequence that it will have.
    var sequence: UInt64
    var isAcknowledged = false
    var since: UInt64
  }

  /// A question for records that is open.
  struct Reading {
    let tag: UInt64
    let after: UInt64
    let since: UInt64
    /// What the first record of the answer has to be, if anything.
    var anchor: Anchor?
  }

  package let node: String
  package let session: String
  package let times: ClusterTimes
  /// Whether it may lead at all.
  package private(set) var canLead: Bool
  let key: ChainKey
  package internal(set) var role = Role.starting
  package internal(set) var position: LogPosition
  /// What the stream expects next, and what the next record says, when all in flight are committed.
  var ahead: LogPosition
  var flights: [Flight] = []
  /// Whether nothing is appended until the log has been read.
  var isRecovering = false
  /// The own claim that is waited for.
  var claim: Flight?
  /// The last own claim, which may still come to count when it is not waited for any more.
  var lastClaim: [UInt8] = []
  /// Chooses the epoch of a claim.
  let epoch: (LogPosition) -> Epoch

  var reading: Reading?
  /// The last sequence that is known to exist.
  var known: UInt64 = 0
  /// Records that came before those before them were read.
  var waiting = WaitingRecords()
  /// When it is asked again for what was not there.
  var readAgain: UInt64 = .max
  /// Batches behind a missing one, since the last record that counts.
  var holes = 0
  /// Whether a record of somebody else has followed from what was read before, which shows that both have one secret.
  var isProven = false
  /// Whether it has diverged before that: it probably has another secret than the others.
  package internal(set) var hasOtherSecret = false
  /// The version of a record that follows from what was read and cannot be read here: the program is too old.
  package internal(set) var newerVersion: UInt64?
  /// What is known of records that the stream has lost.
  var loss = Loss()
  /// The other nodes that have been heard of lately, by their processes.
  var others: [String: (beat: Beat, at: UInt64)] = [:]
  /// The last sequence of the newest snapshot that is complete.
  var newestSnapshot: UInt64 = 0
  /// The last record that counted, by which it is checked that the stream still has it.
  var anchor: Anchor?
  /// When that is checked next.
  var nextCheck: UInt64 = .max

  var lastTag: UInt64 = 0
  /// When the leader is missed.
  var patience: UInt64 = .max
  var nextBeat: UInt64 = 0
  var random: SeededGenerator
  var actions: [ClusterAction] = []
  /// Records that did not count, holes, and takeovers of this node.
  package internal(set) var counts = Counts()

  package struct Counts: Sendable, Equatable {
    package var stale: UInt64 = 0
    package var gaps: UInt64 = 0
    package var takeovers: UInt64 = 0
    package var recoveries: UInt64 = 0
  }

  /// - Parameters:
  ///   - session: A name that no earlier process of the node had.
  ///   - position: Where a snapshot ends, or the beginning.
  ///   - seed: Of its random numbers.
  ///   - epoch: Chooses the epoch of a claim, from the position at which it is made.
  package init(
    node: String, session: String, canLead: Bool = true, times: ClusterTimes = ClusterTimes(), key: ChainKey,
    position: LogPosition = LogPosition(), seed: UInt64, epoch: @escaping (LogPosition) -> Epoch
  ) {
    self.node = node
    self.session = session
    self.canLead = canLead
    self.times = times
    self.key = key
    self.position = position
    self.epoch = epoch
    ahead = position
    random = SeededGenerator(seed: seed)
  }

  /// Takes what it wants done.
  package func takeActions() -> [ClusterAction] {
    defer { actions.removeAll(keepingCapacity: true) }
    return actions
  }

  /// Begins: reads what there is.
  package func start(at now: UInt64) { read(at: now) }

  /// The log can be reached again: what was missed meanwhile is read.
  package func reconnected(at now: UInt64) {
    reading = nil
    nextBeat = now
    // What was in flight may have been lost with the connection.
    if role == .leading, !flights.isEmpty { recover(at: now) }
    check(at: now)
  }

  /// Whether nothing that was proposed has been acknowledged for longer than others wait for a leader.
  package func isStuck(at now: UInt64) -> Bool {
    guard let first = flights.first else { return false }
    return now > first.since + 2 * times.takeover
  }

  /// Whether everything that is known to exist has been read.
  package var isCaughtUp: Bool { position.sequence >= known && role != .starting && !loss.isForked }

  /// Continues behind a snapshot that was loaded.
  package func load(_ position: LogPosition, at now: UInt64) {
    guard role == .behind else { return }
    self.position = position
    // The parts of a snapshot are chained by the secret as well.
    isProven = true
    ahead = position
    anchor = nil
    role = .starting
    read(at: now)
  }

  // MARK: Time

  /// When ``tick(at:)`` has to be called next.
  package var deadline: UInt64 {
    var next = nextBeat
    if let reading { next = min(next, reading.since + times.answer) } else { next = min(next, readAgain) }
    switch role {
    case .following: next = min(next, patience, nextCheck)
    case .claiming: if let claim { next = min(next, claim.since + times.acknowledgement) }
    case .leading:
      next = min(next, nextCheck)
      if let first = flights.first, !isRecovering { next = min(next, first.since + times.acknowledgement) }
    case .starting, .behind: break
    case .diverged, .stopped: next = .max
    }
    return next
  }

  /// Lets time pass.
  package func tick(at now: UInt64) {
    if role == .diverged || role == .stopped { return }
    tickLoss(at: now)
    if let reading, now >= reading.since + times.answer {
      self.reading = nil
      if mustCheck { check(at: now) } else { read(at: now) }
    } else if now >= readAgain {
      if mustCheck { check(at: now) } else { read(at: now) }
    } else if now >= nextCheck, reading == nil, role == .following || role == .leading {
      check(at: now)
    }
    switch role {
    case .following where now >= patience: takeOver(at: now)
    case .claiming:
      if let claim, reading == nil, now >= claim.since + times.acknowledgement { read(at: now) }
    case .leading:
      if let first = flights.first, !isRecovering, now >= first.since + times.acknowledgement { recover(at: now) }
    default: break
    }
    if now >= nextBeat {
      nextBeat = now + times.beat
      publishBeat()
    }
  }

  /// When a node that does not lead runs out of patience.
  func wait(from now: UInt64, _ time: UInt64? = nil) {
    patience = now + (time ?? times.takeover) + random.number(below: times.jitter + 1)
  }

  // MARK: Beats

  /// What it tells others about itself.
  package var beat: Beat {
    Beat(
      node: node, session: session, term: position.term, isLeading: role == .leading, canLead: canLead,
      sequence: position.sequence, revision: position.revision, link: isTrusted ? position.link : nil,
      known: known > position.sequence ? known : 0, time: Timestamp(milliseconds: 0))
  }

  func publishBeat() { actions.append(.publish(beat)) }

  /// Another node, or this one, has told about itself.
  package func received(_ beat: Beat, at now: UInt64) {
    let exists = max(beat.sequence, beat.known)
    guard role != .diverged, role != .stopped, beat.session != session, exists < Self.mostSequence else { return }
    hear(beat, at: now)
    // Of a term that it has not read about yet, or records that have not come.
    if beat.term > position.term || exists > known {
      let hasMissed = exists > position.sequence && known > position.sequence
      known = max(known, exists)
      if beat.term > position.term || hasMissed { read(at: now) }
    } else if known > position.sequence {
      read(at: now)
    }
    // The claim of that term has been read and did not count here, though its writer has read the same.
    if beat.isLeading, beat.term > position.term, beat.sequence <= position.sequence, !isProven,
      counts.takeovers == 0
    {
      return divergeAtFirst()
    }
    if hasReadOtherwise(beat) { differs(at: now) }
    guard beat.isLeading, beat.term >= position.term, role != .leading else { return }
    if beat.isResigning {
      // Somebody else is at hand; the nodes differ in when they are.
      if role == .following { patience = now + random.number(below: times.jitter / 8 + 1) }
    } else {
      wait(from: now)
    }
  }

  // MARK: Taking over

  private func takeOver(at now: UInt64) {
    guard canLead else { return wait(from: now) }
    role = .claiming
    claim = nil
    check(at: now)
  }

  /// Claims the next term, now that everything has been read.
  func appendClaim(at now: UInt64) {
    let record = LogRecord(
      ClaimHead(
        term: position.term + 1, node: node, session: session, last: position.revision, previous: position.link,
        epoch: epoch(position)))
    lastTag += 1
    claim = Flight(record: record, tag: lastTag, sequence: position.sequence + 1, since: now)
    lastClaim = record.bytes
    actions.append(.append(record, after: position.sequence, tag: lastTag))
  }

  /// Whether everything that was proposed is committed.
  package var isIdle: Bool { flights.isEmpty }

  /// Lets another node lead; ``isIdle`` must be true.
  ///
  /// - Parameter time: After which this one may lead again, in milliseconds; nil for never.
  package func resign(at now: UInt64, for time: UInt64? = nil) {
    precondition(flights.isEmpty, "What was proposed is committed first.")
    if time == nil { canLead = false }
    patience = time.map { now + $0 } ?? .max
    guard role == .leading else { return }
    var beat = beat
    beat.isResigning = true
    actions.append(.publish(beat))
    role = .following
  }

  /// Does nothing any more.
  package func stop() {
    (role, flights) = (.stopped, [])
    actions.removeAll()
  }

  /// Stops leading, because the log has not confirmed anything for too long.
  ///
  /// What was proposed may still come to count, and then it is read as that of any other leader. What it has wanted done before has to be done: it may be that something is committed.
  package func stepBack(at now: UInt64) {
    precondition(actions.isEmpty, "What is committed is told first.")
    guard role == .leading else { return }
    (role, flights, isRecovering) = (.following, [], false)
    wait(from: now)
  }

  // MARK: Leading

  /// Whether another record can be proposed: not where it would probably have been in vain.
  package var canPropose: Bool {
    role == .leading && !isRecovering && !loss.isSuspected && !loss.isForked && !loss.isOthers && loss.stage == .none
      && flights.count < times.flights
  }

  /// Appends entries, the oldest first; ``canPropose`` must be true.
  ///
  /// - Parameter lines: The entries, each with a line feed at its end.
  package func propose(_ lines: [UInt8], at now: UInt64) {
    precondition(canPropose, "Only a leader proposes, and not too much at once.")
    let record = LogRecord(
      BatchHead(
        term: ahead.term, number: ahead.number + 1, node: node, first: Revision(ahead.revision.number + 1),
        previous: ahead.link), lines: lines)
    lastTag += 1
    actions.append(.append(record, after: ahead.sequence, tag: lastTag))
    ahead.sequence += 1
    ahead.advance(over: record, key)
    flights.append(Flight(record: record, tag: lastTag, sequence: ahead.sequence, since: now))
  }

  /// A record that was appended has been answered.
  package func appended(_ answer: AppendAnswer, tag: UInt64, at now: UInt64) {
    if tag == loss.tag { return fenceAppended(answer, at: now) }
    if let claim, claim.tag == tag, role == .claiming {
      guard case .stored(claim.sequence) = answer, position.sequence + 1 == claim.sequence else {
        return read(at: now)
      }
      consume(claim.sequence, claim.record.bytes, at: now)
      return drain(at: now)
    }
    guard role == .leading, let index = flights.firstIndex(where: { $0.tag == tag }) else { return }
    guard case .stored(flights[index].sequence) = answer else { return recover(at: now) }
    flights[index].isAcknowledged = true
    while let first = flights.first, first.isAcknowledged, !isRecovering, role == .leading {
      guard first.sequence == position.sequence + 1 else { return recover(at: now) }
      consume(first.sequence, first.record.bytes, at: now)
    }
    drain(at: now)
  }

  /// The engine has chosen who leads the stream: what the one before was sent may be lost, and is looked for without waiting.
  package func streamLeaderElected(at now: UInt64) {
    switch role {
    case .leading where !flights.isEmpty: recover(at: now)
    case .claiming where claim != nil: read(at: now)
    default: break
    }
  }

  /// Reads what has become of the records in flight.
  private func recover(at now: UInt64) {
    guard !isRecovering else { return }
    isRecovering = true
    counts.recoveries += 1
    check(at: now)
  }

  /// Appends the records that are not in the log again.
  func appendAgain(at now: UInt64) {
    isRecovering = false
    ahead = position
    for index in flights.indices {
      lastTag += 1
      let record = flights[index].record
      actions.append(.append(record, after: ahead.sequence, tag: lastTag))
      ahead.sequence += 1
      ahead.advance(over: record, key)
      flights[index].tag = lastTag
      flights[index].sequence = ahead.sequence
      flights[index].isAcknowledged = false
      flights[index].since = now
    }
  }
}
