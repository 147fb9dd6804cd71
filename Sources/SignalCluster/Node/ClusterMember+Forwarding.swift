// SPDX-License-Identifier: MIT

internal import JSON
package import SignalHTTP
internal import SignalStore
internal import Synchronization

/// Commands on their way to the node that decides, and those of others that are executed here.
extension ClusterMember {
  /// Takes new commands, sends what is due, and gives up what has been open for too long.
  func forward(at now: UInt64, on loop: isolated EventLoop) {
    let commands = shared.withLock { shared in
      defer { shared.commands = [] }
      return shared.commands
    }
    for (command, answer) in commands {
      if command.isBarrier {
        barrierAnswers.append(answer)
        continue
      }
      let holder = command.endedHolder
      if let holder { presence.ended(holder) }
      // Nobody waits for the end of a connection, and it has to be known, however long that takes.
      if let holder {
        let home = loop
        _ = forwarding.add(command.bytes, until: .max) { [self] outcome in
          answer(outcome)
          home.submit { [self] _ in presence.forget(holder) }
        }
      } else if !forwarding.add(command.bytes, until: now + configuration.writeTimeout, answer) {
        answer(.noLeader)
      }
    }
    if !isBarrierOpen, !barrierAnswers.isEmpty { openBarrier(at: now, on: loop) }
    forwarding.expire(at: now)
    if isLeading {
      for message in forwarding.messages(term: machine.position.term, at: now) { serve(message[...], on: loop) }
    } else if leaderHeard, isOpen, now < lastLeaderBeat + 2 * configuration.times.takeover {
      let leader = machine.position.leader
      for message in forwarding.messages(term: machine.position.term, at: now) {
        log.request(message, to: leader, isReply: false, on: loop)
      }
    }
  }

  /// Asks for everything that was written before, for all who wait; those who come later wait for the next time.
  private func openBarrier(at now: UInt64, on loop: isolated EventLoop) {
    isBarrierOpen = true
    let (answers, home) = (barrierAnswers, loop)
    barrierAnswers = []
    @Sendable func answer(_ outcome: ForwardedOutcome) {
      for answer in answers { answer(outcome) }
      home.submit { [self] _ in isBarrierOpen = false }
    }
    let end = now + configuration.writeTimeout
    if !forwarding.add(ForwardedCommand.barrier.bytes, until: end, answer) { answer(.noLeader) }
  }

  /// Ends what clients of nodes hold that have not been heard of for too long, and does what they have registered for that.
  func releaseGone(at now: UInt64) {
    guard isLeading, isOpen, let store, now >= presence.nextLook else { return }
    for holder in presence.gone(of: store.holders, at: now) {
      let command = ForwardedCommand(endOf: holder)
      _ = forwarding.add(command.bytes, until: .max) { _ in }
    }
  }

  package func received(_ message: [UInt8], isReply: Bool, on loop: isolated EventLoop) {
    if isReply { takeReply(message[...], on: loop) } else { serve(message[...], on: loop) }
  }

  /// Executes a command of another node, or of this one, if this node leads the term that it is for.
  private func serve(_ message: ArraySlice<UInt8>, on loop: isolated EventLoop) {
    guard let head = MessageHead(message), isLeading, head.term == machine.position.term,
      let executor = shared.withLock({ $0.executor })
    else { return }
    switch serving.take(from: head.from, head.number, base: head.base, answered: head.answered) {
    case .ignore: return
    case .answer(let answer): if let answer { send(answer, to: head.from, on: loop) }
    case .execute:
      guard let command = ForwardedCommand(message[head.end...]) else { return }
      if command.isBarrier { return barriers.append((head, ForwardedAnswer(message: []))) }
      let home = loop
      let operation = "\(head.from).\(head.number)"
      executor.execute(command, around: { [sink] in sink.executing(operation, $0) }) { [self] answer in
        // What it has done is in the log when so many entries are.
        let (entries, isRecorded) = (sink.count, sink.hasRecorded)
        home.submit { [self] loop in
          if isRecorded { return answered(head, answer, entries: leadBase + entries, on: loop) }
          // It has judged by a state that may be old: another node may have decided since.
          guard isLeading, head.term == machine.position.term else { return }
          barriers.append((head, answer))
          proposeBarriers(at: loop.milliseconds, on: loop)
        }
      }
    }
  }

  /// Answers a command.
  ///
  /// - Parameter entries: How many entries of the log have to be applied for the answer to hold.
  func answered(
    _ head: MessageHead, _ answer: ForwardedAnswer, entries: UInt64, on loop: isolated EventLoop
  ) {
    guard isLeading, head.term == machine.position.term else { return }
    var text: [UInt8] = []
    text.append(literal: #"{"term":"#)
    text.appendJSON(head.term)
    text.append(literal: #","n":"#)
    text.appendJSON(head.number)
    text.append(literal: #","from":"#)
    text.appendJSON(head.from)
    text.append(literal: #","entries":"#)
    text.appendJSON(entries)
    text.append(literal: "}\n")
    text += answer.bytes
    serving.answered(head.from, head.number, text)
    send(text, to: head.from, on: loop)
  }

  /// Sends an answer to a process of a node, which may be this one.
  private func send(_ answer: [UInt8], to name: String, on loop: isolated EventLoop) {
    if name == forwarding.name { return takeReply(answer[...], on: loop) }
    guard let point = name.lastIndex(of: ".") else { return }
    log.request(answer, to: String(name[..<point]), isReply: true, on: loop)
  }

  private func takeReply(_ message: ArraySlice<UInt8>, on loop: isolated EventLoop) {
    guard let head = MessageHead(message), head.term == machine.position.term, head.from == forwarding.name,
      let answer = ForwardedAnswer(message[head.end...])
    else { return }
    forwarding.promised(head.number, answer, entries: head.entries)
    forwarding.answer(entries: appliedEntries)
  }
}

/// The first line of a message between nodes.
struct MessageHead {
  let term: UInt64
  let from: String
  let number: UInt64
  let base: UInt64
  let answered: UInt64
  let entries: UInt64
  /// Where the content begins.
  let end: Int

  /// Reads it; nil when it is none.
  init?(_ message: ArraySlice<UInt8>) {
    guard let line = message.firstIndex(of: UInt8(ascii: "\n")), let reader = MessageReader(message[..<line]),
      let term = reader.number("term"), let number = reader.number("n"), let from = reader.text("from")
    else { return nil }
    self.term = term
    self.number = number
    self.from = from
    base = reader.number("base") ?? 1
    answered = reader.number("answered") ?? 0
    entries = reader.number("entries") ?? 0
    end = line + 1
  }
}
