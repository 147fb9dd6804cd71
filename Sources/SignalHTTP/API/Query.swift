// SPDX-License-Identifier: MIT
import SignalStore

/// The parameters of a request's query, form-decoded.
///
/// A name that a route does not know is refused: a misspelt option must not be ignored silently.
struct Query {
  private var items: [(name: String, value: String)] = []

  init(_ head: borrowing RequestHead, _ known: [String]) throws(APIError) {
    guard let query = head.query else { return }
    for item in FormItems(query) {
      let name: String
      let value: String
      do throws(HTTPParseError) {
        name = try item.name
        value = try item.value
      } catch {
        throw .problem(Problem(.badQuery, error.description))
      }
      guard known.contains(name) else {
        let names = known.isEmpty ? "It takes none." : "It takes: \(known.joined(separator: ", "))."
        throw .problem(Problem(.unknownParameter, "There is no parameter \"\(name)\" here. \(names)"))
      }
      guard ["match", "signals", "demand"].contains(name) || !items.contains(where: { $0.name == name }) else {
        throw .problem(Problem(.badQuery, "The parameter \"\(name)\" is given twice."))
      }
      items.append((name, value))
    }
  }

  /// The decoded parameter; nil when it is missing.
  func text(_ name: String) -> String? { items.first { $0.name == name }?.value }

  /// A number as JSON writes it.
  func number(_ name: String) throws(Problem) -> Double? {
    guard let text = text(name) else { return nil }
    guard let number = DeliveryRequest.number(text) else {
      throw Problem(.badQuery, "\"\(name)\" is a number, not \"\(text)\".")
    }
    return number
  }

  func has(_ name: String) -> Bool { items.contains { $0.name == name } }

  func one(_ name: String) throws(APIError) -> String? { items.first { $0.name == name }?.value }

  func bool(_ name: String) throws(APIError) -> Bool? {
    switch try one(name) {
    case nil: nil
    case "true": true
    case "false": false
    case let other?: throw .problem(Problem(.badQuery, "\"\(name)\" is true or false, not \"\(other)\"."))
    }
  }

  func integer(_ name: String, in range: ClosedRange<Int>) throws(APIError) -> Int? {
    guard let text = try one(name) else { return nil }
    guard let number = Int(text), range.contains(number), text.utf8.allSatisfy({ $0 &- 0x30 < 10 }) else {
      throw .problem(
        Problem(.badQuery, "\"\(name)\" is a number from \(range.lowerBound) to \(range.upperBound), not \"\(text)\"."))
    }
    return number
  }

  func duration(_ name: String) throws(APIError) -> Duration? {
    guard let text = try one(name) else { return nil }
    do throws(Problem) {
      return try WireDuration.read(text, name)
    } catch {
      throw .problem(error)
    }
  }

  func cursor(_ name: String) throws(APIError) -> Cursor? {
    guard let text = try one(name) else { return nil }
    guard let cursor = Cursor(text) else {
      throw .problem(Problem(.badCursor, "\"\(name)\" is not of the form <epoch>.<revision>."))
    }
    return cursor
  }

  /// Refuses parameters that do not belong to `subject`.
  func refuse(allBut known: [String], _ subject: String) throws(APIError) {
    guard let other = items.first(where: { !known.contains($0.name) }) else { return }
    throw .problem(Problem(.badQuery, "\"\(other.name)\" does not belong to \(subject)."))
  }

  func path(_ name: String, _ configuration: LiveConfiguration) throws(APIError) -> PropertyPath? {
    guard let text = try one(name) else { return nil }
    do throws(PathError) {
      return try PropertyPath(text, limits: configuration.paths)
    } catch {
      throw .problem(Problem(.badPath, "\(error)"))
    }
  }

  func patterns(_ name: String, _ configuration: LiveConfiguration) throws(APIError) -> [PathPattern] {
    var patterns: [PathPattern] = []
    for item in items where item.name == name {
      guard patterns.count < configuration.limits.patternsPerSubscription else {
        throw .problem(
          Problem(.tooManyPatterns, "There can be \(configuration.limits.patternsPerSubscription) patterns at most."))
      }
      do throws(PathError) {
        patterns.append(try PathPattern(item.value, limits: configuration.paths))
      } catch {
        throw .problem(Problem(.badPattern, "\(error)"))
      }
    }
    return patterns
  }

  /// The members that properties of a list have.
  func listFields() throws(Problem) -> EventFields {
    guard let text = text("fields") else { return .all }
    var fields: EventFields = []
    for name in text.split(separator: ",", omittingEmptySubsequences: false) {
      switch name {
      case "path": fields.insert(.path)
      case "value": fields.insert(.value)
      case "revision": fields.insert(.revision)
      case "time": fields.insert(.time)
      default:
        throw Problem(.badQuery, "Properties have no field \"\(name)\". There are: path, value, revision, time.")
      }
    }
    return fields
  }

  /// The subscription that the query describes; nil when it has no parameters at all.
  func subscription(_ configuration: LiveConfiguration) throws(APIError) -> SubscribeRequest? {
    guard items.contains(where: { $0.name != "batch" }) else { return nil }
    var request = SubscribeRequest()
    request.topic = has("signals") ? .signals : .properties
    request.patterns = try patterns(request.topic == .signals ? "signals" : "match", configuration)
    guard !request.patterns.isEmpty else {
      throw .problem(Problem(.badQuery, "A subscription needs \"match\"."))
    }
    request.filter = try one("where")
    request.initial = try bool("initial") ?? true
    guard request.topic == .properties else {
      try refuse(allBut: ["signals", "where", "initial", "batch", "ticket"], "a subscription to signals")
      return request
    }
    request.since = try cursor("since")
    request.audience = try one("audience")
    request.exit = try bool("exit")
    request.oldValue = try bool("oldValue") ?? true
    do throws(Problem) {
      request.delivery = try DeliveryRequest(self)
    } catch {
      throw .problem(error)
    }
    return request
  }

  /// Appends a value percent-encoded for a query: everything but unreserved characters and `/` is encoded (RFC 3986
  /// §2.3, §3.4).
  static func appendEncoded(_ value: [UInt8], to text: inout [UInt8]) {
    let digits = Array("0123456789ABCDEF".utf8)
    for byte in value {
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "~"), UInt8(ascii: "/"):
        text.append(byte)
      default: text += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
      }
    }
  }
}
