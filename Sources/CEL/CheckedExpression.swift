// SPDX-License-Identifier: MIT

/// An expression that has been parsed and checked.
struct CheckedSyntax: Sendable {
  let source: String
  let environment: CELEnvironment
  let limits: CELLimits
  let syntax: Syntax
  /// The type of each node of the syntax.
  let types: [CELType]

  init(_ source: String, environment: CELEnvironment, limits: CELLimits) throws(CELError) {
    // A longer one is refused before it is copied.
    let bytes = Array(source.utf8.prefix(max(limits.bytes, limits.bytes &+ 1)))
    syntax = try Parser.parse(bytes, environment: environment, limits: limits)
    types = try Checker.check(syntax, environment: environment, source: bytes)
    self.source = source
    self.environment = environment
    self.limits = limits
  }
}

/// A condition of which some variables may become known before the others.
///
/// Partial evaluation: what depends on known variables alone is calculated, and ``residual(knowing:)`` is what is left.
/// So a rule about users and values becomes, for one user, a filter over values.
package struct CheckedExpression: Sendable {
  /// The whole condition.
  package let program: Program
  fileprivate let checked: CheckedSyntax
  /// The slots of the variables it uses; see ``CELEnvironment/slot(of:)``.
  private let slots: [Int]

  var syntax: Syntax { checked.syntax }

  /// Compiles a condition: one whose value can never be a bool is refused as ``CELError/Reason/notABoolean``.
  package init(
    condition source: String, environment: CELEnvironment, limits: CELLimits = CELLimits()
  ) throws(CELError) {
    checked = try CheckedSyntax(source, environment: environment, limits: limits)
    let type = checked.types[checked.syntax.root]
    guard type.mayBeBool else {
      throw CELError(.notABoolean, "a condition is true or false, and this is \(type)", at: 0, in: Array(source.utf8))
    }
    program = try Program(checked.syntax, of: checked)
    slots = program.variables.compactMap { environment.slot(of: $0) }
  }

  /// What is left of an expression when some of its variables are known.
  package enum Residual: Sendable {
    /// Nothing: it has this value, whatever the other variables are.
    case value(CELValue)
    /// Nothing: it has no value, whatever they are.
    case failed
    /// A program over the other variables, and a key: programs with equal keys have equal values.
    case program(Program, key: [UInt8])
  }

  /// Calculates what depends on known variables alone.
  ///
  /// O(size of the expression and of the values).
  ///
  /// - Parameter values: By slot; see ``CELEnvironment/slot(of:)``. A lookup cannot be known.
  package func residual(knowing values: [Int: CELValue]) -> Residual {
    if slots.allSatisfy({ values[$0] != nil }) { return whole(values) }
    var specializer = Specializer(checked, values)
    specializer.calculate()
    specializer.simplify()
    let syntax = specializer.syntax
    switch syntax.nodes[syntax.root].kind {
    case .constant(let value): return .value(value)
    case .unknown: return .failed
    default: break
    }
    // It was compiled as a whole; nothing in a part of it can be refused that was not refused there. Were it, it would
    // have no value.
    guard let program = try? Program(syntax, of: checked) else { return .failed }
    return .program(program, key: SyntaxKey.bytes(of: syntax))
  }

  /// The value where all variables are known: nothing has to be compiled for it.
  private func whole(_ values: [Int: CELValue]) -> Residual {
    var activation = Activation()
    for slot in slots { values[slot].map { activation.bind(slot, to: $0) } }
    guard case .success(let value) = program.evaluate(activation) else { return .failed }
    return .value(value)
  }
}

/// The steps of a partial evaluation.
///
/// The places of nodes stay as they are; what a node is replaced by takes its place.
private struct Specializer {
  private let expression: CheckedSyntax
  private(set) var syntax: Syntax

  init(_ expression: CheckedSyntax, _ values: [Int: CELValue]) {
    self.expression = expression
    syntax = expression.syntax
    for id in syntax.nodes.indices {
      if case .variable(let slot) = syntax.nodes[id].kind, let value = values[slot] {
        syntax.nodes[id].kind = .constant(value)
      }
    }
  }

  /// Replaces the largest parts that use no variable by their values, and those that fail by an error.
  mutating func calculate() {
    let closed = closedNodes()
    var isPartOfClosed = [Bool](repeating: false, count: closed.count)
    for id in syntax.nodes.indices.reversed() where closed[id] {
      for part in syntax.nodes[id].kind.parts { isPartOfClosed[part] = true }
    }
    // From the ground up: `select` chains, of which most rules are made, find the value of their operand.
    for id in syntax.nodes.indices where closed[id] {
      if let value = simpleValue(of: id) {
        syntax.nodes[id].kind = .constant(value)
      } else if !isPartOfClosed[id] {
        syntax.nodes[id].kind = evaluated(id)
      }
    }
  }

  /// For each node whether it uses no variable, neither of the environment nor of a macro outside of it.
  private func closedNodes() -> [Bool] {
    var free: [Set<Int>?] = []
    for node in syntax.nodes {
      var scopes: Set<Int>? = []
      switch node.kind {
      case .variable: scopes = nil
      case .local(let local): scopes = [local.scope]
      default:
        for part in node.kind.parts {
          guard let other = free[part] else {
            scopes = nil
            break
          }
          scopes?.formUnion(other)
        }
        if let scope = node.kind.scope { scopes?.remove(scope) }
      }
      free.append(scopes)
    }
    return free.map { $0?.isEmpty == true }
  }

  /// A literal, and a field of a known value; nil for what has to be evaluated.
  private func simpleValue(of id: Syntax.ID) -> CELValue? {
    switch syntax.nodes[id].kind {
    case .constant(let value): return value
    case .bool(let value): return .bool(value)
    case .string(let text): return .string(String(decoding: text, as: UTF8.self))
    case .select(let operand, let field, isOptional: false):
      guard case .constant(.map(let entries)) = syntax.nodes[operand].kind else { return nil }
      return entries.first { if case .string(let key) = $0.key { key.utf8.elementsEqual(field) } else { false } }?.value
    default: return nil
    }
  }

  private func evaluated(_ id: Syntax.ID) -> Syntax.Kind {
    var part = syntax
    part.nodes.removeLast(part.nodes.count - 1 - id)
    guard let program = try? Program(part, of: expression), case .success(let value) = program.evaluate() else {
      return .unknown
    }
    return .constant(value)
  }

  /// Replaces logic of which one side decides by its result, and leaves out what does not matter.
  mutating func simplify() {
    for id in syntax.nodes.indices {
      switch syntax.nodes[id].kind {
      case .not(let operand):
        if let value = bool(operand) { replace(id, by: .constant(.bool(!value))) }
        if isError(operand) { replace(id, by: .unknown) }
      case .and(let left, let right): simplify(id, left, right, decidedBy: false)
      case .or(let left, let right): simplify(id, left, right, decidedBy: true)
      case .conditional(let condition, let yes, let no):
        if let value = bool(condition) { replace(id, by: syntax.nodes[value ? yes : no].kind) }
        if isError(condition) { replace(id, by: .unknown) }
      // These have no value without that of each part.
      case .select, .has, .index, .negate, .binary:
        if syntax.nodes[id].kind.parts.contains(where: isError) { replace(id, by: .unknown) }
      default: break
      }
    }
  }

  private mutating func simplify(_ id: Syntax.ID, _ left: Syntax.ID, _ right: Syntax.ID, decidedBy decisive: Bool) {
    let (a, b) = (bool(left), bool(right))
    if a == decisive || b == decisive {
      replace(id, by: .constant(.bool(decisive)))
    } else if a != nil, b != nil {
      replace(id, by: .constant(.bool(!decisive)))
    } else if a != nil, isError(right) || isLogical(right) {
      replace(id, by: syntax.nodes[right].kind)
    } else if b != nil, isError(left) || isLogical(left) {
      replace(id, by: syntax.nodes[left].kind)
    } else if isError(left), isError(right) {
      replace(id, by: .unknown)
    }
  }

  /// Whether its value is a bool if it has one: `x && true` is not `x` where x may be 5.
  private func isLogical(_ id: Syntax.ID) -> Bool { expression.types[id] == .bool }

  private func isError(_ id: Syntax.ID) -> Bool { if case .unknown = syntax.nodes[id].kind { true } else { false } }

  private func bool(_ id: Syntax.ID) -> Bool? {
    switch syntax.nodes[id].kind {
    case .constant(.bool(let value)), .bool(let value): value
    default: nil
    }
  }

  private mutating func replace(_ id: Syntax.ID, by kind: Syntax.Kind) { syntax.nodes[id].kind = kind }
}

/// A syntax tree as bytes: equal ones mean the same.
private struct SyntaxKey {
  private(set) var bytes: [UInt8] = []

  static func bytes(of syntax: Syntax) -> [UInt8] {
    var key = SyntaxKey()
    // In the order of the source, with a stack: a chain of operators can be as long as the source.
    var open = [syntax.root]
    while let id = open.popLast() {
      let kind = syntax.nodes[id].kind
      key.append(kind)
      open.append(contentsOf: kind.parts.reversed())
    }
    return key.bytes
  }

  private mutating func append(_ kind: Syntax.Kind) {
    switch kind {
    case .null: append(known: .null)
    case .bool(let value): append(known: .bool(value))
    case .int(let value): append(known: .int(value))
    case .uint(let value): append(known: .uint(value))
    case .double(let value): append(known: .double(value))
    case .string(let text): append(known: .string(String(decoding: text, as: UTF8.self)))
    case .bytes(let content): append(known: .bytes(content))
    case .constant(let value): append(known: value)
    case .type(let kind): append("t", Int(kind.rawValue))
    case .unknown: append("?", 0)
    case .variable(let slot): append("v", slot)
    case .local(let local): append(local.isSecond ? "L" : "l", local.scope)
    case .select(_, let field, let isOptional): append(isOptional ? "S" : "s", field)
    case .has(_, let field): append("h", field)
    case .index(_, _, let isOptional): append(isOptional ? "I" : "i", 0)
    case .not: append("!", 0)
    case .negate: append("-", 0)
    case .binary(let operation, _, _): append("b", Array(operation.rawValue.utf8))
    case .and: append("&", 0)
    case .or: append("|", 0)
    case .conditional: append("c", 0)
    case .list(let elements):
      append("[", elements.count)
      for element in elements { append(element.isOptional ? "o" : "e", 0) }
    case .map(let entries):
      append("{", entries.count)
      for entry in entries { append(entry.isOptional ? "o" : "e", 0) }
    case .call(let name, let receiver, let arguments):
      append(receiver == nil ? "f" : "m", Array(name.utf8))
      append("#", arguments.count)
    case .comprehension(let comprehension):
      append(comprehension.filter == nil ? "q" : "Q", Array(comprehension.macro.rawValue.utf8))
      append("#", comprehension.scope)
    case .bind(let scope, _, _): append("d", scope)
    case .optionalMap(let scope, _, _, let isFlat): append(isFlat ? "P" : "p", scope)
    }
  }

  private mutating func append(known value: CELValue) {
    switch value {
    case .null: append("N", 0)
    case .bool(let bool): append("B", bool ? 1 : 0)
    case .int(let int): append("1", UInt64(bitPattern: int))
    case .uint(let uint): append("2", uint)
    case .double(let double): append("3", double.bitPattern)
    case .string(let text): append("'", Array(text.utf8))
    case .bytes(let content): append("\"", content)
    case .list(let elements):
      append("(", elements.count)
      for element in elements { append(known: element) }
    case .map(let entries):
      append("<", entries.count)
      for (key, value) in entries {
        append(known: key)
        append(known: value)
      }
    case .timestamp(let seconds, let nanoseconds), .duration(let seconds, let nanoseconds):
      if case .timestamp = value { append("T", Int(nanoseconds)) } else { append("D", Int(nanoseconds)) }
      append("1", UInt64(bitPattern: seconds))
    case .type(let name): append("Y", Array(name.utf8))
    case .optional(let content):
      append("O", content == nil ? 0 : 1)
      if let content { append(known: content) }
    }
  }

  private mutating func append(_ tag: Unicode.Scalar, _ number: Int) { append(tag, UInt64(bitPattern: Int64(number))) }

  private mutating func append(_ tag: Unicode.Scalar, _ number: UInt64) {
    bytes.append(UInt8(truncatingIfNeeded: tag.value))
    for byte in 0..<8 { bytes.append(UInt8(truncatingIfNeeded: number >> UInt64(8 * byte))) }
  }

  private mutating func append(_ tag: Unicode.Scalar, _ text: [UInt8]) {
    append(tag, text.count)
    bytes.append(contentsOf: text)
  }
}
