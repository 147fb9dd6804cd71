// SPDX-License-Identifier: MIT

import CEL
import JSON

/// Values as JSON that keeps their types: `{"type":T, "value":X}`.
///
/// `null`, `bool` and `string` are JSON; `int` and `uint` decimal strings, or numbers when they are read; `double` a
/// number, `"NaN"`, `"Infinity"` or `"-Infinity"`; `bytes` base64; `list` `[V…]`; `map` `[[V,V]…]`; `timestamp`
/// RFC 3339; `duration` such as `"1.5s"`; `type` the type's name; `optional` V or `null`.
enum TypedValue {
  /// Reads a value; recursive as deep as the JSON, which its limits bound.
  static func value(_ node: JSONTree.Node, in tree: JSONTree) throws -> CELValue {
    guard let type = tree.member("type", of: node).flatMap(tree.string) else {
      throw RequestError("a value has a type: {\"type\":…, \"value\":…}")
    }
    let content = tree.member("value", of: node)
    guard let value = try content.map({ try value(of: type, $0, in: tree) }) ?? (type == "null" ? .null : nil) else {
      throw RequestError("a value of type '\(type)' does not look like this")
    }
    return value
  }

  private static func value(of type: String, _ node: JSONTree.Node, in tree: JSONTree) throws -> CELValue? {
    let text = tree.string(node)
    switch type {
    case "null", "null_type": return tree.kind(of: node) == .null ? .null : nil
    case "bool": return tree.bool(node).map { .bool($0) }
    case "int": return (tree.int64(node) ?? text.flatMap { Int64($0) }).map { .int($0) }
    case "uint": return (tree.uint64(node) ?? text.flatMap { UInt64($0) }).map { .uint($0) }
    case "double":
      switch text {
      case "NaN": return .double(.nan)
      case "Infinity": return .double(.infinity)
      case "-Infinity": return .double(-.infinity)
      default: return tree.double(node).map { .double($0) }
      }
    case "string": return text.map { .string($0) }
    case "bytes": return text.flatMap { CELValue(base64: $0) }
    case "timestamp": return text.flatMap { CELValue(timestamp: $0) }
    case "duration": return text.flatMap { CELValue(duration: $0) }
    case "type": return text.map { .type($0) }
    case "optional":
      return .optional(tree.kind(of: node) == .null ? nil : try value(node, in: tree))
    case "list":
      guard tree.kind(of: node) == .array else { return nil }
      return .list(try tree.elements(of: node).map { try value($0, in: tree) })
    case "map":
      guard tree.kind(of: node) == .array else { return nil }
      return .map(
        try tree.elements(of: node).map { entry in
          guard tree.kind(of: entry) == .array, tree.count(of: entry) == 2, let key = tree.element(0, of: entry),
            let content = tree.element(1, of: entry)
          else { throw RequestError("an entry of a map is a list of two values") }
          return (try value(key, in: tree), try value(content, in: tree))
        })
    default: throw RequestError("unknown type '\(type)'")
    }
  }

  /// Writes a value.
  static func append(_ value: CELValue, to json: inout [UInt8]) {
    switch value {
    case .null: json.append(literal: #"{"type":"null","value":null}"#)
    case .bool(let bool):
      json.append(literal: #"{"type":"bool","value":"#)
      json.appendJSON(bool)
      json.append(literal: "}")
    case .int(let int): append("int", String(int), to: &json)
    case .uint(let uint): append("uint", String(uint), to: &json)
    case .double(let double) where double.isFinite:
      json.append(literal: #"{"type":"double","value":"#)
      json.appendJSON(double)
      json.append(literal: "}")
    case .double(let double): append("double", double.isNaN ? "NaN" : double < 0 ? "-Infinity" : "Infinity", to: &json)
    case .string(let text): append("string", text, to: &json)
    case .bytes: append("bytes", value.text, to: &json)
    case .timestamp: append("timestamp", value.text, to: &json)
    case .duration: append("duration", value.text, to: &json)
    case .type(let name): append("type", name, to: &json)
    case .optional(let content):
      json.append(literal: #"{"type":"optional","value":"#)
      if let content { append(content, to: &json) } else { json.append(literal: "null") }
      json.append(literal: "}")
    case .list(let elements):
      json.append(literal: #"{"type":"list","value":["#)
      for (place, element) in elements.enumerated() {
        if place > 0 { json.append(literal: ",") }
        append(element, to: &json)
      }
      json.append(literal: "]}")
    case .map(let entries):
      json.append(literal: #"{"type":"map","value":["#)
      for (place, entry) in entries.enumerated() {
        json.append(literal: place > 0 ? ",[" : "[")
        append(entry.key, to: &json)
        json.append(literal: ",")
        append(entry.value, to: &json)
        json.append(literal: "]")
      }
      json.append(literal: "]}")
    }
  }

  private static func append(_ type: String, _ text: String, to json: inout [UInt8]) {
    json.append(literal: #"{"type":"#)
    json.appendJSON(type)
    json.append(literal: #","value":"#)
    json.appendJSON(text)
    json.append(literal: "}")
  }
}
