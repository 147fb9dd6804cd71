// SPDX-License-Identifier: MIT

/// One event of an event stream (WHATWG HTML, "Server-sent events").
package struct ServerSentEvent: Equatable, Sendable {
  /// The last `id` so far, this event's included; nil when there was none yet.
  package var id: String?
  /// The `event` field; `message` when there is none.
  package var name = "message"
  /// The `data` lines, joined by line feeds.
  package var data = ""

  /// An event.
  package init(id: String?, name: String = "message", data: String) {
    self.id = id
    self.name = name
    self.data = data
  }
}

/// Finds events in the body of an event stream, however it is split.
package struct ServerSentEvents: Sendable {
  private var line: [UInt8] = []
  private var afterCarriageReturn = false
  private var isFirstLine = true
  private var name = ""
  private var data: [String] = []
  /// The last `id`, where to resume; also set by a block without data, which is not an event.
  package private(set) var lastID: String?
  /// The last `retry`, in milliseconds.
  package private(set) var retry: Int?
  /// Comment lines so far (`: keep-alive`).
  package private(set) var comments = 0

  /// At the beginning of a stream.
  package init() {}

  /// Takes the next bytes and returns the events that end in them.
  package mutating func receive(_ bytes: [UInt8]) -> [ServerSentEvent] {
    var events: [ServerSentEvent] = []
    for byte in bytes {
      let endsPair = byte == 0x0A && afterCarriageReturn
      afterCarriageReturn = byte == 0x0D
      if endsPair { continue }
      if byte == 0x0A || byte == 0x0D {
        if let event = endLine() { events.append(event) }
      } else {
        line.append(byte)
      }
    }
    return events
  }

  private mutating func endLine() -> ServerSentEvent? {
    var line = self.line[...]
    self.line = []
    if isFirstLine, line.starts(with: [0xEF, 0xBB, 0xBF]) { line = line.dropFirst(3) }
    isFirstLine = false
    if line.isEmpty { return endBlock() }
    // By bytes: a combining mark after the colon or the space would hide them in a String.
    let colon = line.firstIndex(of: UInt8(ascii: ":"))
    var rest = colon.map { line[($0 + 1)...] } ?? []
    if rest.first == UInt8(ascii: " ") { rest = rest.dropFirst() }
    let value = String(decoding: rest, as: UTF8.self)
    switch String(decoding: line[..<(colon ?? line.endIndex)], as: UTF8.self) {
    case "": comments += 1
    case "event": name = value
    case "data": data.append(value)
    case "id": if !value.utf8.contains(0) { lastID = value }
    case "retry": if value.utf8.allSatisfy({ $0 >= 0x30 && $0 <= 0x39 }) { retry = Int(value) ?? retry }
    default: break
    }
    return nil
  }

  private mutating func endBlock() -> ServerSentEvent? {
    defer {
      name = ""
      data = []
    }
    guard !data.isEmpty else { return nil }
    return ServerSentEvent(id: lastID, name: name.isEmpty ? "message" : name, data: data.joined(separator: "\n"))
  }
}
