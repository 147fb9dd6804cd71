// SPDX-License-Identifier: MIT

public import JSON

/// A value that stands alone: what an evaluation gives, or what is bound to a variable.
public indirect enum CELValue: Sendable {
  /// `null`.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A 64-bit signed integer.
  case int(Int64)
  /// A 64-bit unsigned integer.
  case uint(UInt64)
  /// A 64-bit floating-point number.
  case double(Double)
  /// A sequence of Unicode code points.
  case string(String)
  /// A sequence of bytes.
  case bytes([UInt8])
  /// A list.
  case list([CELValue])
  /// A map in the order of its making; no two keys are equal.
  case map([(key: CELValue, value: CELValue)])
  /// A point in time: seconds since 1970-01-01T00:00:00Z and nanoseconds from 0 to 999 999 999 after that.
  case timestamp(seconds: Int64, nanoseconds: Int32)
  /// A length of time: seconds, and nanoseconds of the same sign.
  case duration(seconds: Int64, nanoseconds: Int32)
  /// A type, by name.
  case type(String)
  /// A value, or none.
  case optional(CELValue?)
}

extension CELValue {
  /// A JSON value: an integer that fits is an int, or else a uint; other numbers are doubles.
  ///
  /// Of several members with one name the last counts. O(size), recursive as deep as the value.
  public init(_ tree: JSONTree) {
    self.init(tree, .root)
  }

  private init(_ tree: JSONTree, _ node: JSONTree.Node) {
    switch tree.kind(of: node) {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .number:
      if let int = tree.int64(node) {
        self = .int(int)
      } else if let uint = tree.uint64(node) {
        self = .uint(uint)
      } else {
        self = .double(tree.double(node) ?? .nan)
      }
    case .string, .key: self = .string(tree.string(node) ?? "")
    case .array: self = .list(tree.elements(of: node).map { CELValue(tree, $0) })
    case .object:
      var entries: [(key: CELValue, value: CELValue)] = []
      for key in tree.keys(of: node) {
        guard let value = tree.value(ofKey: key), tree.isLast(key, of: node) else { continue }
        entries.append((.string(tree.string(key) ?? ""), CELValue(tree, value)))
      }
      self = .map(entries)
    }
  }

  /// Whether this is the bool `true`.
  public var isTrue: Bool {
    if case .bool(true) = self { true } else { false }
  }
}

extension JSONTree {
  /// Whether no later member of the object has the same name as this key.
  func isLast(_ key: Node, of object: Node) -> Bool {
    withUTF8(of: key) { name in member(name, of: object) == value(ofKey: key) } ?? false
  }
}

// MARK: - In and out of pools

extension Pool {
  /// Adds a value.
  ///
  /// `source` says whose pool this is.
  mutating func add(_ value: CELValue, as source: Value.Source) -> Value {
    switch value {
    case .null: return .null
    case .bool(let bool): return Value(bool)
    case .int(let int): return Value(int)
    case .uint(let uint): return Value(uint)
    case .double(let double): return Value(double)
    case .string(let string): return add(text: string.utf8, .string, as: source)
    case .bytes(let content): return add(text: content, .bytes, as: source)
    case .list(let elements):
      return add(list: elements.map { add($0, as: source) }, .list, as: source)
    case .map(let entries):
      return add(list: entries.flatMap { [add($0.key, as: source), add($0.value, as: source)] }, .map, as: source)
    case .timestamp(let seconds, let nanoseconds):
      return Value(.timestamp, extra: nanoseconds, bits: UInt64(bitPattern: seconds))
    case .duration(let seconds, let nanoseconds):
      return Value(.duration, extra: nanoseconds, bits: UInt64(bitPattern: seconds))
    case .type(let name): return Value(type: Value.Kind(typeName: name) ?? .error)
    case .optional(nil): return Value(.optional)
    case .optional(let content?):
      let content = add(content, as: source)
      return add(list: [content], .optional, as: source)
    }
  }

  mutating func add(text: some Sequence<UInt8>, _ kind: Value.Kind, as source: Value.Source) -> Value {
    let start = bytes.count
    bytes.append(contentsOf: text)
    return Value(kind, start..<bytes.count, of: source)
  }

  mutating func add(list: [Value], _ kind: Value.Kind, as source: Value.Source) -> Value {
    lists.append(list)
    return Value(kind, source: source, extra: kind == .optional ? 1 : 0, bits: UInt64(lists.count - 1))
  }
}

// MARK: - Equality

extension CELValue: Equatable {
  /// Whether both are the same kind and value: `1` and `1.0` differ, and so do maps in another order.
  ///
  /// Two doubles that are not a number are the same.
  public static func == (a: CELValue, b: CELValue) -> Bool {
    switch (a, b) {
    case (.null, .null): true
    case (.bool(let a), .bool(let b)): a == b
    case (.int(let a), .int(let b)): a == b
    case (.uint(let a), .uint(let b)): a == b
    case (.double(let a), .double(let b)): a == b || a.isNaN && b.isNaN
    // By code points: the operator of String treats composed and decomposed letters as equal.
    case (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
    case (.bytes(let a), .bytes(let b)): a == b
    case (.list(let a), .list(let b)): a == b
    case (.map(let a), .map(let b)):
      a.count == b.count && zip(a, b).allSatisfy { $0.key == $1.key && $0.value == $1.value }
    case (.timestamp(let a, let b), .timestamp(let c, let d)), (.duration(let a, let b), .duration(let c, let d)):
      a == c && b == d
    case (.type(let a), .type(let b)): a == b
    case (.optional(let a), .optional(let b)): a == b
    default: false
    }
  }
}
