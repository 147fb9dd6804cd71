// SPDX-License-Identifier: MIT
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalCluster
@testable import SignalHTTP

/// Commands between a node and those that decide.
struct ForwardingTests {
  /// What became of commands, by their content.
  private final class Outcomes: Sendable {
    private let outcomes = Mutex<[String: [String]]>([:])
    var all: [String: [String]] { outcomes.withLock { $0 } }

    func note(_ command: String) -> @Sendable (ForwardedOutcome) -> Void {
      { outcome in
        let text =
          switch outcome {
          case .answered(let answer): String(decoding: answer.body, as: UTF8.self)
          case .noLeader: "no leader"
          case .unknown: "unknown"
          }
        self.outcomes.withLock { $0[command, default: []].append(text) }
      }
    }
  }

  private func commands(_ message: [UInt8]) throws -> CommandMessage { try #require(CommandMessage(message[...])) }

  private func texts(_ parts: some Sequence<ArraySlice<UInt8>>) -> [String] {
    parts.map { String(decoding: $0, as: UTF8.self) }
  }

  // MARK: Messages

  @Test func `commands and answers are read as they were written`() throws {
    let message = try commands(
      CommandMessage.bytes(
        term: 7, from: "b.4k2", first: 17, base: 3, answered: 16, commands: [Array("one\n".utf8), [], Array("3".utf8)]))
    #expect((message.term, message.from, message.first, message.base) == (7, "b.4k2", 17, 3))
    #expect(message.answered == 16 && texts(message.commands) == ["one\n", "", "3"])

    let given = [
      AnswerMessage.Answer(number: 17, entries: 1043, bytes: [1, 10]),
      AnswerMessage.Answer(number: 19, entries: 1050, bytes: []),
    ]
    let bytes = AnswerMessage.bytes(term: 8, from: "b.4k2", given)
    let read = try #require(AnswerMessage(bytes[...]))
    #expect((read.term, read.from) == (8, "b.4k2"))
    #expect(read.answers.map(\.number) == [17, 19] && read.answers.map(\.entries) == [1043, 1050])
    #expect(read.answers.map { Array($0.bytes) } == [[1, 10], []])
  }

  @Test(arguments: [
    "", "{}", "{}\n", #"{"term":1,"from":"a","n":1,"base":1,"answered":0,"sizes":[3]}"# + "\nab",
    #"{"term":1,"from":"a","n":1,"base":1,"answered":0,"sizes":[1]}"# + "\nab",
    #"{"term":1,"from":"a","n":1,"base":1,"answered":0,"sizes":[-2]}"# + "\nab",
    #"{"term":1,"from":"a","n":1,"base":1,"answered":0,"sizes":[9223372036854775807,2]}"# + "\nab",
    #"{"term":1,"from":"a","n":[1,2],"entries":[1,2],"sizes":[2]}"# + "\nab",
    #"{"term":1,"from":"a","n":[1],"entries":["x"],"sizes":[2]}"# + "\nab",
  ])
  func `what is no message is none`(_ text: String) {
    #expect(CommandMessage(Array(text.utf8)[...]) == nil && AnswerMessage(Array(text.utf8)[...]) == nil)
  }

  // MARK: One side

  @Test func `commands of one turn are one message, of limited size`() throws {
    var forwarding = Forwarding(name: "a.1")
    for number in 0..<Forwarding.batch + 2 {
      _ = forwarding.add(Array("\(number)".utf8), until: 10_000) { _ in }
    }
    let large = [UInt8](repeating: 0x20, count: Forwarding.batchBytes + 1)
    for _ in 0..<2 {
      _ = forwarding.add(large, until: 10_000) { _ in }
    }
    let messages = try forwarding.messages(term: 1, at: 1000).map(commands)
    #expect(messages.map(\.commands.count) == [Forwarding.batch, 2, 1, 1])
    #expect(messages.map(\.first) == [1, 65, 67, 68] && messages.allSatisfy { $0.base == 1 && $0.answered == 0 })
    #expect(forwarding.messages(term: 1, at: 1499).isEmpty)
    #expect(forwarding.deadline(canSend: true) == 1500 && forwarding.deadline(canSend: false) == 10_000)
    #expect(forwarding.messages(term: 1, at: 1500).count == 4)
  }

  @Test func `more than may be open is refused, by number and by size`() {
    var forwarding = Forwarding(name: "a.1")
    func add(_ size: Int, until end: UInt64) -> Bool {
      forwarding.add([UInt8](repeating: 0, count: size), until: end) { _ in }
    }
    let first = (0..<Forwarding.limit).allSatisfy { _ in add(1, until: 10) }
    #expect(first && !add(1, until: 10) && add(1, until: .max))
    forwarding.expire(at: 10)
    #expect(forwarding.count == 1)
    #expect(add(Forwarding.byteLimit - 1, until: 20) && !add(1, until: 20))
    forwarding.expire(at: 20)
    #expect(add(1, until: 30))
  }

  @Test func `a command whose answer was lost is answered again, also when it is in the log`() throws {
    let outcomes = Outcomes()
    var (forwarding, serving) = (Forwarding(name: "a.1"), Serving())
    _ = forwarding.add(Array("c".utf8), until: 10_000, outcomes.note("c"))
    let message = try #require(try forwarding.messages(term: 1, at: 0).map(commands).first)
    #expect(texts(serving.take(message)) == ["c"])
    serving.answered(CommandName(from: "a.1", number: 1), ForwardedAnswer(message: Array("ok".utf8)).bytes, entries: 1)
    #expect(serving.takeMessages(term: 1).count == 1)
    #expect(serving.takeMessages(term: 1).isEmpty)
    forwarding.isInLog("a.1.1")
    forwarding.answer(entries: 1)
    #expect(outcomes.all.isEmpty)

    let again = try #require(try forwarding.messages(term: 1, at: Forwarding.repetition).map(commands).first)
    #expect(serving.take(again).isEmpty)
    let answer = try #require(serving.takeMessages(term: 1).first)
    #expect(answer.to == "a.1")
    for each in try #require(AnswerMessage(answer.bytes[...])).answers {
      forwarding.promised(each.number, try #require(ForwardedAnswer(each.bytes)), entries: each.entries)
    }
    forwarding.answer(entries: 0)
    #expect(outcomes.all.isEmpty)
    forwarding.answer(entries: 1)
    #expect(outcomes.all == ["c": ["ok"]] && forwarding.count == 0)
  }

  @Test func `what may not have arrived is sent again at once`() throws {
    var (forwarding, serving) = (Forwarding(name: "a.1"), Serving())
    for text in ["x", "y"] {
      _ = forwarding.add(Array(text.utf8), until: 10_000) { _ in }
    }
    let sent = try #require(try forwarding.messages(term: 1, at: 0).map(commands).first)
    #expect(serving.take(sent).count == 2)
    serving.answered(CommandName(from: "a.1", number: 2), [1], entries: 0)
    _ = serving.takeMessages(term: 1)
    serving.sendAgain()
    #expect(serving.takeMessages(term: 1).count == 1)
    forwarding.promised(2, ForwardedAnswer(message: []), entries: 9)
    forwarding.sendAgain()
    #expect(try forwarding.messages(term: 1, at: 1).map(commands).map { texts($0.commands) } == [["x"]])
  }

  @Test func `a lost message delays those behind it once`() throws {
    var (forwarding, serving) = (Forwarding(name: "a.1"), Serving())
    var (added, executed) = (0, 0)
    for now in 0..<UInt64(700) {
      added += 1
      _ = forwarding.add([1], until: 10_000) { _ in }
      for message in try forwarding.messages(term: 1, at: now).map(commands) where now != 100 {
        for _ in serving.take(message) {
          executed += 1
          forwarding.promised(UInt64(executed), ForwardedAnswer(message: []), entries: 0)
        }
        forwarding.answer(entries: 0)
      }
      if now == 599 { #expect(executed == 100) }
    }
    #expect(executed == added)
  }

  @Test func `what is open never has more room than there may be, also behind what never expires`() {
    var forwarding = Forwarding(name: "a.1")
    for number in 0..<Forwarding.limit { _ = forwarding.add([1], until: number == 0 ? .max : 10) { _ in } }
    forwarding.expire(at: 10)
    let isAdded = forwarding.add([1], until: 20) { _ in }
    #expect(!isAdded && forwarding.count == 1)
  }

  @Test func `a command is not executed for a term that is over`() {
    let sink = ClusterSink(limit: 1) {}
    sink.lead(3)
    let results = [2, 3].map { term in sink.executing("a.1.1", in: term) { term } }
    #expect(results == [nil, 3])
    sink.follow()
    #expect(sink.executing("a.1.1", in: 3) { 3 } == nil)
    sink.lead(4)
    #expect(sink.executing("a.1.1", in: 3) { 3 } == nil)
  }

  // MARK: Both sides

  /// A node that forwards, those that decide one after another, and a log, with messages that are lost or come twice.
  private struct Model {
    let outcomes = Outcomes()
    var forwarding = Forwarding(name: "a.1")
    var serving = Serving()
    var random: SeededGenerator
    /// What was executed, by operation and content, and how much of it is in the log for good.
    var log: [(operation: String, content: String)] = []
    var committed = 0
    var term: UInt64 = 1
    var now: UInt64 = 0
    var added = 0
    var isLossy = true
    /// Answers that are not given yet.
    var unanswered: [(CommandName, [UInt8], entries: UInt64)] = []

    init(seed: UInt64) { random = SeededGenerator(seed: seed) }

    /// How often something comes.
    mutating func copies() -> Int {
      if !isLossy { return 1 }
      let number = random.number(below: 10)
      return number < 3 ? 0 : number < 9 ? 1 : 2
    }

    mutating func step() throws {
      now += random.number(below: 100)
      for message in forwarding.messages(term: term, at: now) {
        for _ in 0..<copies() { execute(try #require(CommandMessage(message[...]))) }
      }
      while let next = unanswered.first, !isLossy || random.number(below: 3) > 0 {
        unanswered.removeFirst()
        serving.answered(next.0, next.1, entries: next.entries)
      }
      for (_, bytes) in serving.takeMessages(term: term) {
        for _ in 0..<copies() {
          for each in try #require(AnswerMessage(bytes[...])).answers {
            forwarding.promised(each.number, try #require(ForwardedAnswer(each.bytes)), entries: each.entries)
          }
        }
      }
      let end = isLossy ? committed + Int(random.number(below: UInt64(log.count - committed) + 1)) : log.count
      for entry in log[committed..<end] { forwarding.isInLog(entry.operation) }
      committed = end
      forwarding.answer(entries: UInt64(committed))
      if isLossy { disturb() }
    }

    private mutating func execute(_ message: CommandMessage) {
      let new = serving.take(message)
      for (place, bytes) in zip(new.indices, new) {
        let name = CommandName(from: message.from, number: message.first + UInt64(place))
        log.append((name.operation, String(decoding: bytes, as: UTF8.self)))
        unanswered.append((name, ForwardedAnswer(message: Array(bytes)).bytes, entries: UInt64(log.count)))
      }
    }

    private mutating func disturb() {
      for _ in 0..<random.number(below: 4) {
        added += 1
        _ = forwarding.add(Array("c\(added)".utf8), until: now + 100_000, outcomes.note("c\(added)"))
      }
      switch random.number(below: 50) {
      case 0: forwarding.sendAgain()
      case 1: serving.sendAgain()
      // Another one decides: what is not in the log by then never comes.
      case 2:
        forwarding.doubt()
        term += 1
        log.removeSubrange(committed...)
        (serving, unanswered) = (Serving(), [])
        forwarding.begin()
      default: break
      }
    }
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `every command is executed once, in order, and answered once, whatever is lost`(_ seed: UInt64) throws {
    var model = Model(seed: seed)
    for _ in 0..<2000 { try model.step() }
    model.isLossy = false
    for _ in 0..<100 where model.forwarding.count > 0 { try model.step() }
    #expect(model.forwarding.count == 0)
    #expect(model.log.map(\.content) == (1...model.added).map { "c\($0)" })
    let outcomes = model.outcomes.all
    #expect(outcomes.count == model.added)
    #expect(outcomes.allSatisfy { $1 == [$0] || $1 == ["unknown"] })
    #expect(outcomes.count { $1 != ["unknown"] } > model.added / 2)
  }
}

/// Elements under growing numbers.
struct NumberedQueueTests {
  @Test func `numbers stay what they are whatever is removed`() {
    var queue = NumberedQueue<String>(from: 5)
    for element in ["a", "b", "c"] { queue.append(element) }
    #expect(queue[5] == "a" && queue.end == 8)
    queue.remove(6)
    #expect(queue[6] == nil && queue[7] == "c" && queue[4] == nil && queue[8] == nil)
    #expect(queue.count == 2 && queue.range == 5..<8)
    queue.remove(5)
    #expect(queue.range == 7..<8 && queue.count == 1)
    queue.update(7) { $0 = "d" }
    queue.update(9) { $0 = "e" }
    #expect(queue[7] == "d" && queue.range == 7..<8)
    queue.removeAll(below: 20)
    #expect(queue.count == 0 && queue.range == 20..<20)
    queue.append("g")
    #expect(queue[20] == "g")
  }

  @Test func `an element may come before those with lower numbers`() {
    var queue = NumberedQueue<String>(from: 1)
    queue.set(3, "c")
    #expect(queue.count == 1 && queue[1] == nil)
    queue.removeAll(below: 2)
    queue.set(1, "a")
    queue.set(2, "b")
    #expect(queue.count == 2 && queue[1] == nil && queue[2] == "b" && queue[3] == "c")
  }

  @Test func `its room is that of what is in it`() {
    var queue = NumberedQueue<Int>()
    for number in 1...10_000 {
      queue.append(number)
      if number > 10 { queue.remove(UInt64(number - 10)) }
    }
    #expect(queue.count == 10 && queue[10_000] == 10_000 && queue[9_991] == 9_991 && queue.range == 9_991..<10_001)
  }
}
