// SPDX-License-Identifier: MIT

internal import SignalHTTP
internal import SignalStore
internal import Synchronization

/// What the log says, applied to the store, and what the store says, proposed to the log.
extension ClusterMember {
  /// Makes the store that is served, now that it is known whom to follow.
  func openStore() {
    guard store == nil, machine.position.epoch != nil else { return }
    var limits = configuration.store
    // Together with what follows from the same operation it has to fit into one message.
    limits.commitBytes = maxRecordBytes / 2
    let store = PropertyStore(
      following: replica, limits: limits, lastHolder: presence.lastHolder, sink: sink,
      quotas: configuration.quotas)
    self.store = store
    replica = Replica(epoch: replica.epoch, limits: configuration.store)
    sessionEpoch.trust()
    let ready = shared.withLock { shared in
      shared.store = store
      defer { shared.whenReady = nil }
      return shared.whenReady
    }
    ready?(store)
  }

  // MARK: Following

  /// Applies the entries of another node.
  func adopt(_ record: LogRecord, on loop: isolated EventLoop) {
    var entries: [LogEntry] = []
    do throws(LogEntryError) {
      for line in record.lines {
        let entry = try LogEntry(line)
        // Also while it is not applied: before another leader gets it again.
        if let operation = entry.operation { forwarding.isInLog(operation) }
        entries.append(entry)
      }
    } catch {
      return end("an entry of the log cannot be read")
    }
    if isSettling { return postponed.append(record) }
    snapshots.bytes += record.bytes.count
    if let store {
      var isGone = false
      let fits = store.adopt(entries) { entry, replica in
        let made = entry.record(in: replica)
        if let made, presence.isBelievedGone(by: made, entry.operation) { isGone = true }
        return made
      }
      guard fits else { return end("an entry of the log does not fit what this node has") }
      if isGone { return endAsGone() }
      sink.committed([], revision: store.revision)
      sink.announced(store.lastAnnounced)
    } else {
      for entry in entries {
        guard let made = entry.record(in: replica) else { return end("an entry of the log does not fit those before") }
        replica.apply(made)
      }
    }
    applied += UInt64(entries.count)
    if entries.isEmpty { snapshots.empty += 1 }
    forwarding.answer(entries: appliedEntries)
  }

  private func endAsGone() { end("the others have believed that this node is gone, and ended what its clients hold") }

  /// How many entries of the log can be seen here.
  var appliedEntries: UInt64 { isSettling ? 0 : applied }

  /// Another node leads, or an earlier process of this one did.
  func follow(_ head: ClaimHead, at now: UInt64, on loop: isolated EventLoop) {
    stopLeading(on: loop)
    take(head.epoch)
    leaderHeard = false
    serving = Serving()
    forwarding.begin()
    observer(.follows(node: head.node, term: head.term))
  }

  /// Decides nothing any more; what was decided and is not committed is taken back.
  private func stopLeading(on loop: isolated EventLoop) {
    let wasLeading = isLeading
    postponedLead = nil
    setLeading(false)
    sink.follow()
    stepDownEnd = nil
    guard wasLeading, let store, let committed else { return }
    self.committed = nil
    forgetProposals()
    if store.follow(committed) { settle(store, on: loop) }
  }

  private func forgetProposals() {
    (proposed, ready, readyIndex, proposalTimes) = ([], [], 0, [])
    (barriers, proposedBarriers) = ([], [])
  }

  /// Gives up leading when nothing has been confirmed for as long as a client waits for an answer, so that clients of
  /// this node get one as well, and reads show again what is committed.
  func giveUp(at now: UInt64, on loop: isolated EventLoop) {
    guard isLeading else { return }
    if machine.isIdle, readyIndex == ready.count { lastProgress = now }
    guard now >= lastProgress + configuration.writeTimeout else { return }
    machine.stepBack(at: now)
    leadNoMore(on: loop)
    observer(.steppedBack)
  }

  /// Leads no more, though no other node does yet.
  func leadNoMore(on loop: isolated EventLoop) {
    stopLeading(on: loop)
    leaderHeard = false
    forwarding.doubt()
  }

  /// The revisions from here on belong to this epoch.
  private func take(_ epoch: Epoch) {
    if let store {
      if store.epoch != epoch { end("the log goes on as another history, \(epoch)") }
    } else if replica.epoch != epoch {
      replica = Replica(replica, epoch: epoch, limits: configuration.store)
    }
  }

  /// Waits until nobody can tell any more what was taken back.
  private func settle(_ store: PropertyStore, on loop: isolated EventLoop) {
    observer(.tookBack)
    guard let executor = shared.withLock({ $0.executor }) else { return store.settle() }
    isSettling = true
    let home = loop
    executor.whenSeen { [self] in
      home.submit { [self] loop in
        store.settle()
        isSettling = false
        let records = postponed
        postponed = []
        for record in records { adopt(record, on: loop) }
        if let head = postponedLead.take() { lead(head, at: loop.milliseconds, on: loop) }
        forwarding.answer(entries: appliedEntries)
      }
    }
  }

  // MARK: Leading

  /// This node leads.
  func lead(_ head: ClaimHead, at now: UInt64, on loop: isolated EventLoop) {
    if isSettling {
      postponedLead = head
      return
    }
    take(head.epoch)
    openStore()
    guard let store else { return }
    leadBase = applied
    committed = store.replica
    forgetProposals()
    serving = Serving()
    forwarding.begin()
    sink.lead(head.term)
    presence.lead(at: now)
    // Nothing has ended while nobody decided, and by the clock of the last one who did.
    let silence = leaderHeard ? Int64(now - lastLeaderBeat) : 0
    store.lead(grace: .milliseconds(max(0, silence) + max(0, clockDifference))) {
      source throws(FormulaError) in try configuration.compile(source)
    }
    lastProgress = now
    setLeading(true)
    observer(.leads(term: head.term))
  }

  /// Takes what the store has decided.
  func collect() {
    guard let store, isLeading else { return }
    let items = store.betweenOperations { sink.take() }
    if readyIndex == ready.count { (ready, readyIndex) = ([], 0) }
    ready += items
  }

  /// Proposes what the store has decided.
  func propose(at now: UInt64, on loop: isolated EventLoop) {
    guard isLeading else { return }
    collect()
    while machine.canPropose, readyIndex < ready.count {
      let first = readyIndex
      let lines = takeLines()
      proposed += ready[first..<readyIndex]
      if lines.count > maxRecordBytes { return end("a change has \(lines.count) bytes, more than the engine takes") }
      propose(lines, at: now, on: loop)
    }
    if readyIndex > 4096 {
      ready.removeFirst(readyIndex)
      readyIndex = 0
    }
  }

  private func propose(_ lines: [UInt8], at now: UInt64, on loop: isolated EventLoop) {
    proposalTimes.append(.now)
    proposedBarriers.append(barriers)
    barriers = []
    machine.propose(lines, at: now)
    perform(at: now, on: loop)
  }

  /// Proposes a record without entries for those who have to know that this node still leads, unless another record
  /// tells them soon; one at a time, so that writes do not wait for it.
  func proposeBarriers(at now: UInt64, on loop: isolated EventLoop) {
    guard isLeading, !barriers.isEmpty, readyIndex == ready.count, machine.canPropose, machine.isIdle else { return }
    // Who waits is answered by the next one who decides.
    if isEnding || stepDownEnd != nil { return }
    propose([], at: now, on: loop)
  }

  /// Counts an own record of so many entries.
  private func note(_ entries: Int) {
    batches += 1
    batchEntries += entries
    guard !proposalTimes.isEmpty else { return }
    let (seconds, attoseconds) = (ContinuousClock.now - proposalTimes.removeFirst()).components
    commits.record(UInt64(max(0, seconds)) * 1_000_000_000 + UInt64(max(0, attoseconds)) / 1_000_000_000)
  }

  /// The entries of the next record: whole operations, at least one.
  private func takeLines() -> [UInt8] {
    var lines: [UInt8] = []
    var count = 0
    while readyIndex < ready.count, count < configuration.times.entries, lines.count < configuration.times.bytes {
      let end = lines.count
      var index = readyIndex
      repeat {
        EntryWriter.append(ready[index].record, operation: ready[index].operation, to: &lines)
        index += 1
      } while ready[index - 1].continues && index < ready.count
      if count > 0, lines.count > maxRecordBytes {
        lines.removeSubrange(end...)
        break
      }
      count += index - readyIndex
      readyIndex = index
    }
    return lines
  }

  /// An own record is committed: what it says is told.
  func commit(_ record: LogRecord, on loop: isolated EventLoop) {
    guard let store else { return }
    snapshots.bytes += record.bytes.count
    lastProgress = loop.milliseconds
    let count = record.counts.entries
    applied += UInt64(count)
    if count == 0 { snapshots.empty += 1 }
    note(count)
    for item in proposed.prefix(count) {
      // What another node has asked for that led before, when this one leads by now.
      if presence.isBelievedGone(by: item.record, item.operation) { return endAsGone() }
      committed?.apply(item.record)
      if let operation = item.operation { forwarding.isInLog(operation) }
    }
    sink.committed(proposed.prefix(count).lazy.map(\.record), revision: committed?.revision ?? 0)
    proposed.removeFirst(count)
    store.announce(through: store.lastAnnounced + UInt64(count))
    sink.announced(store.lastAnnounced)
    if !proposedBarriers.isEmpty {
      for (command, answer) in proposedBarriers.removeFirst() {
        serving.answered(command, answer.bytes, entries: applied)
      }
    }
    forwarding.answer(entries: appliedEntries)
  }
}
