// SPDX-License-Identifier: MIT

import JSON
@testable import SignalCluster
import SignalHTTP
import SignalStore

extension FuzzTarget {
  /// What nodes of a cluster read that others have written, records of the log and messages: what is read and written again
  /// is read as the same, and entries are applied, or do not fit.
  static let cluster = FuzzTarget(name: "Cluster") { input in
    let bytes = input.indices.map { input[$0] }
    checkRecord(bytes)
    checkMessages(bytes)
  }

  private static func checkRecord(_ bytes: [UInt8]) {
    guard let record = try? LogRecord(bytes) else { return }
    require(record.lines.reduce(0) { count, _ in count + 1 } == record.counts.entries, "entries that are no lines")
    switch record.head {
    case .claim(let head): require((try? LogRecord(LogRecord(head).bytes))?.head == record.head, "another claim")
    case .fence: break
    case .batch(let head):
      let again = LogRecord(head, lines: record.lines.flatMap { $0 + [UInt8(ascii: "\n")] })
      require((try? LogRecord(again.bytes))?.head == record.head, "another batch")
      require(again.counts == record.counts, "other entries")
    }
    var replica = Replica(epoch: .random())
    for line in record.lines {
      guard let entry = try? LogEntry(line), let made = entry.record(in: replica) else { return }
      var text: [UInt8] = []
      EntryWriter.append(made, operation: entry.operation, to: &text)
      let read = try? LogEntry(text.dropLast())
      require(read?.operation == entry.operation, "another operation: \(String(decoding: text, as: UTF8.self))")
      require(read?.record(in: replica) != nil, "cannot be read: \(String(decoding: text, as: UTF8.self))")
      replica.apply(made)
    }
  }

  private static func checkMessages(_ bytes: [UInt8]) {
    if let message = CommandMessage(bytes[...]) {
      var serving = Serving()
      require(serving.take(message).count <= message.commands.count, "more commands than there are")
      for command in message.commands { if let command = ForwardedCommand(command) { check(command) } }
      let again = CommandMessage(
        CommandMessage.bytes(
          term: message.term, from: message.from, first: message.first, base: message.base,
          answered: message.answered, commands: message.commands.map { Array($0) })[...])
      require(again?.commands == message.commands && again?.from == message.from, "other commands")
    }
    if let message = AnswerMessage(bytes[...]) {
      let again = AnswerMessage(AnswerMessage.bytes(term: message.term, from: message.from, message.answers)[...])
      require(again?.answers.map(\.bytes) == message.answers.map(\.bytes), "other answers")
      require(again?.answers.map(\.number) == message.answers.map(\.number), "answers to others")
    }
    if let command = ForwardedCommand(bytes[...]) { check(command) }
    if let answer = ForwardedAnswer(bytes[...]) {
      require(ForwardedAnswer(answer.bytes[...]) == answer, "another answer")
    }
    if let beat = Beat(bytes) { require(Beat(beat.bytes) == beat, "another beat: \(beat)") }
    if let demand = DemandMessage(bytes) { require(DemandMessage(demand.bytes) == demand, "another demand") }
  }

  private static func check(_ command: ForwardedCommand) {
    require(ForwardedCommand(command.bytes[...])?.bytes == command.bytes, "another command")
  }
}
