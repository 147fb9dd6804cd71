// SPDX-License-Identifier: MIT

/// A type as the checker knows it (langdef "Gradual Type Checking").
public indirect enum CELType: Hashable, Sendable {
  /// Any type; known only when the program runs.
  case dyn
  /// The type of `null`.
  case null
  /// `true` and `false`.
  case bool
  /// 64-bit signed integers.
  case int
  /// 64-bit unsigned integers.
  case uint
  /// 64-bit floating-point numbers.
  case double
  /// Sequences of Unicode code points.
  case string
  /// Sequences of bytes.
  case bytes
  /// Points in time, to the nanosecond.
  case timestamp
  /// Lengths of time, to the nanosecond.
  case duration
  /// Types themselves: what `type(x)` gives.
  case type
  /// Lists of elements of one type.
  case list(CELType)
  /// Maps from keys of one type to values of one type.
  case map(CELType, CELType)
  /// A value of a type, or none.
  case optional(CELType)
  /// In the signature of a function: any type, but the same wherever the number is.
  case parameter(Int)

  /// What is in an empty list, map or optional: nothing yet, so it becomes whatever it is put together with.
  static let open = CELType.parameter(-1)

  /// Whether a value of this type may be `true` or `false`.
  var mayBeBool: Bool { self == .bool || self == .dyn }

  var isNumeric: Bool { self == .int || self == .uint || self == .double }

  /// The type of a value that has one of two types.
  func joined(with other: CELType) -> CELType {
    switch (self, other) {
    case _ where self == other: self
    case (.open, _): other
    case (_, .open): self
    // Of these the definition lets `null` be one.
    case (.null, .optional), (.null, .timestamp), (.null, .duration): other
    case (.optional, .null), (.timestamp, .null), (.duration, .null): self
    case (.list(let a), .list(let b)): .list(a.joined(with: b))
    case (.map(let keyA, let valueA), .map(let keyB, let valueB)):
      .map(keyA.joined(with: keyB), valueA.joined(with: valueB))
    case (.optional(let a), .optional(let b)): .optional(a.joined(with: b))
    default: .dyn
    }
  }

  /// The type with `dyn` for what is still open.
  var closed: CELType {
    switch self {
    case .open: .dyn
    case .list(let element): .list(element.closed)
    case .optional(let value): .optional(value.closed)
    case .map(let key, let value): .map(key.closed, value.closed)
    default: self
    }
  }

  /// Whether lists, maps and optionals are nested more than `levels` deep.
  func isDeeper(than levels: Int) -> Bool {
    guard levels > 0 else { return true }
    return switch self {
    case .list(let element), .optional(let element): element.isDeeper(than: levels - 1)
    case .map(let key, let value): key.isDeeper(than: levels - 1) || value.isDeeper(than: levels - 1)
    default: false
    }
  }

  /// Whether values of the two types can be equal, so that a comparison is not a mistake.
  ///
  /// Numbers of different types can.
  func isComparable(with other: CELType) -> Bool {
    switch (self, other) {
    case (.dyn, _), (_, .dyn), (.null, _), (_, .null): true
    case (.list(let a), .list(let b)): a.isComparable(with: b)
    case (.map(let keyA, let valueA), .map(let keyB, let valueB)):
      keyA.isComparable(with: keyB) && valueA.isComparable(with: valueB)
    case (.optional(let a), .optional(let b)): a.isComparable(with: b)
    default: self == other || isNumeric && other.isNumeric
    }
  }

  /// Whether a value of this type can be an argument where `formal` is asked for.
  ///
  /// Parameters of the formal type are bound to what they meet, and widened to `dyn` when that is `dyn`.
  func matches(_ formal: CELType, _ bound: inout [Int: CELType]) -> Bool {
    switch (self, formal) {
    case (_, .parameter(let number)):
      guard let earlier = bound[number] else {
        bound[number] = self
        return true
      }
      guard earlier.isComparable(with: self) else { return false }
      bound[number] = earlier.joined(with: self)
      return true
    case (.dyn, _):
      formal.bindParametersToDyn(&bound)
      return true
    case (_, .dyn): return true
    case (.list(let a), .list(let b)), (.optional(let a), .optional(let b)): return a.matches(b, &bound)
    case (.map(let keyA, let valueA), .map(let keyB, let valueB)):
      return keyA.matches(keyB, &bound) && valueA.matches(valueB, &bound)
    default: return self == formal
    }
  }

  private func bindParametersToDyn(_ bound: inout [Int: CELType]) {
    switch self {
    case .parameter(let number): bound[number] = .dyn
    case .list(let element), .optional(let element): element.bindParametersToDyn(&bound)
    case .map(let key, let value):
      key.bindParametersToDyn(&bound)
      value.bindParametersToDyn(&bound)
    default: break
    }
  }

  /// The type with its parameters replaced by what they were bound to.
  func substituting(_ bound: [Int: CELType]) -> CELType {
    switch self {
    case .parameter(let number): bound[number] ?? (self == .open ? self : .dyn)
    case .list(let element): .list(element.substituting(bound))
    case .optional(let element): .optional(element.substituting(bound))
    case .map(let key, let value): .map(key.substituting(bound), value.substituting(bound))
    default: self
    }
  }
}

extension CELType: CustomStringConvertible {
  /// The type as CEL writes it, such as `map(string, list(int))`.
  public var description: String {
    switch self {
    case .dyn: "dyn"
    case .null: "null_type"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .timestamp: "google.protobuf.Timestamp"
    case .duration: "google.protobuf.Duration"
    case .type: "type"
    case .list(let element): "list(\(element))"
    case .map(let key, let value): "map(\(key), \(value))"
    case .optional(let value): "optional_type(\(value))"
    case .open: "dyn"
    case .parameter(let number): String(UnicodeScalar(UInt8(ascii: "A") + UInt8(truncatingIfNeeded: number % 26)))
    }
  }
}
