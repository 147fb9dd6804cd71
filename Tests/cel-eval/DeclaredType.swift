// SPDX-License-Identifier: MIT

import CEL

/// The names of types in a declaration: `int`, `list(string)`, `map(string, dyn)`, `optional_type(int)`.
enum DeclaredType {
  /// How deep a type may be nested.
  private static let depthLimit = 32

  static func parse(_ text: String) -> CELType? {
    var rest = Substring(text.filter { $0 != " " })
    guard let type = parse(&rest, depth: 0), rest.isEmpty else { return nil }
    return type
  }

  private static func parse(_ rest: inout Substring, depth: Int) -> CELType? {
    guard depth < depthLimit else { return nil }
    let name = rest.prefix { $0 != "(" && $0 != ")" && $0 != "," }
    rest = rest.dropFirst(name.count)
    var parameters: [CELType] = []
    if rest.first == "(" {
      repeat {
        rest = rest.dropFirst()
        guard let parameter = parse(&rest, depth: depth + 1) else { return nil }
        parameters.append(parameter)
      } while rest.first == ","
      guard rest.first == ")" else { return nil }
      rest = rest.dropFirst()
    }
    return type(String(name), parameters)
  }

  private static func type(_ name: String, _ parameters: [CELType]) -> CELType? {
    switch (name, parameters.count) {
    case ("dyn", 0), ("any", 0): .dyn
    case ("null", 0), ("null_type", 0): .null
    case ("bool", 0): .bool
    case ("int", 0): .int
    case ("uint", 0): .uint
    case ("double", 0): .double
    case ("string", 0): .string
    case ("bytes", 0): .bytes
    case ("timestamp", 0), ("google.protobuf.Timestamp", 0): .timestamp
    case ("duration", 0), ("google.protobuf.Duration", 0): .duration
    case ("type", 0): .type
    case ("list", 0): .list(.dyn)
    case ("list", 1): .list(parameters[0])
    case ("map", 0): .map(.dyn, .dyn)
    case ("map", 2): .map(parameters[0], parameters[1])
    case ("optional", 1), ("optional_type", 1): .optional(parameters[0])
    default: nil
    }
  }
}
