// SPDX-License-Identifier: MIT

/// Reading the log in its order, without a hole.
extension ClusterMachine {
  /// A record has come by itself.
  package func received(_ sequence: UInt64, _ bytes: [UInt8], at now: UInt64) {
    guard role != .diverged, role != .stopped, sequence > position.sequence else { return }
    known = max(known, sequence)
    if sequence == position.sequence + 1 {
      consume(sequence, bytes, at: now)
      return drain(at: now)
    }
    // It is read again behind the snapshot.
    if role == .behind { return }
    waiting.add(bytes, at: sequence, times)
    if reading == nil {
      counts.gaps += 1
      read(at: now)
    }
  }

  /// Asks for what is behind the position, unless that is under way.
  func read(at now: UInt64) { ask(after: position.sequence, at: now) }

  /// - Parameter anchor: What the first record of the answer has to be, if anything.
  func ask(after sequence: UInt64, _ anchor: Anchor? = nil, at now: UInt64) {
    guard reading == nil, role != .behind else { return }
    readAgain = .max
    // Reading what is new does not put the look at what is old off.
    if anchor != nil || self.anchor == nil { nextCheck = now + times.check }
    lastTag += 1
    reading = Reading(tag: lastTag, after: sequence, since: now, anchor: anchor)
    actions.append(.read(after: sequence, tag: lastTag))
  }

  /// A question for records has been answered.
  package func read(_ answer: ReadAnswer, tag: UInt64, at now: UInt64) {
    guard let reading, reading.tag == tag, role != .diverged, role != .stopped else { return }
    switch answer {
    case .failed:
      self.reading = nil
      readAgain = now + times.beat
    case .purged(let first):
      self.reading = nil
      // The log was shortened up to behind what was to be checked.
      if first <= position.sequence + 1 { return anchorIsGone(at: now) }
      forgetLoss()
      role = .behind
      actions.append(.load(after: first - 1))
    case .records(let records, let last):
      self.reading = nil
      // A stream that was shorter than a snapshot when this node began, and has come back.
      if loss.isCertain, role == .starting, last >= position.sequence {
        if isContinued(by: records) || proves(records.first) {
          loss = Loss()
        } else if reading.after == position.sequence, position.sequence > 0, !loss.isUnprovable {
          return ask(after: (anchor?.sequence ?? position.sequence) - 1, anchor, at: now)
        }
      }
      guard last >= position.sequence, !loss.isCertain else { return readBehindEnd(last, at: now) }
      // Fences of before may have made it as long again.
      if loss.since != nil, reading.anchor == nil, anchor != nil { return check(at: now) }
      if let anchor = reading.anchor, !isConfirmed(anchor, by: records.first, last, at: now) { return }
      if loss.isForked { return appendForkFence(after: last, at: now) }
      if last >= known { endShortage(at: now) }
      let before = position.sequence
      known = max(known, last)
      for (sequence, bytes) in records where sequence == position.sequence + 1 {
        consume(sequence, bytes, at: now)
        if role == .diverged { return }
      }
      drain(at: now)
      if position.sequence >= known { return finishReading(at: now) }
      if position.sequence > before {
        read(at: now)
      } else if position.sequence == last {
        // What others say there is, and the stream does not have yet.
        readBehindEnd(last, at: now)
      } else if reading.anchor != nil {
        // Much that does not count is behind the anchor: more than one answer has.
        read(at: now)
      } else {
        readAgain = now + times.beat
      }
    }
  }

  /// Consumes what has been waiting for what was before it.
  func drain(at now: UInt64) {
    while let bytes = waiting.take(position.sequence + 1) {
      consume(position.sequence + 1, bytes, at: now)
      if role == .diverged { return }
    }
    waiting.dropAll(through: position.sequence, times)
  }

  /// Whether a record is the last one that has counted here, also in the snapshot that was loaded: it proves all before it.
  private func proves(_ record: (sequence: UInt64, bytes: [UInt8])?) -> Bool {
    guard let record, record.sequence == anchor?.sequence ?? position.sequence else { return false }
    let previous: ChainLink
    switch (try? LogRecord(record.bytes))?.head {
    case .claim(let head): previous = head.previous
    case .batch(let head): previous = head.previous
    case .fence, nil: return false
    }
    return key.link(after: previous, record.bytes) == anchor?.link ?? position.link
  }

  /// Whether something of this follows from what was read.
  private func isContinued(by records: [(sequence: UInt64, bytes: [UInt8])]) -> Bool {
    var end = position
    for (sequence, bytes) in records where sequence == end.sequence + 1 {
      if let record = try? LogRecord(bytes), end.judge(record.head, key) == .counts {
        if case .fence = record.head { end.fence() } else { return true }
      }
      end.sequence = sequence
    }
    return false
  }

  /// Everything that there was has been read.
  private func finishReading(at now: UInt64) {
    waiting.removeAll()
    switch role {
    case .starting:
      role = .following
      wait(from: now)
      actions.append(.caughtUp)
    case .claiming:
      // In vain, or not answered: the log says that it does not count, and it may still come; so the next one is
      // another record.
      if claim != nil {
        claim = nil
        role = .following
        wait(from: now, 0)
      } else {
        appendClaim(at: now)
      }
    case .leading: if isRecovering { appendAgain(at: now) }
    case .following, .behind, .diverged, .stopped: break
    }
  }

  /// Judges the next record of the log, and does what it says.
  func consume(_ sequence: UInt64, _ bytes: [UInt8], at now: UInt64) {
    let record: LogRecord
    do throws(LogRecordError) {
      record = try LogRecord(bytes)
    } catch {
      if case .newer(let version, position.link) = error {
        newerVersion = version
        return diverge()
      }
      position.sequence = sequence
      counts.stale += 1
      return
    }
    switch position.judge(record.head, key) {
    case .stale:
      position.sequence = sequence
      counts.stale += 1
    case .hole:
      // Rubbish in the place of a record lets those behind it in, until its leader appends all of them again. More than
      // there can be of these are behind a record that is in the log of others.
      position.sequence = sequence
      counts.stale += 1
      holes += 1
      if holes > 4 * times.flights { suspect(at: now) }
    case .diverged: if isTrusted { suspect(at: now) } else { divergeAtFirst() }
    case .counts:
      holes = 0
      if position.link != .none, !isOwn(record) { isProven = true }
      let previous = position.link
      position.sequence = sequence
      position.advance(over: record, key)
      if case .fence(let head) = record.head { return take(head, at: now) }
      anchor = Anchor(sequence: sequence, previous: previous, link: position.link)
      if case .claim(let head) = record.head { take(head, bytes, at: now) } else { take(record) }
    }
  }

  func diverge() {
    role = .diverged
    actions.append(.diverged)
  }

  /// Diverges before anything of others has followed from what was read.
  func divergeAtFirst() {
    hasOtherSecret = true
    diverge()
  }

  /// Whether this process has written a record.
  private func isOwn(_ record: LogRecord) -> Bool {
    switch record.head {
    case .claim(let head): head.session == session
    case .fence(let head): head.session == session
    case .batch: role == .leading
    }
  }

  private func take(_ record: LogRecord) {
    guard role == .leading, let first = flights.first, first.record.bytes == record.bytes else {
      actions.append(.adopt(record))
      return
    }
    flights.removeFirst()
    actions.append(.committed(record))
  }

  private func take(_ head: ClaimHead, _ bytes: [UInt8], at now: UInt64) {
    flights = []
    isRecovering = false
    let isOwn = lastClaim == bytes && role != .starting
    claim = nil
    lastClaim = []
    if isOwn {
      role = .leading
      ahead = position
      counts.takeovers += 1
      patience = .max
      actions.append(.lead(head))
      publishBeat()
    } else {
      if role == .claiming || role == .leading { role = .following }
      wait(from: now)
      actions.append(.follow(head))
    }
  }
}
