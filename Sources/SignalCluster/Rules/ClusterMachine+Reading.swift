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
    if waiting.count < times.waiting { waiting[sequence] = bytes }
    if reading == nil {
      counts.gaps += 1
      read(at: now)
    }
  }

  /// Asks for what is behind the position, unless that is under way.
  func read(at now: UInt64) {
    guard reading == nil, role != .behind else { return }
    readAgain = .max
    lastTag += 1
    reading = Reading(tag: lastTag, since: now)
    actions.append(.read(after: position.sequence, tag: lastTag))
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
      role = .behind
      actions.append(.load(after: first - 1))
    case .records(let records, let last):
      self.reading = nil
      guard last >= position.sequence else { return readBehindEnd(at: now) }
      shortfalls = 0
      let before = position.sequence
      known = max(known, last)
      for (sequence, bytes) in records where sequence == position.sequence + 1 {
        consume(sequence, bytes, at: now)
        if role == .diverged { return }
      }
      drain(at: now)
      if position.sequence >= known { return finishReading(at: now) }
      // What others say there is, and the stream does not have yet.
      if position.sequence > before { read(at: now) } else { readAgain = now + times.beat }
    }
  }

  /// The stream ends before what was read from it: its leader does not know all yet, or it was lost.
  private func readBehindEnd(at now: UInt64) {
    shortfalls += 1
    if shortfalls > Self.mostShortfalls { return diverge() }
    readAgain = now + times.beat
  }

  /// How often in a row the stream may be shorter than it was.
  private static var mostShortfalls: Int { 20 }

  /// Consumes what has been waiting for what was before it.
  func drain(at now: UInt64) {
    while !waiting.isEmpty, let bytes = waiting.removeValue(forKey: position.sequence + 1) {
      consume(position.sequence + 1, bytes, at: now)
      if role == .diverged { return }
    }
    if waiting.count >= times.waiting { waiting = waiting.filter { $0.key > position.sequence } }
  }

  /// Everything that there was has been read.
  private func finishReading(at now: UInt64) {
    waiting.removeAll(keepingCapacity: true)
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
      position.sequence = sequence
      counts.stale += 1
      return
    }
    switch position.judge(record.head) {
    case .stale:
      position.sequence = sequence
      counts.stale += 1
    case .hole:
      // Rubbish in the place of a record lets those behind it in, until its leader appends all of them again. More than
      // there can be of these are behind a record that is in the log of others.
      position.sequence = sequence
      counts.stale += 1
      holes += 1
      if holes > 4 * times.flights { diverge() }
    case .diverged: if isProven || counts.takeovers > 0 { diverge() } else { divergeAtFirst() }
    case .counts:
      holes = 0
      if position.link != .none, !isOwn(record) { isProven = true }
      position.sequence = sequence
      position.advance(over: record, key)
      switch record.head {
      case .batch: take(record)
      case .claim(let head): take(head, bytes, at: now)
      }
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
