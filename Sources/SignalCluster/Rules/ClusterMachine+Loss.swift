// SPDX-License-Identifier: MIT

/// The last record that counted: it proves all before it, so that to find it in the stream again proves these, too.
struct Anchor {
  let sequence: UInt64
  /// The link before it, and behind it.
  let previous: ChainLink
  let link: ChainLink
}

/// What is known of records that were read and are not in the stream any more.
struct Loss {
  enum Stage { case none, waiting, writing, fencing, finishing }

  /// Since when the stream ends below what is known, and how often in a row it did.
  var since: UInt64?
  var answers = 0
  /// Whether it is known to have lost something however long it becomes.
  var isCertain = false
  /// Whether nothing can prove that it has not, as the stream begins behind what this node has.
  var isUnprovable = false
  /// Whether somebody else has more of what it has lost, and will probably have the log begin anew.
  var isOthers = false
  /// Where it ended last.
  var last: UInt64 = 0
  /// How often in a row the stream had another record in the place of the anchor.
  var mismatches = 0
  /// How often others have read something else, of which it cannot be checked who is right.
  var differences = 0
  /// Whether the next record does not follow from what was read.
  var isDoubtful = false
  /// How far the restart of the log is, and what is held.
  var stage = Stage.none
  var held: LogPosition?
  /// The fence that is waited for: its tag, its sequence, and when it was sent.
  var tag: UInt64 = 0
  var fence: UInt64 = 0
  var fencedAt: UInt64 = 0

  /// Whether the anchor has to be found before anything else is done.
  var isSuspected: Bool { isDoubtful || mismatches > 0 }
  /// Whether that, or what others say, is believed: one replica of the stream may be damaged.
  var isForked: Bool { max(mismatches, differences) >= Self.mostDifferences }
  static var mostDifferences: Int { 3 }
}

/// The stream has lost records that were read from it: it was restored, made anew, or has lost what it had acknowledged.
///
/// Two things follow, as no cursor may ever be taken for something else than what it was given for:
///
/// 1. The stream ends below what is known, for longer than an election of the engine takes. The most advanced member that is
///    heard of, by term, then sequence, writes a snapshot of what it has, as another epoch and with a sequence higher than
///    any that is known; appends a fence on the condition that the stream still ends where it did, which proves that it has
///    not come back and gives one member the right to go on; says that the snapshot is complete; and has the stream begin
///    behind it. All nodes find that the log does not reach back to their position, and load it. Sequences never go back.
/// 2. The stream has another record in the place of one that was read: it was cut, and others have gone on. What they
///    have told is in the log; who has read the other record appends a fence, and ends.
///
/// A fence ends the term and the epoch, so that everybody begins anew also when its writer does nothing more.
extension ClusterMachine {
  /// Answers that have to say so before the stream is believed to be shorter.
  private static var leastAnswers: Int { 20 }
  /// Sequences of others are believed below it, so that adding to one cannot overflow.
  static var mostSequence: UInt64 { 1 << 52 }
  /// Other processes that are remembered.
  private static var mostOthers: Int { 256 }

  // MARK: The most advanced member

  /// Notes what another node says about itself.
  func hear(_ beat: Beat, at now: UInt64) {
    if others.count >= Self.mostOthers { others = others.filter { isAlive($0.value.at, now) } }
    if others.count < Self.mostOthers || others[beat.session] != nil { others[beat.session] = (beat, now) }
  }

  /// A snapshot is complete: the stream had everything that is in it.
  package func knows(snapshot sequence: UInt64) {
    guard sequence < Self.mostSequence else { return }
    newestSnapshot = max(newestSnapshot, sequence)
    known = max(known, sequence)
  }

  /// The snapshot that was to be loaded is not there, and has not been for a while: whoever had the log begin anew by it has
  /// taken it back.
  ///
  /// - Parameter newest: The last sequence of the newest that there is; 0 without any.
  package func misses(snapshot newest: UInt64, at now: UInt64) {
    guard role == .behind, loss.isCertain else { return }
    newestSnapshot = newest
    role = .starting
    readAgain = now
  }

  private func isAlive(_ heard: UInt64, _ now: UInt64) -> Bool { now < heard + 2 * times.takeover }

  private func isMostAdvanced(at now: UInt64) -> Bool {
    !others.values.contains { other in
      guard other.beat.canLead, isAlive(other.at, now) else { return false }
      let (theirs, mine) = ((other.beat.term, other.beat.sequence), (position.term, position.sequence))
      return theirs > mine || theirs == mine && other.beat.node < node
    }
  }

  // MARK: The stream is shorter

  /// The stream ends before what is known: its leader does not know all yet, or it was lost.
  func readBehindEnd(_ last: UInt64, at now: UInt64) {
    readAgain = now + times.beat
    loss.last = last
    let since = loss.since ?? now
    loss.since = since
    loss.answers += 1
    loss.isOthers = !isMostAdvanced(at: now)
    if loss.isCertain, last >= position.sequence, loss.stage == .none, loss.isOthers {
      // Others have gone on.
      if role == .starting { return diverge() }
      loss.differences = Loss.mostDifferences
      return appendForkFence(after: last, at: now)
    }
    guard now >= since + times.shortage, loss.answers >= Self.leastAnswers, canLead, !loss.isOthers else { return }
    guard loss.stage == .none || loss.stage == .waiting else { return }
    if role == .starting, newestSnapshot > position.sequence {
      role = .behind
      loss.isCertain = true
      return actions.append(.load(after: newestSnapshot))
    }
    // What is in flight may still be committed, unless the stream does not even have what was before it.
    loss.stage = .waiting
    guard flights.isEmpty || last < position.sequence || loss.isCertain else { return }
    loss.stage = .writing
    loss.held = position
    var fenced = position
    fenced.fence()
    let term = others.values.reduce(position.term) { max($0, $1.beat.term) }
    // A claim that is on its way has the next term.
    actions.append(
      .restart(
        position.restarted(at: max(known, position.sequence, last) + 1, term: term + 2, epoch: epoch(fenced))))
  }

  /// The stream has everything that is known.
  func endShortage(at now: UInt64) {
    guard loss.since != nil else { return }
    (loss.since, loss.answers, loss.isOthers) = (nil, 0, false)
    switch loss.stage {
    case .none: break
    case .waiting: loss.stage = .none
    case .writing, .fencing: abandonRestart(at: now)
    case .finishing: break
    }
  }

  /// The log does not reach back to the position.
  func forgetLoss() {
    if loss.stage == .writing || loss.stage == .fencing { actions.append(.abandonRestart) }
    loss = Loss()
  }

  /// The snapshot is stored but for its end: whether the stream still ends where it did is decided by whether it takes a
  /// fence there.
  ///
  /// Writing it takes as long as the store is large: somebody who has more may be heard again.
  package func restartWritten(at now: UInt64) {
    guard loss.stage == .writing else { return actions.append(.abandonRestart) }
    guard holdsWhatWasWritten, isMostAdvanced(at: now) else { return abandonRestart(at: now) }
    loss.stage = .fencing
    appendFence(after: loss.last, at: now)
  }

  /// The restart is over; when the stream begins behind the snapshot now, that is read.
  package func restartEnded(at now: UInt64) {
    guard loss.stage == .finishing else { return restartFailed(at: now) }
    (loss.stage, loss.since, loss.answers) = (.none, now, 0)
    read(at: now)
    endIfFenced()
  }

  /// The snapshot could not be written.
  package func restartFailed(at now: UInt64) {
    loss.stage = .none
    loss.tag = 0
    endIfFenced()
  }

  private var holdsWhatWasWritten: Bool {
    loss.held.map { $0.link == position.link && $0.epoch == position.epoch && $0.revision == position.revision }
      ?? false
  }

  private func abandonRestart(at now: UInt64) {
    actions.append(.abandonRestart)
    restartFailed(at: now)
  }

  /// Gives a fence up that was not answered.
  func tickLoss(at now: UInt64) {
    if loss.stage == .fencing, now >= loss.fencedAt + times.takeover { abandonRestart(at: now) }
  }

  // MARK: Fences

  private func appendFence(after last: UInt64, at now: UInt64) {
    lastTag += 1
    (loss.tag, loss.fence, loss.fencedAt) = (lastTag, last + 1, now)
    let record = LogRecord(FenceHead(term: position.term, node: node, session: session, after: last, key))
    actions.append(.append(record, after: last, tag: lastTag))
  }

  func fenceAppended(_ answer: AppendAnswer, at now: UInt64) {
    loss.tag = 0
    guard case .stored(loss.fence) = answer else {
      if loss.stage == .fencing { return abandonRestart(at: now) }
      // The stream has gone on meanwhile.
      readAgain = now
      return
    }
    guard loss.stage == .fencing else { return diverge() }
    // Others begin anew at the fence, and one of them may lead as early as that.
    guard now < loss.fencedAt + times.takeover, loss.since != nil, holdsWhatWasWritten else {
      return abandonRestart(at: now)
    }
    loss.stage = .finishing
    actions.append(.finishRestart(before: loss.fencedAt + times.takeover))
  }

  /// A fence counts.
  func take(_ head: FenceHead, at now: UInt64) {
    if head.session == session, loss.stage == .fencing || loss.stage == .finishing { return }
    endIfFenced()
  }

  /// What is behind a fence is another history, which who has shown the one before begins anew to show.
  private func endIfFenced() {
    if position.isFenced, role != .starting, role != .behind { diverge() }
  }

  // MARK: The stream has something else

  /// Whether the anchor has to be found before anything else is done; who leads has to follow what is in the stream.
  var mustCheck: Bool { loss.isSuspected || role == .claiming }

  /// Whether it has followed the others, or led them, so that it has their secret.
  var isTrusted: Bool { isProven || counts.takeovers > 0 }

  /// Whether another node has read the same records and has judged them otherwise: one of the two has read what the stream
  /// has no more.
  func hasReadOtherwise(_ beat: Beat) -> Bool {
    guard isTrusted, let link = beat.link else { return false }
    return beat.sequence == position.sequence && link != position.link
      || beat.isLeading && beat.sequence <= position.sequence && beat.term > position.term
  }

  func differs(at now: UInt64) {
    // Nobody has been shown anything.
    if role == .starting { return diverge() }
    loss.differences += 1
    if loss.isForked { read(at: now) }
  }

  /// Until it is stored; then this node ends.
  func appendForkFence(after last: UInt64, at now: UInt64) {
    readAgain = now + times.acknowledgement
    appendFence(after: last, at: now)
  }

  /// Reads the anchor again, and what is behind it.
  func check(at now: UInt64) {
    if let anchor { ask(after: anchor.sequence - 1, anchor, at: now) } else { read(at: now) }
  }

  /// The next record does not follow from what was read: somebody has read something else, or it is damaged.
  func suspect(at now: UInt64) {
    if anchor == nil {
      // Where nothing can be checked, who has shown something ends its epoch.
      if role == .starting { return diverge() }
      loss.differences = Loss.mostDifferences
    }
    loss.isDoubtful = true
    check(at: now)
  }

  /// The anchor was removed with everything before it, so that nobody can tell any more what was in its place.
  func anchorIsGone(at now: UInt64) {
    anchor = nil
    loss.isUnprovable = loss.isCertain
    // As if it had been something else, where the next record does not follow from it.
    if loss.isSuspected { loss.differences = Loss.mostDifferences }
    read(at: now)
  }

  /// Whether the stream has what was read from it.
  func isConfirmed(
    _ anchor: Anchor, by first: (sequence: UInt64, bytes: [UInt8])?, _ last: UInt64, at now: UInt64
  ) -> Bool {
    readAgain = now + times.beat
    // Another server answers, which is not as far.
    guard let first, first.sequence == anchor.sequence else { return false }
    guard key.link(after: anchor.previous, first.bytes) == anchor.link else {
      loss.mismatches += 1
      if loss.since != nil, canLead, isMostAdvanced(at: now) {
        // Nobody leads there: it was shorter, and has only been made longer.
        guard loss.isForked else { return false }
        loss.isCertain = true
        readBehindEnd(last, at: now)
        return false
      }
      if loss.isForked { appendForkFence(after: last, at: now) }
      return false
    }
    readAgain = .max
    loss.mismatches = 0
    if loss.isDoubtful { diverge() }
    return role != .diverged
  }
}
