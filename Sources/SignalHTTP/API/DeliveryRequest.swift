// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The delivery that a client asks for, before the server's limits are applied (`docs/protocol.md` §3.2).
///
/// It is parsed from the members of a `subscribe` command or from the parameters of `/events`.
struct DeliveryRequest {
  var mode: DeliveryOptions.Mode?
  var maxRate: Double?
  var deadband: Deadband?
  /// The number of events wanted.
  var take: Int?
  var fields: EventFields?
  var pointer: JSONPointer?
  /// Seconds of silence before a bookmark.
  var bookmark: Double?

  /// Whether the answer states what was granted.
  var asksForDelivery: Bool { mode != nil || maxRate != nil || deadband != nil }

  init() {}

  /// Takes the members of a command.
  init(_ members: inout JSONMembers) throws(Problem) {
    if var delivery = try members.object("delivery", of: "\"delivery\"") {
      if let name = try delivery.string("mode") { mode = try Self.mode(name) }
      maxRate = try Self.rate(try delivery.number("maxRate"))
      deadband = try delivery.deadband("deadband")
      try delivery.end()
      // An empty object: what is granted is stated nevertheless.
      if !asksForDelivery { mode = .auto }
    }
    take = try Self.take(try members.integer("take"))
    if let names = try members.strings("fields") { fields = try Self.fields(names) }
    if let text = try members.string("pointer") { pointer = try Self.pointer(text) }
    bookmark = try Self.bookmark(try members.number("bookmark"))
    try check()
  }

  /// Takes the parameters of a URL; numbers are written as in JSON.
  init(_ query: borrowing Query) throws(Problem) {
    if let name = query.text("mode") { mode = try Self.mode(name) }
    maxRate = try Self.rate(try query.number("maxRate"))
    if let text = query.text("deadband") { deadband = try Self.deadband(text) }
    if let text = query.text("take") { take = try Self.take(Self.integer(text)) }
    if let text = query.text("fields") {
      fields = try Self.fields(text.split(separator: ",", omittingEmptySubsequences: false).map(String.init))
    }
    if let text = query.text("pointer") { pointer = try Self.pointer(text) }
    bookmark = try Self.bookmark(try query.number("bookmark"))
    try check()
  }

  private func check() throws(Problem) {
    if mode == .all, maxRate != nil {
      throw Problem(.badDelivery, "\"all\" is every change, so there can be no \"maxRate\".")
    }
  }

  // MARK: Members

  private static func mode(_ name: String) throws(Problem) -> DeliveryOptions.Mode {
    guard let mode = DeliveryOptions.Mode(rawValue: name) else {
      throw Problem(.badDelivery, "\"mode\" is auto, all or latest, not \"\(name)\".")
    }
    return mode
  }

  private static func rate(_ number: Double?) throws(Problem) -> Double? {
    guard let number else { return nil }
    guard number > 0, number.isFinite else { throw Problem(.badDelivery, "\"maxRate\" is a number above 0.") }
    return number
  }

  /// Parses a number, or a percentage: `0.5`, `2%`.
  static func deadband(_ text: String) throws(Problem) -> Deadband? {
    let isShare = text.hasSuffix("%")
    guard let number = number(isShare ? String(text.dropLast()) : text), number.isFinite, number >= 0,
      !isShare || number <= 100
    else { throw Problem(.badDelivery, "\"deadband\" is a number from 0 on, or a share from \"0%\" to \"100%\".") }
    if number == 0 { return nil }
    return isShare ? .percent(number) : .absolute(number)
  }

  private static func take(_ number: Int?) throws(Problem) -> Int? {
    guard number != 0 else { throw Problem(.badDelivery, "\"take\" is a number from 1 on.") }
    return number
  }

  private static func fields(_ names: [String]) throws(Problem) -> EventFields {
    var fields: EventFields = []
    for name in names {
      guard let field = EventFields.named.first(where: { $0.name == name })?.field else {
        let known = EventFields.named.map(\.name).joined(separator: ", ")
        throw Problem(.badDelivery, "Events have no field \"\(name)\". There are: \(known).")
      }
      fields.insert(field)
    }
    return fields
  }

  private static func pointer(_ text: String) throws(Problem) -> JSONPointer? {
    do throws(JSONPointer.ParseError) {
      let pointer = try JSONPointer(text)
      // An empty pointer means the whole value, as without one.
      return pointer.count == 0 ? nil : pointer
    } catch {
      let position = if case .badEscape(let offset) = error { offset } else { 0 }
      throw Problem(.badPointer, "\(error)", position: position)
    }
  }

  private static func bookmark(_ seconds: Double?) throws(Problem) -> Double? {
    guard let seconds else { return nil }
    guard seconds > 0, seconds.isFinite else {
      throw Problem(.badDelivery, "\"bookmark\" is a number of seconds above 0.")
    }
    return seconds
  }

  /// Parses a number as JSON writes it; nil when the text is not one.
  static func number(_ text: String) -> Double? {
    guard let text = try? JSONText(validating: text) else { return nil }
    let tree = JSONTree(text)
    return tree.double(tree.root)
  }

  private static func integer(_ text: String) -> Int {
    // Text that is not such a number is refused like 0.
    guard let number = Int(text), number > 0, number < 1 << 53, text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
      return 0
    }
    return number
  }
}

/// The delivery that is granted, within the limits of the server.
struct GrantedDelivery {
  let delivery: DeliveryOptions
  /// Nanoseconds; nil is the server's default.
  let bookmark: UInt64?

  init(_ request: DeliveryRequest, _ limits: LiveLimits) {
    var delivery = DeliveryOptions(mode: request.mode ?? .auto, deadband: request.deadband)
    let fastest = 1e9 / Double(max(1, limits.shortestPace.nanosecondsClamped))
    let slowest = min(fastest, 1e9 / Double(max(1, limits.longestPace.nanosecondsClamped)))
    delivery.maxRate = request.maxRate.map { min(max($0, slowest), fastest) }
    self.delivery = delivery
    let shortest = limits.shortestBookmark.nanosecondsClamped
    let longest = max(shortest, limits.longestBookmark.nanosecondsClamped)
    bookmark = request.bookmark.map { seconds in
      min(max(UInt64(min(seconds * 1e9, 1e18)), shortest), longest)
    }
  }

  /// Appends what was granted of the requested delivery, as members.
  func append(_ request: DeliveryRequest, to text: inout [UInt8]) {
    if request.asksForDelivery {
      text.append(literal: #","delivery":{"mode":""#)
      text.append(contentsOf: delivery.mode.rawValue.utf8)
      text.append(UInt8(ascii: "\""))
      if let rate = delivery.maxRate {
        text.append(literal: #","maxRate":"#)
        Self.append(rate, to: &text)
      }
      switch delivery.deadband {
      case .absolute(let band):
        text.append(literal: #","deadband":"#)
        Self.append(band, to: &text)
      case .percent(let share):
        text.append(literal: #","deadband":""#)
        Self.append(share, to: &text)
        text.append(literal: "%\"")
      case nil: break
      }
      text.append(UInt8(ascii: "}"))
    }
    if let bookmark {
      text.append(literal: #","bookmark":"#)
      Self.append(Double(bookmark) / 1e9, to: &text)
    }
  }

  /// Appends a number, without a fraction if it is a whole number.
  static func append(_ number: Double, to text: inout [UInt8]) {
    if let whole = Int(exactly: number), whole.magnitude < 1 << 53 {
      text.appendJSON(whole)
    } else {
      text.appendJSON(number)
    }
  }
}
