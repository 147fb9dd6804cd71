// SPDX-License-Identifier: MIT

/// A parsed expression: a flat array of nodes, each after all of its parts.
///
/// So the checker is one loop over the array, nothing that walks it needs recursion, and freeing it does not either:
/// no source can overflow the stack. Names are resolved: the parser knows what is in scope where it reads one.
struct Syntax {
  typealias ID = Int

  enum Kind {
    case null
    case bool(Bool)
    case int(Int64)
    case uint(UInt64)
    case double(Double)
    case string([UInt8])
    case bytes([UInt8])
    /// A value that was known when the expression was specialized; see `CheckedExpression`.
    case constant(CELValue)
    /// A type's name used as a value.
    case type(Value.Kind)
    /// A name that means nothing; an error when it is evaluated.
    case unknown
    /// A variable of the environment, by slot.
    case variable(Int)
    /// A variable that a macro has introduced.
    case local(Local)
    case select(ID, field: [UInt8], isOptional: Bool)
    case has(ID, field: [UInt8])
    case index(ID, ID, isOptional: Bool)
    case not(ID)
    case negate(ID)
    case binary(BinaryOperator, ID, ID)
    case and(ID, ID)
    case or(ID, ID)
    case conditional(ID, ID, ID)
    case list([Element])
    case map([Entry])
    case call(name: String, receiver: ID?, arguments: [ID])
    case comprehension(Comprehension)
    /// `cel.bind(name, value, body)`.
    case bind(scope: Int, value: ID, body: ID)
    /// `optMap` and `optFlatMap`.
    case optionalMap(scope: Int, value: ID, body: ID, isFlat: Bool)
  }

  struct Node {
    var kind: Kind
    /// Where an error of this node points: the operator of a binary one, the first byte of others.
    var position: Int
  }

  /// An element of a list literal; an optional one, `?x`, is left out when it has no value.
  struct Element {
    var value: ID
    var isOptional: Bool
  }

  /// An entry of a map literal.
  struct Entry {
    var key: ID
    var value: ID
    var isOptional: Bool
  }

  /// A variable of a macro: which scope, and the first or second name of it.
  struct Local: Hashable {
    var scope: Int
    var isSecond: Bool
  }

  /// Where the locals of a macro come from.
  struct Scope {
    enum Source {
      /// Elements or keys of the node; with two names, index and element or key and value.
      case iteration(ID)
      /// The value of the node.
      case value(ID)
      /// The value of the optional of the node.
      case optional(ID)
    }

    var source: Source
    var names: [String]
  }

  enum Macro: String, Sendable {
    case all
    case exists
    case existsOne
    case map
    case filter
    case transformList
    case transformMap
    case transformMapEntry
    case sortBy
  }

  struct Comprehension {
    var macro: Macro
    var scope: Int
    var range: ID
    /// The condition of `map` and `transform…` with three or four arguments.
    var filter: ID?
    /// The predicate or the transformation.
    var body: ID
  }

  var nodes: [Node] = []
  var scopes: [Scope] = []

  var root: ID { nodes.count - 1 }
}

/// The operators that evaluate both operands.
enum BinaryOperator: String {
  case add = "+"
  case subtract = "-"
  case multiply = "*"
  case divide = "/"
  case remainder = "%"
  case equal = "=="
  case notEqual = "!="
  case less = "<"
  case lessEqual = "<="
  case greater = ">"
  case greaterEqual = ">="
  case `in` = "in"
}

extension Syntax.Kind {
  /// The nodes that it is made of, in the order of the source.
  var parts: [Syntax.ID] {
    switch self {
    case .null, .bool, .int, .uint, .double, .string, .bytes, .constant, .type, .unknown, .variable, .local: []
    case .select(let operand, _, _), .has(let operand, _), .not(let operand), .negate(let operand): [operand]
    case .index(let a, let b, _), .binary(_, let a, let b), .and(let a, let b), .or(let a, let b): [a, b]
    case .conditional(let condition, let yes, let no): [condition, yes, no]
    case .list(let elements): elements.map(\.value)
    case .map(let entries): entries.flatMap { [$0.key, $0.value] }
    case .call(_, let receiver, let arguments): (receiver.map { [$0] } ?? []) + arguments
    case .comprehension(let comprehension):
      [comprehension.range] + (comprehension.filter.map { [$0] } ?? []) + [comprehension.body]
    case .bind(_, let value, let body), .optionalMap(_, let value, let body, _): [value, body]
    }
  }

  /// The scope of the variables that it introduces, if it does.
  var scope: Int? {
    switch self {
    case .comprehension(let comprehension): comprehension.scope
    case .bind(let scope, _, _), .optionalMap(let scope, _, _, _): scope
    default: nil
    }
  }
}
