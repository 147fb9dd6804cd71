// SPDX-License-Identifier: MIT

/// The functions of the language.
///
/// The set is closed: a program can call these and nothing else. To add one: a case here, its signatures in a table of
/// `Functions`, its rule in `Evaluator.call`.
enum Function: UInt8, Sendable {
  // Texts, lists and maps.
  case size, contains, startsWith, endsWith, matches
  // Conversions.
  case int, uint, double, string, bytes, bool, type, dyn, timestamp, duration
  // Parts of times.
  case getFullYear, getMonth, getDate, getDayOfMonth, getDayOfWeek, getDayOfYear
  case getHours, getMinutes, getSeconds, getMilliseconds
  // Strings.
  case charAt, indexOf, lastIndexOf, lowerAscii, upperAscii, replace, split, substring, trim, join, format, quote
  // Strings and lists.
  case reverse
  // Lists.
  case distinct, flatten, range, slice, sort, first, last
  // Mathematics.
  case greatest, least, ceil, floor, round, trunc, abs, sign, sqrt, isNaN, isInf, isFinite
  case bitAnd, bitOr, bitXor, bitNot, bitShiftLeft, bitShiftRight
  // Optionals.
  case optionalOf, optionalOfNonZeroValue, optionalNone, hasValue, value, or, orValue
  // Encodings.
  case base64Encode, base64Decode
}

/// One overload of a function.
struct Signature {
  let name: String
  let function: Function
  /// Called as `x.f(…)`; the receiver is the first parameter.
  let isMember: Bool
  let parameters: [CELType]
  let result: CELType
  /// The last parameter stands for any number of arguments, one at least.
  var isVariadic = false

  static func member(_ name: String, _ function: Function, _ parameters: [CELType], _ result: CELType) -> Signature {
    Signature(name: name, function: function, isMember: true, parameters: parameters, result: result)
  }

  static func global(_ name: String, _ function: Function, _ parameters: [CELType], _ result: CELType) -> Signature {
    Signature(name: name, function: function, isMember: false, parameters: parameters, result: result)
  }

  func takes(_ count: Int) -> Bool {
    isVariadic ? count >= parameters.count : count == parameters.count
  }

  func parameter(_ place: Int) -> CELType { parameters[min(place, parameters.count - 1)] }
}

/// The table of overloads, by name.
enum Functions {
  private static let all = standard + conversions + times + strings + lists + math + optionals + encodings

  private static let members = Dictionary(grouping: all.filter(\.isMember), by: \.name)
  private static let globals = Dictionary(grouping: all.filter { !$0.isMember }, by: \.name)

  /// Macros that look like calls of a function.
  private static let globalMacros = ["has", "cel.bind"]
  private static let memberMacros = [
    "all", "exists", "exists_one", "existsOne", "map", "filter", "sortBy", "transformList", "transformMap",
    "transformMapEntry", "optMap", "optFlatMap",
  ]

  /// The first words of names with dots: of functions, and of the types of times.
  static let namespaces = Set(
    (globals.keys + globalMacros + ["google."]).compactMap { name in
      name.firstIndex(of: ".").map { String(name[..<$0]) }
    })

  static func overloads(_ name: String, isMember: Bool) -> [Signature] {
    (isMember ? members : globals)[name] ?? []
  }

  static func isGlobal(_ name: String) -> Bool { globals[name] != nil || globalMacros.contains(name) }

  static func isMember(_ name: String) -> Bool { members[name] != nil }

  static var globalNames: [String] { (globalMacros + globals.keys).sorted() }

  static var memberNames: [String] { (memberMacros + members.keys).sorted() }
}

extension CELType {
  static let a = CELType.parameter(0)
  static let b = CELType.parameter(1)
}

extension Functions {
  /// langdef "List of Standard Definitions".
  static let standard: [Signature] = [
    .global("size", .size, [.string], .int),
    .global("size", .size, [.bytes], .int),
    .global("size", .size, [.list(.a)], .int),
    .global("size", .size, [.map(.a, .b)], .int),
    .member("size", .size, [.string], .int),
    .member("size", .size, [.bytes], .int),
    .member("size", .size, [.list(.a)], .int),
    .member("size", .size, [.map(.a, .b)], .int),
    .member("contains", .contains, [.string, .string], .bool),
    .member("startsWith", .startsWith, [.string, .string], .bool),
    .member("endsWith", .endsWith, [.string, .string], .bool),
    .member("matches", .matches, [.string, .string], .bool),
    .global("matches", .matches, [.string, .string], .bool),
  ]

  /// langdef "List of Standard Definitions": type conversions.
  static let conversions: [Signature] =
    [.int, .uint, .double, .string, .timestamp].map { .global("int", .int, [$0], .int) }
    + [.int, .uint, .double, .string].map { .global("uint", .uint, [$0], .uint) }
    + [.int, .uint, .double, .string].map { .global("double", .double, [$0], .double) }
    + [.bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration].map {
      .global("string", .string, [$0], .string)
    }
    + [.string, .bytes].map { .global("bytes", .bytes, [$0], .bytes) }
    + [.string, .bool].map { .global("bool", .bool, [$0], .bool) }
    + [.string, .int, .timestamp].map { .global("timestamp", .timestamp, [$0], .timestamp) }
    + [.string, .duration].map { .global("duration", .duration, [$0], .duration) }
    + [.global("type", .type, [.a], .type), .global("dyn", .dyn, [.a], .dyn)]

  /// langdef "List of Standard Definitions": parts of times, in UTC or in a zone.
  static let times: [Signature] =
    [
      ("getFullYear", Function.getFullYear), ("getMonth", .getMonth), ("getDate", .getDate),
      ("getDayOfMonth", .getDayOfMonth), ("getDayOfWeek", .getDayOfWeek), ("getDayOfYear", .getDayOfYear),
      ("getHours", .getHours), ("getMinutes", .getMinutes), ("getSeconds", .getSeconds),
      ("getMilliseconds", .getMilliseconds),
    ].flatMap { name, function in
      [
        .member(name, function, [.timestamp], .int),
        .member(name, function, [.timestamp, .string], .int),
      ]
    }
    + [
      .member("getHours", .getHours, [.duration], .int),
      .member("getMinutes", .getMinutes, [.duration], .int),
      .member("getSeconds", .getSeconds, [.duration], .int),
      .member("getMilliseconds", .getMilliseconds, [.duration], .int),
    ]
}
