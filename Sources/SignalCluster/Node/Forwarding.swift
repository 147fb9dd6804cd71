// SPDX-License-Identifier: MIT

internal import SignalHTTP

/// Commands of this node's clients on their way to the node that decides.
///
/// They are numbered, and sent again until they are answered; the other side takes them in sequence and drops repeats. The
/// claim of a new leader is a barrier: what is not before it in the log never comes, so what is open then goes to the new
/// leader under new numbers. So each is executed once, without a table of all that was ever executed.
struct Forwarding {
  /// A command that is open.
  struct Command {
    let bytes: [UInt8]
    let answer: @Sendable (ForwardedOutcome) -> Void
    /// When it is given up.
    let end: UInt64
    /// When it was sent last to the present leader; nil when it was not.
    var lastSent: UInt64?
    /// Whether a leader may have got it, whose term is not over.
    var wasSent = false
    /// The answer, and up to where the log has to be applied for it to hold.
    var promised: (answer: ForwardedAnswer, entries: UInt64)?
    /// Whether it is in the log.
    var isInLog = false
  }

  /// The name of this process, as operations in the log name it.
  let name: String
  private let prefix: String
  /// Those that are open, by number.
  private var open = NumberedQueue<Command>()
  private var openBytes = 0
  /// The first number that the leader of the present term gets.
  private(set) var base: UInt64 = 1
  /// The first that was not sent to it.
  private var firstUnsent: UInt64 = 1
  /// Nothing has to be sent again before, and nothing expires before; both may be too early.
  private var nextRepetition = UInt64.max
  private var nextEnd = UInt64.max
  /// Those that have been promised an answer, of which none holds with fewer entries.
  private var promises = 0
  private var leastPromised = UInt64.max

  /// Commands that may be open, with those behind the first that are not any more, and their bytes; more are refused.
  static let limit = 16_384
  static let byteLimit = 32 << 20
  /// Commands of one message, which the other side executes in one piece, and their bytes.
  static let batch = 64
  static let batchBytes = 64 << 10
  /// After which a command is sent again, in milliseconds.
  static let repetition: UInt64 = 500

  init(name: String) {
    self.name = name
    prefix = name + "."
  }

  /// How many commands are open.
  var count: Int { open.count }

  /// Adds a command, to be sent.
  ///
  /// - Parameter end: When it expires.
  /// - Returns: Whether it was added; there may be too many.
  mutating func add(
    _ bytes: [UInt8], until end: UInt64, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void
  ) -> Bool {
    // What never expires is not refused: there is at most one for each connection that somebody had.
    guard open.range.count < Self.limit && openBytes + bytes.count <= Self.byteLimit || end == .max else {
      return false
    }
    open.append(Command(bytes: bytes, answer: answer, end: end))
    openBytes += bytes.count
    nextEnd = min(nextEnd, end)
    return true
  }

  private mutating func remove(_ number: UInt64) {
    guard let command = open[number] else { return }
    openBytes -= command.bytes.count
    promises -= command.promised == nil ? 0 : 1
    open.remove(number)
  }

  // MARK: Sending

  /// The messages that have to be sent now.
  mutating func messages(term: UInt64, at now: UInt64) -> [[UInt8]] {
    var messages: [[UInt8]] = []
    if now >= nextRepetition {
      nextRepetition = .max
      append(open.first..<max(open.first, firstUnsent), to: &messages, term, now)
    }
    append(max(open.first, firstUnsent)..<open.end, to: &messages, term, now)
    firstUnsent = open.end
    return messages
  }

  /// Appends messages with those commands of a range that are due.
  private mutating func append(_ range: Range<UInt64>, to messages: inout [[UInt8]], _ term: UInt64, _ now: UInt64) {
    var batch: [[UInt8]] = []
    var (bytes, isLate) = (0, false)
    for number in range {
      // One that is in the log is sent again as well, where its answer has not come. Behind one that is sent again all are,
      // as they were ignored if that one was lost.
      guard let command = open[number], command.promised == nil, isLate || isDue(command, at: now) else {
        flush(&batch, before: number, to: &messages, term)
        continue
      }
      isLate = isLate || command.lastSent != nil
      if batch.count == Self.batch || bytes + command.bytes.count > Self.batchBytes {
        flush(&batch, before: number, to: &messages, term)
      }
      bytes = batch.isEmpty ? 0 : bytes
      batch.append(command.bytes)
      bytes += command.bytes.count
      open.update(number) { ($0.lastSent, $0.wasSent) = (now, true) }
      nextRepetition = min(nextRepetition, now + Self.repetition)
    }
    flush(&batch, before: range.upperBound, to: &messages, term)
  }

  /// Whether a command has to be sent now; otherwise it is noted when.
  private mutating func isDue(_ command: Command, at now: UInt64) -> Bool {
    guard let sent = command.lastSent, now < sent + Self.repetition else { return true }
    nextRepetition = min(nextRepetition, sent + Self.repetition)
    return false
  }

  private func flush(_ batch: inout [[UInt8]], before end: UInt64, to messages: inout [[UInt8]], _ term: UInt64) {
    if batch.isEmpty { return }
    messages.append(
      // Everything before the first that is open has been answered.
      CommandMessage.bytes(
        term: term, from: name, first: end - UInt64(batch.count), base: base, answered: open.first - 1, commands: batch)
    )
    batch.removeAll()
  }

  /// What was sent may not have arrived: all that is open is sent again as soon as possible.
  mutating func sendAgain() {
    for number in open.range { open.update(number) { $0.lastSent = nil } }
    firstUnsent = open.first
  }

  // MARK: Answers

  /// The leader has answered.
  mutating func promised(_ number: UInt64, _ answer: ForwardedAnswer, entries: UInt64) {
    guard let command = open[number], command.promised == nil else { return }
    open.update(number) { $0.promised = (answer, entries) }
    promises += 1
    leastPromised = min(leastPromised, entries)
  }

  /// An operation of this process is in the log.
  mutating func isInLog(_ operation: String) {
    guard operation.hasPrefix(prefix), let number = UInt64(operation.dropFirst(prefix.utf8.count)) else { return }
    open.update(number) { $0.isInLog = true }
  }

  /// Answers what the log has reached.
  mutating func answer(entries: UInt64) {
    guard leastPromised <= entries else { return }
    leastPromised = .max
    var left = promises
    for number in open.range {
      if left == 0 { break }
      guard let command = open[number], let promised = command.promised else { continue }
      left -= 1
      guard promised.entries <= entries else {
        leastPromised = min(leastPromised, promised.entries)
        continue
      }
      remove(number)
      command.answer(.answered(promised.answer))
    }
  }

  /// A new leader: what is in the log has been executed, by one who cannot tell any more what the answer was; all else is
  /// open again, under new numbers.
  mutating func begin() {
    let old = open
    base = old.end
    open = NumberedQueue(from: base)
    (firstUnsent, nextRepetition, openBytes) = (base, .max, 0)
    (promises, leastPromised) = (0, .max)
    for number in old.range {
      guard var command = old[number] else { continue }
      if command.isInLog {
        command.answer(command.promised.map { .answered($0.answer) } ?? .unknown)
        continue
      }
      (command.promised, command.lastSent, command.wasSent) = (nil, nil, false)
      open.append(command)
      openBytes += command.bytes.count
    }
  }

  /// The leader does not lead any more, and what it has promised may not come; what is in the log already has been
  /// executed, and until another one leads, more of it may come.
  mutating func doubt() {
    for number in open.range { open.update(number) { $0.promised = nil } }
    (promises, leastPromised) = (0, .max)
  }

  /// Gives up what has been open for too long.
  mutating func expire(at now: UInt64) {
    guard now >= nextEnd else { return }
    nextEnd = .max
    for number in open.range {
      guard let command = open[number] else { continue }
      guard now >= command.end else {
        nextEnd = min(nextEnd, command.end)
        continue
      }
      remove(number)
      command.answer(command.wasSent ? .unknown : .noLeader)
    }
  }

  /// When something has to be done next, while there is somebody to send to, or nobody.
  func deadline(canSend: Bool) -> UInt64 { canSend ? min(nextEnd, nextRepetition) : nextEnd }
}
