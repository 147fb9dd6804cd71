// SPDX-License-Identifier: MIT

/// Commands of all nodes that this one executes as the leader of a term, and the answers to them.
struct Serving {
  /// One process of a node.
  private struct Client {
    /// The number that is executed next.
    var next: UInt64
    /// The answers since the last that is known to have come.
    var answers: NumberedQueue<AnswerMessage.Answer>
    /// The numbers of those that have to be sent.
    var unsent: [UInt64] = []
  }

  private var clients: [String: Client] = [:]
  /// Those to whom something has to be sent.
  private var toAnswer: [String] = []

  /// Processes of nodes that are remembered in one term.
  private static let limit = 4096
  /// Bytes of the answers in one message; a single one may be larger.
  private static let batchBytes = 64 << 10

  /// Takes the commands of a message: those that have to be executed now.
  ///
  /// Those that were executed are answered again, where they have been answered; those before which others have not come
  /// are ignored.
  mutating func take(_ message: CommandMessage) -> ArraySlice<ArraySlice<UInt8>> {
    if clients[message.from] == nil {
      guard clients.count < Self.limit else { return [] }
      clients[message.from] = Client(next: message.base, answers: NumberedQueue(from: message.base))
    }
    return modify(message.from) { client in
      client.answers.removeAll(below: message.answered + 1)
      // Given up by who has sent them.
      client.next = max(client.next, message.answered + 1)
      guard message.first <= client.next else { return [] }
      let known = Int(min(client.next - message.first, UInt64(message.commands.count)))
      for number in message.first..<message.first + UInt64(known) where client.answers[number] != nil {
        client.unsent.append(number)
      }
      client.next += UInt64(message.commands.count - known)
      return message.commands[known...]
    } ?? []
  }

  /// Keeps an answer, which has to be sent, in case it has to be sent again.
  mutating func answered(_ command: CommandName, _ answer: [UInt8], entries: UInt64) {
    modify(command.from) { client in
      client.answers.set(
        command.number, AnswerMessage.Answer(number: command.number, entries: entries, bytes: answer[...]))
      client.unsent.append(command.number)
    }
  }

  /// What was sent may not have arrived: all answers that are kept are sent again.
  mutating func sendAgain() {
    for name in clients.keys {
      modify(name) { client in client.unsent = client.answers.range.filter { client.answers[$0] != nil } }
    }
  }

  /// Changes what is known of a process, if anything is.
  @discardableResult
  private mutating func modify<Result>(_ name: String, _ body: (inout Client) -> Result) -> Result? {
    guard let wasIdle = clients[name]?.unsent.isEmpty else { return nil }
    let result = body(&clients[name]!)
    if wasIdle, clients[name]?.unsent.isEmpty == false { toAnswer.append(name) }
    return result
  }

  /// Takes the messages that have to be sent, by the process that each is for.
  mutating func takeMessages(term: UInt64) -> [(to: String, bytes: [UInt8])] {
    if toAnswer.isEmpty { return [] }
    var messages: [(to: String, bytes: [UInt8])] = []
    for name in toAnswer {
      guard let client = clients[name] else { continue }
      var batch: [AnswerMessage.Answer] = []
      var bytes = 0
      for number in client.unsent {
        guard let answer = client.answers[number] else { continue }
        if bytes + answer.bytes.count > Self.batchBytes, !batch.isEmpty {
          messages.append((name, AnswerMessage.bytes(term: term, from: name, batch)))
          (batch, bytes) = ([], 0)
        }
        batch.append(answer)
        bytes += answer.bytes.count
      }
      if !batch.isEmpty { messages.append((name, AnswerMessage.bytes(term: term, from: name, batch))) }
      clients[name]?.unsent.removeAll(keepingCapacity: true)
    }
    toAnswer.removeAll(keepingCapacity: true)
    return messages
  }
}
