// SPDX-License-Identifier: MIT

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
    guard canForward(at: now) else { return }
    for message in forwarding.messages(term: machine.position.term, at: now) {
      if isLeading {
        serve(message[...], on: loop)
      } else {
        log.request(message, to: machine.position.leader, isReply: false, on: loop)
      }
    }
  }

  /// Whether there is somebody who decides, to be reached from here.
  func canForward(at now: UInt64) -> Bool {
    isLeading || leaderHeard && isOpen && now < lastLeaderBeat + 2 * configuration.times.takeover
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
    if isReply { takeReply(message[...]) } else { serve(message[...], on: loop) }
  }

  /// A command that has been executed, and what its answer is about.
  private struct Executed {
    let command: CommandName
    let answer: ForwardedAnswer
    /// How many entries there are since this node leads, and whether the command has made one of them.
    let entries: UInt64
    let isRecorded: Bool
  }

  /// Executes commands of another node, or of this one, if this node leads the term that they are for.
  private func serve(_ message: ArraySlice<UInt8>, on loop: isolated EventLoop) {
    guard let message = CommandMessage(message), isLeading, message.term == machine.position.term,
      let executor = shared.withLock({ $0.executor })
    else { return }
    var commands: [(CommandName, ForwardedCommand)] = []
    let new = serving.take(message)
    for (place, bytes) in zip(new.indices, new) {
      guard let command = ForwardedCommand(bytes) else { continue }
      let name = CommandName(from: message.from, number: message.first + UInt64(place))
      if command.isBarrier {
        barriers.append((name, ForwardedAnswer(message: [])))
      } else {
        commands.append((name, command))
      }
    }
    if commands.isEmpty { return }
    let (home, term, taken) = (loop, message.term, commands)
    executor.execute { [self, sink] execute in
      let executed = taken.compactMap { name, command in
        sink.executing(name.operation, in: term) {
          let answer = execute(command)
          return Executed(command: name, answer: answer, entries: sink.count, isRecorded: sink.hasRecorded)
        }
      }
      home.submit { [self] loop in take(executed, term: term, on: loop) }
    }
  }

  /// Answers commands that have been executed: what they have done is in the log when so many entries are; those that have
  /// done nothing have been judged by a state that may be old, as another node may have decided since.
  private func take(_ executed: [Executed], term: UInt64, on loop: isolated EventLoop) {
    guard isLeading, term == machine.position.term else { return }
    for each in executed {
      if each.isRecorded {
        serving.answered(each.command, each.answer.bytes, entries: leadBase + each.entries)
      } else {
        barriers.append((each.command, each.answer))
      }
    }
    proposeBarriers(at: loop.milliseconds, on: loop)
  }

  /// Sends the answers that there are.
  func sendAnswers(on loop: isolated EventLoop) {
    for (name, message) in serving.takeMessages(term: machine.position.term) {
      if name == forwarding.name {
        takeReply(message[...])
      } else if let point = name.lastIndex(of: ".") {
        log.request(message, to: String(name[..<point]), isReply: true, on: loop)
      }
    }
  }

  private func takeReply(_ message: ArraySlice<UInt8>) {
    guard let message = AnswerMessage(message), message.term == machine.position.term,
      message.from == forwarding.name
    else { return }
    for each in message.answers {
      if let answer = ForwardedAnswer(each.bytes) { forwarding.promised(each.number, answer, entries: each.entries) }
    }
    forwarding.answer(entries: appliedEntries)
  }
}
