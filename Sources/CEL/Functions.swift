// SPDX-License-Identifier: MIT

/// The functions of the language. The set is closed: a program can call these and nothing else.
///
/// To add one: a case here, its signatures in a table below, its rule in `Evaluator.call`.
enum Function: UInt8, Sendable {
  case size
  case contains
  case startsWith
  case endsWith
}

/// One overload of a function.
struct Signature {
  let name: String
  let function: Function
  /// Called as `x.f(…)`; the receiver is the first parameter.
  let isMember: Bool
  let parameters: [CELType]
  let result: CELType

  static func member(_ name: String, _ function: Function, _ parameters: [CELType], _ result: CELType) -> Signature {
    Signature(name: name, function: function, isMember: true, parameters: parameters, result: result)
  }

  static func global(_ name: String, _ function: Function, _ parameters: [CELType], _ result: CELType) -> Signature {
    Signature(name: name, function: function, isMember: false, parameters: parameters, result: result)
  }
}

/// The table of overloads, by name.
enum Functions {
  private static let byName: [String: [Signature]] = Dictionary(grouping: standard, by: \.name)

  /// Macros that look like calls of a function.
  private static let globalMacros = ["has", "cel.bind"]
  private static let memberMacros = [
    "all", "exists", "exists_one", "existsOne", "map", "filter", "transformList", "transformMap",
    "transformMapEntry", "optMap", "optFlatMap",
  ]

  static func overloads(_ name: String, isMember: Bool) -> [Signature] {
    (byName[name] ?? []).filter { $0.isMember == isMember }
  }

  static func isGlobal(_ name: String) -> Bool {
    globalMacros.contains(name) || !overloads(name, isMember: false).isEmpty
  }

  static func isMember(_ name: String) -> Bool { !overloads(name, isMember: true).isEmpty }

  static var globalNames: [String] {
    (globalMacros + byName.values.joined().lazy.filter { !$0.isMember }.map(\.name)).sorted()
  }

  static var memberNames: [String] {
    (memberMacros + byName.values.joined().lazy.filter(\.isMember).map(\.name)).sorted()
  }
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
  ]
}
