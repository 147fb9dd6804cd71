// SPDX-License-Identifier: MIT

import JSON

/// Type conversions (langdef "List of Standard Definitions"): what does not fit is an error, never cut off silently,
/// but the fraction of a double that becomes an integer.
extension Evaluator {
  func convert(_ activation: borrowing Activation, _ value: Value, to type: Function) -> Value {
    switch type {
    case .dyn: return value
    case .type: return Value(type: value.kind)
    case .int: return int(activation, value)
    case .uint: return uint(activation, value)
    case .double: return double(activation, value)
    case .string: return string(activation, value)
    case .bytes:
      guard value.isText else { return error(.noMatchingOverload) }
      return Value(.bytes, value.range, of: value.source)
    case .bool: return bool(activation, value)
    case .timestamp: return timestamp(activation, value)
    default: return duration(activation, value)
    }
  }

  private func int(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .int: return value
    case .uint: return Int64(exactly: value.uint).map { Value($0) } ?? error(.overflow)
    case .double:
      // The bounds are excluded: as doubles they are not the largest ints but their neighbours.
      guard value.double > -0x1p63, value.double < 0x1p63 else { return error(.overflow) }
      return Value(Int64(value.double))
    case .string: return Int64(text(activation, value)).map { Value($0) } ?? error(.badArgument)
    case .timestamp: return Value(value.int)
    default: return error(.noMatchingOverload)
    }
  }

  private func uint(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .int: return UInt64(exactly: value.int).map { Value($0) } ?? error(.overflow)
    case .uint: return value
    case .double:
      guard value.double >= 0, value.double < 0x1p64 else { return error(.overflow) }
      return Value(UInt64(value.double))
    case .string:
      let text = text(activation, value)
      guard text.utf8.first.map(Lexer.isDigit) == true else { return error(.badArgument) }
      return UInt64(text).map { Value($0) } ?? error(.badArgument)
    default: return error(.noMatchingOverload)
    }
  }

  private func double(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .int: return Value(Double(value.int))
    case .uint: return Value(Double(value.uint))
    case .double: return value
    case .string: return Numbers.double(text(activation, value)).map { Value($0) } ?? error(.badArgument)
    default: return error(.noMatchingOverload)
    }
  }

  private func bool(_ activation: borrowing Activation, _ value: Value) -> Value {
    if value.kind == .bool { return value }
    guard value.kind == .string else { return error(.noMatchingOverload) }
    switch text(activation, value) {
    case "1", "t", "T", "true", "TRUE", "True": return .true
    case "0", "f", "F", "false", "FALSE", "False": return .false
    default: return error(.badArgument)
    }
  }

  private func string(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .string: return value
    case .bytes:
      charge(value.byteCount / 8)
      let bytes = copy(activation, value)
      guard String(validating: bytes, as: UTF8.self) != nil else { return error(.badArgument) }
      return Value(.string, value.range, of: value.source)
    case .bool: return create((value.bool ? "true" : "false").utf8)
    case .int: return create(String(value.int).utf8)
    case .uint: return create(String(value.uint).utf8)
    case .double:
      charge(20)
      return create(Numbers.text(value.double).utf8)
    case .timestamp: return create(Times.text(ofTimestamp: value).utf8)
    case .duration: return create(Times.text(ofDuration: value).utf8)
    default: return error(.noMatchingOverload)
    }
  }

  private func timestamp(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .timestamp: return value
    case .int: return Times.timestamp(seconds: value.int, nanoseconds: 0) ?? error(.overflow)
    case .string:
      guard value.byteCount <= 64 else { return error(.badArgument) }
      return Times.timestamp(copy(activation, value)) ?? error(.badArgument)
    default: return error(.noMatchingOverload)
    }
  }

  private func duration(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .duration: return value
    case .string:
      guard value.byteCount <= 256 else { return error(.badArgument) }
      return Times.duration(copy(activation, value)) ?? error(.badArgument)
    default: return error(.noMatchingOverload)
    }
  }

  /// The text of a number: longer than any sensible one it is cut, and so refused.
  private func text(_ activation: borrowing Activation, _ value: Value) -> String {
    String(decoding: copy(activation, value).prefix(1024), as: UTF8.self)
  }

  func convertBase64(_ activation: borrowing Activation, _ function: Function, _ value: Value) -> Value {
    charge(value.byteCount / 4)
    switch (function, value.kind) {
    case (.base64Encode, .bytes):
      guard value.byteCount <= room else { return error(.tooLarge) }
      return create(Texts.base64(copy(activation, value)))
    case (.base64Decode, .string):
      guard let bytes = Texts.bytes(base64: copy(activation, value)) else { return error(.badArgument) }
      return create(bytes, .bytes)
    default: return error(.noMatchingOverload)
    }
  }

  // MARK: - Parts of times

  func part(
    _ activation: borrowing Activation, _ function: Function, of value: Value, zone: Value?
  ) -> Value {
    if value.kind == .duration, zone == nil { return durationPart(function, of: value) }
    guard value.kind == .timestamp, zone == nil || zone?.kind == .string else { return error(.noMatchingOverload) }
    var seconds = value.int
    if let zone {
      guard zone.byteCount <= 64 else { return error(.badArgument) }
      // A zone that is not known yet is read from the disk.
      charge(100)
      guard let offset = TimeZones.offset(of: copy(activation, zone), at: seconds) else { return error(.badArgument) }
      seconds += Int64(offset)
    }
    let (date, second) = CalendarDay.split(seconds, dayOf: 86_400)
    switch function {
    case .getFullYear: return Value(date.year)
    case .getMonth: return Value(date.month - 1)
    case .getDate: return Value(date.day)
    case .getDayOfMonth: return Value(date.day - 1)
    case .getDayOfWeek: return Value(date.weekday)
    case .getDayOfYear: return Value(date.number - CalendarDay.number(year: date.year, month: 1, day: 1))
    case .getHours: return Value(second / 3600)
    case .getMinutes: return Value(second / 60 % 60)
    case .getSeconds: return Value(second % 60)
    default: return Value(Int64(value.extra) / 1_000_000)
    }
  }

  /// The whole length in a unit, but for milliseconds: those are the part below a second.
  private func durationPart(_ function: Function, of value: Value) -> Value {
    switch function {
    case .getHours: Value(value.int / 3600)
    case .getMinutes: Value(value.int / 60)
    case .getSeconds: Value(value.int)
    case .getMilliseconds: Value(Int64(value.extra) / 1_000_000)
    default: error(.noMatchingOverload)
    }
  }
}
