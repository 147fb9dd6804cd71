// SPDX-License-Identifier: MIT

internal import JSON

/// Names a command that was forwarded: by the process that has forwarded it, and its number there.
struct CommandName {
  let from: String
  let number: UInt64

  /// As the log names what it has done.
  var operation: String { "\(from).\(number)" }
}

/// Commands of one node on their way to the one that decides, under consecutive numbers.
///
///     {"term":7,"from":"b.4k2","n":17,"base":1,"answered":16,"sizes":[120,98]}
///     …the commands, one behind the other
struct CommandMessage {
  /// The term for whose leader it is.
  let term: UInt64
  let from: String
  /// The number of the first command.
  let first: UInt64
  /// The first number that the leader of this term gets.
  let base: UInt64
  /// The commands up to this one have been answered, or given up.
  let answered: UInt64
  let commands: [ArraySlice<UInt8>]

  /// Reads a message, whose content is not trusted; nil when it is none.
  init?(_ message: ArraySlice<UInt8>) {
    guard let head = MessageHead(message), let first = head.reader.number("n"), let base = head.reader.number("base"),
      let answered = head.reader.number("answered"), let commands = head.parts
    else { return nil }
    (term, from, self.first, self.base) = (head.term, head.from, first, base)
    (self.answered, self.commands) = (answered, commands)
  }

  static func bytes(
    term: UInt64, from: String, first: UInt64, base: UInt64, answered: UInt64, commands: [[UInt8]]
  ) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(commands.reduce(128 + 8 * commands.count) { $0 + $1.count })
    MessageHead.begin(term: term, from: from, &text)
    text.append(literal: #","n":"#)
    text.appendJSON(first)
    text.append(literal: #","base":"#)
    text.appendJSON(base)
    text.append(literal: #","answered":"#)
    text.appendJSON(answered)
    MessageHead.end(commands, &text)
    return text
  }
}

/// Answers to commands of one node.
///
///     {"term":7,"from":"b.4k2","n":[17,18],"entries":[1043,1044],"sizes":[64,64]}
///     …the answers, one behind the other
struct AnswerMessage {
  struct Answer {
    let number: UInt64
    /// How many entries of the log have to be applied for it to hold.
    let entries: UInt64
    let bytes: ArraySlice<UInt8>
  }

  let term: UInt64
  /// Who has forwarded the commands.
  let from: String
  let answers: [Answer]

  /// Reads a message, whose content is not trusted; nil when it is none.
  init?(_ message: ArraySlice<UInt8>) {
    guard let head = MessageHead(message), let numbers = head.reader.numbers("n"),
      let entries = head.reader.numbers("entries"), let parts = head.parts, numbers.count == parts.count,
      entries.count == parts.count
    else { return nil }
    (term, from) = (head.term, head.from)
    answers = parts.indices.map { Answer(number: numbers[$0], entries: entries[$0], bytes: parts[$0]) }
  }

  static func bytes(term: UInt64, from: String, _ answers: [Answer]) -> [UInt8] {
    var text: [UInt8] = []
    text.reserveCapacity(answers.reduce(128 + 32 * answers.count) { $0 + $1.bytes.count })
    MessageHead.begin(term: term, from: from, &text)
    text.append(literal: #","n":"#)
    text.appendJSON(answers.lazy.map(\.number))
    text.append(literal: #","entries":"#)
    text.appendJSON(answers.lazy.map(\.entries))
    MessageHead.end(answers.lazy.map(\.bytes), &text)
    return text
  }
}

/// The first line of a message between nodes, which says how long the parts behind it are.
private struct MessageHead {
  let reader: MessageReader
  let term: UInt64
  let from: String
  /// What is behind the line.
  private let content: ArraySlice<UInt8>

  init?(_ message: ArraySlice<UInt8>) {
    guard let line = message.firstIndex(of: UInt8(ascii: "\n")), let reader = MessageReader(message[..<line]),
      let term = reader.number("term"), let from = reader.text("from")
    else { return nil }
    (self.reader, self.term, self.from) = (reader, term, from)
    content = message[(line + 1)...]
  }

  /// The parts; nil when they are not what is there.
  var parts: [ArraySlice<UInt8>]? {
    guard let sizes = reader.numbers("sizes") else { return nil }
    var parts: [ArraySlice<UInt8>] = []
    parts.reserveCapacity(sizes.count)
    var rest = content
    for size in sizes {
      guard size <= UInt64(rest.count) else { return nil }
      parts.append(rest.prefix(Int(size)))
      rest = rest.dropFirst(Int(size))
    }
    return rest.isEmpty ? parts : nil
  }

  static func begin(term: UInt64, from: String, _ text: inout [UInt8]) {
    text.append(literal: #"{"term":"#)
    text.appendJSON(term)
    text.append(literal: #","from":"#)
    text.appendJSON(from)
  }

  static func end(_ parts: some Collection<some Collection<UInt8>>, _ text: inout [UInt8]) {
    text.append(literal: #","sizes":"#)
    text.appendJSON(parts.lazy.map { UInt64($0.count) })
    text.append(literal: "}\n")
    for part in parts { text.append(contentsOf: part) }
  }
}

extension [UInt8] {
  /// Appends an array of numbers.
  fileprivate mutating func appendJSON(_ numbers: some Sequence<UInt64>) {
    append(UInt8(ascii: "["))
    var isFirst = true
    for number in numbers {
      if !isFirst { append(UInt8(ascii: ",")) }
      isFirst = false
      appendJSON(number)
    }
    append(UInt8(ascii: "]"))
  }
}
