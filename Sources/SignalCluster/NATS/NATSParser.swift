// SPDX-License-Identifier: MIT

/// Cuts what a server of NATS sends into events, however it arrives.
///
/// The protocol is text: a line for each event, ended by CR LF, and behind some lines as many bytes as they say, with
/// another CR LF. `HMSG` has two numbers, that of the header and that of both.
struct NATSParser {
  private var bytes: [UInt8] = []
  /// Where the next event begins.
  private var start = 0
  /// Up to where no end of its line was found.
  private var searched = 0

  /// A line has at most so many bytes: that of `INFO` lists all servers.
  static let lineBytes = 1 << 20
  /// A message has at most so many.
  static let messageBytes = 64 << 20

  mutating func append(_ new: [UInt8]) {
    if start == bytes.count {
      bytes.removeAll(keepingCapacity: bytes.capacity <= 4 << 20)
      (start, searched) = (0, 0)
    } else if start > 1 << 20 {
      bytes.removeFirst(start)
      (start, searched) = (0, max(0, searched - start))
    }
    bytes.append(contentsOf: new)
  }

  /// The next event; nil when it has not come as a whole.
  mutating func next() throws(NATSSyntaxError) -> NATSEvent? {
    guard let end = try lineEnd() else { return nil }
    let line = bytes[start..<end - 1]
    let verbEnd = line.firstIndex { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") } ?? line.endIndex
    let verb = String(decoding: line[..<verbEnd], as: UTF8.self).uppercased()
    let rest = line[verbEnd...].drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    switch verb {
    case "MSG", "HMSG":
      guard let message = try message(Array(rest), hasHeader: verb == "HMSG", at: end + 1) else { return nil }
      return .message(message)
    case "INFO": return finish(at: end + 1, .info(Array(rest)))
    case "PING": return finish(at: end + 1, .ping)
    case "PONG": return finish(at: end + 1, .pong)
    case "+OK": return finish(at: end + 1, .ok)
    case "-ERR":
      let text = rest.filter { $0 != UInt8(ascii: "'") }
      return finish(at: end + 1, .error(String(decoding: text, as: UTF8.self)))
    default: throw NATSSyntaxError()
    }
  }

  private mutating func finish(at end: Int, _ event: NATSEvent) -> NATSEvent {
    start = end
    searched = end
    return event
  }

  /// Where the line feed of the next line is.
  private mutating func lineEnd() throws(NATSSyntaxError) -> Int? {
    searched = max(searched, start)
    guard let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) else {
      searched = bytes.count
      if searched - start > Self.lineBytes { throw NATSSyntaxError() }
      return nil
    }
    guard end > start, bytes[end - 1] == UInt8(ascii: "\r") else { throw NATSSyntaxError() }
    return end
  }

  private mutating func message(
    _ line: [UInt8], hasHeader: Bool, at body: Int
  ) throws(NATSSyntaxError) -> NATSMessage? {
    let words = line.split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    let sizes = hasHeader ? 2 : 1
    guard words.count == 2 + sizes || words.count == 3 + sizes else { throw NATSSyntaxError() }
    func number(_ word: ArraySlice<UInt8>) throws(NATSSyntaxError) -> Int {
      guard let number = Int(String(decoding: word, as: UTF8.self)), 0...Self.messageBytes ~= number else {
        throw NATSSyntaxError()
      }
      return number
    }
    let subscription = UInt64(try number(words[1]))
    let total = try number(words[words.count - 1])
    let header = hasHeader ? try number(words[words.count - 2]) : 0
    guard header <= total else { throw NATSSyntaxError() }
    guard bytes.count >= body + total + 2 else {
      // The line is looked at again when there is more.
      searched = start
      return nil
    }
    guard bytes[body + total] == UInt8(ascii: "\r"), bytes[body + total + 1] == UInt8(ascii: "\n") else {
      throw NATSSyntaxError()
    }
    let message = NATSMessage(
      subject: Array(words[0]), subscription: subscription,
      reply: words.count == 3 + sizes ? Array(words[2]) : [], header: Array(bytes[body..<body + header]),
      payload: Array(bytes[body + header..<body + total]))
    start = body + total + 2
    searched = start
    return message
  }
}
