// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalHTTP

/// Commands of this node's clients on their way to the node that decides.
///
/// They are numbered, and sent again until they are answered; the other side takes them in sequence and drops repeats. The
/// claim of a new leader is a barrier: what is not before it in the log never comes, so what is open then goes to the new
/// leader under new numbers. So each is executed once, without a table of all that was ever executed.
struct Forwarding {
  /// A command that is open.
  struct Command {
    var number: UInt64
    let bytes: [UInt8]
    let answer: @Sendable (ForwardedOutcome) -> Void
    /// When it is given up.
    let end: UInt64
    var lastSent: UInt64 = 0
    /// Whether any leader may have got it.
    var wasSent = false
    /// The answer, and up to where the log has to be applied for it to hold.
    var promised: (answer: ForwardedAnswer, entries: UInt64)?
    /// Whether it is in the log.
    var isInLog = false
  }

  /// The name of this process, as operations in the log name it.
  let name: String
  private(set) var open: [Command] = []
  private var lastNumber: UInt64 = 0
  /// The first number that the leader of the present term gets.
  private(set) var base: UInt64 = 1

  /// Commands that may be open; more are refused.
  static let limit = 16_384
  /// After which a command is sent again, in milliseconds.
  static let repetition: UInt64 = 500

  init(name: String) { self.name = name }

  /// Adds a command, to be sent.
  ///
  /// - Parameter end: When it expires.
  /// - Returns: Whether it was added; there may be too many.
  mutating func add(
    _ bytes: [UInt8], until end: UInt64, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void
  ) -> Bool {
    // What never expires is not refused: there is at most one for each connection that somebody had.
    guard open.count < Self.limit || end == .max else { return false }
    lastNumber += 1
    open.append(Command(number: lastNumber, bytes: bytes, answer: answer, end: end))
    return true
  }

  /// The messages that have to be sent now.
  mutating func messages(term: UInt64, at now: UInt64) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    for index in open.indices where open[index].promised == nil && !open[index].isInLog {
      guard !open[index].wasSent || now >= open[index].lastSent + Self.repetition else { continue }
      open[index].wasSent = true
      open[index].lastSent = now
      messages.append(message(open[index], term: term))
      if messages.count >= 256 { break }
    }
    return messages
  }

  private func message(_ command: Command, term: UInt64) -> [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"term":"#)
    text.appendJSON(term)
    text.append(literal: #","from":"#)
    text.appendJSON(name)
    text.append(literal: #","n":"#)
    text.appendJSON(command.number)
    text.append(literal: #","base":"#)
    text.appendJSON(base)
    // Everything before the first that is open has been answered.
    text.append(literal: #","answered":"#)
    text.appendJSON((open.first?.number ?? 1) - 1)
    text.append(literal: "}\n")
    return text + command.bytes
  }

  /// The leader has answered.
  mutating func promised(_ number: UInt64, _ answer: ForwardedAnswer, entries: UInt64) {
    guard let index = index(of: number), open[index].promised == nil else { return }
    open[index].promised = (answer, entries)
  }

  /// An operation of this process is in the log.
  mutating func isInLog(_ operation: String) {
    guard operation.hasPrefix(name + "."), let number = UInt64(operation.dropFirst(name.utf8.count + 1)),
      let index = index(of: number)
    else { return }
    open[index].isInLog = true
  }

  private func index(of number: UInt64) -> Int? {
    // Numbers grow, and mostly without a hole.
    guard let first = open.first?.number, number >= first else { return nil }
    let guess = Int(clamping: number - first)
    if guess < open.count, open[guess].number == number { return guess }
    return open.firstIndex { $0.number == number }
  }

  /// Answers what the log has reached.
  mutating func answer(entries: UInt64) {
    while let first = open.first, let promised = first.promised, promised.entries <= entries {
      open.removeFirst()
      first.answer(.answered(promised.answer))
    }
    // Answers of others may hold already, too.
    guard open.contains(where: { $0.promised.map { $0.entries <= entries } ?? false }) else { return }
    let done = open.filter { $0.promised.map { $0.entries <= entries } ?? false }
    open.removeAll { $0.promised.map { $0.entries <= entries } ?? false }
    for command in done { if let promised = command.promised { command.answer(.answered(promised.answer)) } }
  }

  /// A new leader: what is in the log has been executed, by one who cannot tell any more what the answer was; all else is
  /// open again, under new numbers.
  mutating func begin() {
    var rest: [Command] = []
    base = lastNumber + 1
    for var command in open {
      if command.isInLog {
        command.answer(command.promised.map { .answered($0.answer) } ?? .unknown)
        continue
      }
      lastNumber += 1
      command.number = lastNumber
      command.promised = nil
      command.wasSent = false
      rest.append(command)
    }
    open = rest
  }

  /// The leader does not lead any more, and what it has promised may not come; what is in the log already has been
  /// executed, and until another one leads, more of it may come.
  mutating func doubt() { for index in open.indices { open[index].promised = nil } }

  /// Gives up what has been open for too long.
  mutating func expire(at now: UInt64) {
    guard open.contains(where: { now >= $0.end }) else { return }
    let over = open.filter { now >= $0.end }
    open.removeAll { now >= $0.end }
    for command in over { command.answer(command.wasSent ? .unknown : .noLeader) }
  }

  /// When something has to be done next.
  var deadline: UInt64 {
    open.reduce(.max) { earliest, command in
      let next = command.promised == nil && command.wasSent ? command.lastSent + Self.repetition : .max
      return min(earliest, command.end, next)
    }
  }
}

/// Commands of other nodes that this one executes as the leader of a term.
struct Serving {
  /// One process of another node.
  private struct Client {
    /// The number that is executed next.
    var next: UInt64
    /// The answers since the last that is known to have come, by number.
    var answers: [UInt64: [UInt8]] = [:]
  }

  /// What is to be done with a command.
  enum Verdict: Equatable {
    case execute
    /// It has been executed: the answer again, if there is one already.
    case answer([UInt8]?)
    /// Those before it have not come, or it is for another term.
    case ignore
  }

  private var clients: [String: Client] = [:]

  /// Processes of nodes that are remembered in one term.
  private static let limit = 4096

  /// Judges a command that has come.
  mutating func take(from name: String, _ number: UInt64, base: UInt64, answered: UInt64) -> Verdict {
    if clients[name] == nil {
      guard clients.count < Self.limit else { return .ignore }
      clients[name] = Client(next: base)
    }
    guard var client = clients[name] else { return .ignore }
    defer { clients[name] = client }
    if !client.answers.isEmpty { client.answers = client.answers.filter { $0.key > answered } }
    // Given up by who has sent them.
    if answered >= client.next { client.next = answered + 1 }
    if number < client.next { return .answer(client.answers[number]) }
    guard number == client.next else { return .ignore }
    client.next += 1
    return .execute
  }

  /// Keeps an answer, in case it has to be sent again.
  mutating func answered(_ name: String, _ number: UInt64, _ answer: [UInt8]) {
    clients[name]?.answers[number] = answer
  }
}
