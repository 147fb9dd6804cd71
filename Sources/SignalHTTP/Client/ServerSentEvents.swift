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

/// Finds events in the body of an event stream, in whatever pieces it comes.
package struct ServerSentEvents: Sendable {
  private var line: [UInt8] = []
  private var afterCarriageReturn = false
  private var isFirstLine = true
  private var name = ""
  private var data: [String] = []
  /// The last `id`, where to resume; a block without data, which is no event, tells it too.
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
    var text = String(decoding: line, as: UTF8.self)
    line = []
    if isFirstLine, text.unicodeScalars.first == "\u{FEFF}" { text.unicodeScalars.removeFirst() }
    isFirstLine = false
    if text.isEmpty { return endBlock() }
    let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    let field = parts[0]
    var value = parts.count > 1 ? parts[1] : ""
    if value.hasPrefix(" ") { value.removeFirst() }
    switch field {
    case "": comments += 1
    case "event": name = String(value)
    case "data": data.append(String(value))
    case "id": if !value.utf8.contains(0) { lastID = String(value) }
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
