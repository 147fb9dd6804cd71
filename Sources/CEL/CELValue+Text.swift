// SPDX-License-Identifier: MIT

public import JSON

/// Values as text and as JSON, and back (langdef "JSON Data Conversion").
extension CELValue {
  /// A point in time from RFC 3339 text; nil when it is none, or before year 1 or after 9999.
  public init?(timestamp text: String) {
    guard text.utf8.count <= 64, let time = Times.timestamp(Array(text.utf8)) else { return nil }
    self = .timestamp(seconds: time.int, nanoseconds: time.extra)
  }

  /// A length of time from text such as `1h30m` or `-1.5s`; nil when it is none, or longer than 292 years.
  public init?(duration text: String) {
    guard text.utf8.count <= 256, let length = Times.duration(Array(text.utf8)) else { return nil }
    self = .duration(seconds: length.int, nanoseconds: length.extra)
  }

  /// Bytes from base64 (RFC 4648 §4), with padding or without; nil when it is none.
  public init?(base64 text: String) {
    guard let bytes = Texts.bytes(base64: Array(text.utf8)) else { return nil }
    self = .bytes(bytes)
  }

  /// What a value reads as where only text can stand, such as the name of a member: a string itself, a number or bool
  /// as `string()` writes it, a time in RFC 3339, a length of time in seconds, bytes in base64, a type's name; empty for
  /// `null`, lists, maps and optionals.
  public var text: String {
    switch self {
    case .bool(let value): value ? "true" : "false"
    case .int(let value): String(value)
    case .uint(let value): String(value)
    case .double(let value): Numbers.text(value)
    case .string(let value): value
    case .bytes(let value): String(decoding: Texts.base64(value), as: UTF8.self)
    case .timestamp(let seconds, let nanoseconds):
      Times.text(ofTimestamp: Value(.timestamp, extra: nanoseconds, bits: UInt64(bitPattern: seconds)))
    case .duration(let seconds, let nanoseconds):
      Times.text(ofDuration: Value(.duration, extra: nanoseconds, bits: UInt64(bitPattern: seconds)))
    case .type(let name): name
    case .null, .list, .map, .optional: ""
    }
  }

  /// The value as JSON; nil when it has none: a double that is infinite or not a number, a type, or one of these inside.
  ///
  /// Integers keep all digits. Times, lengths of time and bytes are their ``text``, and so are the keys of maps. An
  /// optional is its value, or `null`. Nil also for what exceeds the limits.
  public func json(limits: JSONLimits = JSONLimits()) -> JSONText? {
    var bytes: [UInt8] = []
    guard append(to: &bytes, limits, depth: 0) else { return nil }
    // Written by us, it can only be refused for its size.
    return try? JSONText(validating: bytes, limits: limits)
  }

  private func append(to json: inout [UInt8], _ limits: JSONLimits, depth: Int) -> Bool {
    guard depth <= limits.depth, json.count <= limits.bytes else { return false }
    switch self {
    case .null: json.append(literal: "null")
    case .bool(let value): json.appendJSON(value)
    case .int(let value): json.appendJSON(value)
    case .uint(let value): json.appendJSON(value)
    case .double(let value):
      guard value.isFinite else { return false }
      json.appendJSON(value)
    case .string, .bytes, .timestamp, .duration: json.appendJSON(text)
    case .type: return false
    case .optional(let value):
      guard let value else {
        json.append(literal: "null")
        return true
      }
      return value.append(to: &json, limits, depth: depth + 1)
    case .list(let elements):
      json.append(literal: "[")
      for (place, element) in elements.enumerated() {
        if place > 0 { json.append(literal: ",") }
        guard element.append(to: &json, limits, depth: depth + 1) else { return false }
      }
      json.append(literal: "]")
    case .map(let entries):
      json.append(literal: "{")
      for (place, entry) in entries.enumerated() {
        if place > 0 { json.append(literal: ",") }
        json.appendJSON(entry.key.text)
        json.append(literal: ":")
        guard entry.value.append(to: &json, limits, depth: depth + 1) else { return false }
      }
      json.append(literal: "}")
    }
    return true
  }
}
