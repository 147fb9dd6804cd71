// SPDX-License-Identifier: MIT

/// A value while a program runs: 16 bytes without references, so that moving it costs nothing.
///
/// What does not fit is named by a place: text by a range of bytes, a list or map by a number or by a node of a JSON
/// tree, and `source` says whose. A value means something only during the evaluation, or in the pool, it was made in.
struct Value: BitwiseCopyable, Sendable {
  enum Kind: UInt8, Sendable {
    case null
    case bool
    case int
    case uint
    case double
    case string
    case bytes
    case list
    case map
    case timestamp
    case duration
    case type
    case optional
    /// No value: why, and at which instruction.
    case error
    /// The state of a loop.
    ///
    /// Programs cannot see one.
    case cursor
  }

  /// Whose text, list or map it is.
  struct Source: Hashable, Sendable {
    let rawValue: UInt8

    /// No owner: everything is in the value.
    static let none = Source(rawValue: 0)
    /// The constants of the program.
    static let constants = Source(rawValue: 1)
    /// What this evaluation has created.
    static let created = Source(rawValue: 2)
    /// The values bound in the activation that are no JSON.
    static let bound = Source(rawValue: 3)
    /// The path of the activation.
    static let path = Source(rawValue: 4)
    /// The names of operations.
    static let operations = Source(rawValue: 5)
    /// A JSON tree of the activation.
    static let tree0 = Source(rawValue: 6)
    static let tree1 = Source(rawValue: 7)
    private static let fetched = tree0.rawValue + UInt8(CELEnvironment.variableLimit)

    init(rawValue: UInt8) { self.rawValue = rawValue }

    /// A JSON tree of the activation by its number, of which there are as many as variables.
    init(tree number: Int) { rawValue = Self.tree0.rawValue &+ UInt8(truncatingIfNeeded: number) }

    /// A JSON tree that this evaluation has fetched; `CELLimits.lookupKeys` bounds the number.
    init(fetched number: Int) { rawValue = Self.fetched + UInt8(number) }

    /// The number of a fetched tree; nil for another source.
    var fetchedNumber: Int? { rawValue < Self.fetched ? nil : Int(rawValue - Self.fetched) }

    /// The number of a tree of the activation, from the third on.
    var furtherNumber: Int { Int(rawValue) - Int(Self.tree0.rawValue) - 2 }
  }

  let kind: Kind
  let source: Source
  /// The nanoseconds of a time; the instruction of an error; 1 for an optional that has a value.
  let extra: Int32
  /// The number; the range of a text; the number of a list; a node; seconds.
  let bits: UInt64

  init(_ kind: Kind, source: Source = .none, extra: Int32 = 0, bits: UInt64 = 0) {
    self.kind = kind
    self.source = source
    self.extra = extra
    self.bits = bits
  }

  init(_ value: Bool) { self.init(.bool, bits: value ? 1 : 0) }
  init(_ value: Int64) { self.init(.int, bits: UInt64(bitPattern: value)) }
  init(_ value: Int) { self.init(Int64(value)) }
  init(_ value: UInt64) { self.init(.uint, bits: value) }
  init(_ value: Double) { self.init(.double, bits: value.bitPattern) }
  init(type kind: Kind) { self.init(.type, bits: UInt64(kind.rawValue)) }

  /// A string or bytes at a place of its source.
  init(_ kind: Kind, _ range: Range<Int>, of source: Source) {
    self.init(kind, source: source, bits: UInt64(range.lowerBound) << 32 | UInt64(range.count))
  }

  static let null = Value(.null)
  static let `true` = Value(true)
  static let `false` = Value(false)

  static func error(_ reason: EvaluationError.Reason, at instruction: Int = 0) -> Value {
    Value(.error, extra: Int32(truncatingIfNeeded: instruction), bits: UInt64(reason.rawValue))
  }

  var isError: Bool { kind == .error }
  var isTrue: Bool { kind == .bool && bits != 0 }
  var isFalse: Bool { kind == .bool && bits == 0 }
  var isNumber: Bool { kind == .int || kind == .uint || kind == .double }
  var isText: Bool { kind == .string || kind == .bytes }

  /// Whether this names a node of a JSON tree, when it is a list or a map.
  var isNode: Bool { source.rawValue >= Source.tree0.rawValue }

  var bool: Bool { bits != 0 }
  var int: Int64 { Int64(bitPattern: bits) }
  var uint: UInt64 { bits }
  var double: Double { Double(bitPattern: bits) }
  /// The number of a list or map that is not JSON.
  var number: Int { Int(truncatingIfNeeded: bits) }
  var typeKind: Kind { Kind(rawValue: UInt8(truncatingIfNeeded: bits)) ?? .null }

  /// Where the text of a string or bytes is.
  var range: Range<Int> {
    let start = Int(bits >> 32)
    return start..<start + Int(bits & 0xFFFF_FFFF)
  }

  /// The length of a string or bytes in bytes.
  var byteCount: Int { Int(bits & 0xFFFF_FFFF) }

  var errorReason: EvaluationError.Reason {
    EvaluationError.Reason(rawValue: UInt8(truncatingIfNeeded: bits)) ?? .noMatchingOverload
  }
}

extension Value.Kind {
  /// The kind whose type has this name.
  init?(typeName: String) {
    switch typeName {
    case "null_type": self = .null
    case "bool": self = .bool
    case "int": self = .int
    case "uint": self = .uint
    case "double": self = .double
    case "string": self = .string
    case "bytes": self = .bytes
    case "list": self = .list
    case "map": self = .map
    case "google.protobuf.Timestamp": self = .timestamp
    case "google.protobuf.Duration": self = .duration
    case "type": self = .type
    case "optional_type": self = .optional
    default: return nil
    }
  }

  /// The name of the type of values of this kind.
  var typeName: String {
    switch self {
    case .null: "null_type"
    case .bool: "bool"
    case .int: "int"
    case .uint: "uint"
    case .double: "double"
    case .string: "string"
    case .bytes: "bytes"
    case .list: "list"
    case .map: "map"
    case .timestamp: "google.protobuf.Timestamp"
    case .duration: "google.protobuf.Duration"
    case .type: "type"
    case .optional: "optional_type"
    case .error, .cursor: "error"
    }
  }
}

/// Texts, lists and maps that values name by place.
struct Pool: Sendable {
  /// The texts, concatenated.
  var bytes: [UInt8] = []
  /// Lists; maps as keys and values in turn; the value of an optional as a list of one.
  var lists: [[Value]] = []
}
