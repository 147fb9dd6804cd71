// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// What a connection is called by those who operate the server: `<loop>-<slot>-<generation>`, never used again.
struct ConnectionName: Sendable {
  let loop: Int
  let id: ConnectionID

  init(loop: Int, _ id: ConnectionID) {
    self.loop = loop
    self.id = id
  }

  /// Reads a name; nil when it is none.
  init?(_ text: String) {
    guard let numbers = Self.numbers(text), numbers.count == 3 else { return nil }
    self.init(loop: Int(numbers[0]), ConnectionID(slot: numbers[1], generation: numbers[2]))
  }

  /// Numbers with hyphens between them; nil for any other text.
  fileprivate static func numbers(_ text: String) -> [UInt32]? {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    let numbers = parts.compactMap { part in
      part.utf8.allSatisfy { $0 &- UInt8(ascii: "0") < 10 } ? UInt32(part) : nil
    }
    return numbers.count == parts.count ? numbers : nil
  }

  func write(to text: inout [UInt8]) {
    text.appendJSON(loop)
    text.append(UInt8(ascii: "-"))
    text.appendJSON(Int(id.slot))
    text.append(UInt8(ascii: "-"))
    text.appendJSON(Int(id.generation))
  }
}

/// A page of the list of connections, which goes from loop to loop: each adds its own, some in a turn, and none waits for
/// another.
struct ConnectionPage: Sendable {
  /// Slots that are looked at in a turn of a loop.
  private static let turnSlots = 512
  /// Bytes written in a turn, after which the rest waits for the next; the last connection may exceed them.
  private static let turnBytes = 32 << 10
  /// Slots that are looked at for a page.
  private static let pageSlots = 65_536
  /// Bytes of the subscriptions of one connection that are told.
  fileprivate static let subscriptionBytes = 16 << 10

  private let limit: Int
  private let bytes: Int
  private let responder: HTTPResponder
  private var text: [UInt8] = []
  private var count = 0
  private var slotsLeft = pageSlots
  private var place: Place

  /// Where a page begins: at a slot of a loop.
  struct Place: Sendable {
    var loop = 0
    var slot = 0

    /// The first.
    init() {}

    /// Reads what `next` of a page says; nil when it is not of this form.
    init?(_ text: String) {
      guard let numbers = ConnectionName.numbers(text), numbers.count == 2 else { return nil }
      (loop, slot) = (Int(numbers[0]), Int(numbers[1]))
    }
  }

  /// - Parameters:
  ///   - limit: Connections on the page.
  ///   - bytes: After which the page ends early.
  init(from place: Place, limit: Int, bytes: Int, _ responder: HTTPResponder) {
    self.limit = limit
    self.bytes = bytes
    self.responder = responder
    self.place = place
    text.append(literal: #"{"connections":["#)
  }

  /// Lets the loop whose turn it is add its connections, and answers behind the last.
  func proceed(among loops: [EventLoop]) {
    guard place.loop < loops.count else { return answer(isLast: true) }
    loops[place.loop].submit { [page = self] loop in
      var page = page
      page.collect(on: loop)
      guard page.count < page.limit, page.text.count < page.bytes, page.slotsLeft > 0 else {
        return page.answer(isLast: false)
      }
      page.proceed(among: loops)
    }
  }

  private mutating func collect(on loop: isolated EventLoop) {
    let end = min(bytes, text.count + Self.turnBytes)
    let first = place.slot
    let next = loop.visitMembers(in: first..<first + Self.turnSlots) { member in
      guard count < limit, text.count < end else { return false }
      guard let connection = member as? Connection else { return true }
      if count > 0 { text.append(UInt8(ascii: ",")) }
      count += 1
      connection.describe(as: ConnectionName(loop: place.loop, connection.id), to: &text, on: loop)
      return true
    }
    slotsLeft -= Self.turnSlots
    if let next { place.slot = next } else { (place.loop, place.slot) = (place.loop + 1, 0) }
  }

  private func answer(isLast: Bool) {
    responder.loop.submit { [text, place, responder] loop in
      var text = text
      text.append(UInt8(ascii: "]"))
      if !isLast {
        text.append(literal: #","next":""#)
        text.appendJSON(place.loop)
        text.append(UInt8(ascii: "-"))
        text.appendJSON(place.slot)
        text.append(UInt8(ascii: "\""))
      }
      text.append(UInt8(ascii: "}"))
      responder.respond(on: loop) { _, response in
        response.begin(.ok)
        response.field("Content-Type", "application/json")
        response.field("Cache-Control", "no-store")
        response.end(text)
      }
    }
  }
}

extension Connection {
  /// Writes what is known of it.
  fileprivate func describe(as name: ConnectionName, to text: inout [UInt8], on loop: isolated EventLoop) {
    var caller: Caller?
    var subscriptions: LiveSubscriptions?
    let kind: StaticString
    switch session {
    case let socket as WebSocket:
      kind = "websocket"
      let live = socket.handler as? LiveSession
      (caller, subscriptions) = (live?.caller, live?.subscriptions)
    case let stream as EventStream:
      kind = "event_stream"
      let live = stream.handler as? EventStreamSession
      (caller, subscriptions) = (live?.caller, live?.subscriptions)
    default: kind = "http"
    }
    text.append(literal: #"{"id":""#)
    name.write(to: &text)
    text.append(literal: #"","kind":""#)
    text.append(literal: kind)
    text.append(literal: #"","since":""#)
    let age = loop.now > opened ? Int64((loop.now - opened) / 1_000_000) : 0
    Timestamp(milliseconds: Timestamp.now.milliseconds - age).write(to: &text)
    text.append(literal: #"","peer":"#)
    text.appendJSON(client.description)
    text.append(literal: #","listener":"#)
    text.appendJSON(client.endpoint.description)
    if let identity = caller?.identity {
      text.append(literal: #","identity":{"kind":"#)
      text.appendJSON(identity.kind.rawValue)
      text.append(literal: #","id":"#)
      text.appendJSON(identity.id)
      text.append(UInt8(ascii: "}"))
    }
    text.append(literal: #","backlog":"#)
    text.appendJSON(backlog)
    if let subscriptions {
      text.append(literal: #","subscriptions":["#)
      let left = subscriptions.describe(to: &text, atMost: ConnectionPage.subscriptionBytes)
      text.append(UInt8(ascii: "]"))
      if left > 0 {
        text.append(literal: #","more":"#)
        text.appendJSON(left)
      }
    }
    text.append(UInt8(ascii: "}"))
  }
}

extension LiveSubscriptions {
  /// Writes what is subscribed to.
  ///
  /// - Parameter bytes: After which no further one is written.
  /// - Returns: How many have been left out.
  fileprivate func describe(to text: inout [UInt8], atMost bytes: Int) -> Int {
    let end = text.count + bytes
    var written = 0
    for subscription in all where text.count < end {
      if written > 0 { text.append(UInt8(ascii: ",")) }
      written += 1
      subscription.write(to: &text)
    }
    return count - written
  }
}
