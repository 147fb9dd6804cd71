// SPDX-License-Identifier: MIT

/// Finds the type of every node, and refuses what cannot work whatever the variables hold
/// (langdef "Gradual Type Checking").
///
/// One loop over the nodes: the parts of a node come before it.
struct Checker {
  let environment: CELEnvironment
  let source: [UInt8]
  let syntax: Syntax
  /// The type of each node, as operators and functions see it.
  private(set) var types: [CELType] = []
  /// The type of each node, with what an empty list or optional leaves open.
  private var inferred: [CELType] = []

  static func check(
    _ syntax: Syntax, environment: CELEnvironment, source: [UInt8]
  ) throws(CELError) -> [CELType] {
    var checker = Checker(environment: environment, source: source, syntax: syntax)
    checker.types.reserveCapacity(syntax.nodes.count)
    checker.inferred.reserveCapacity(syntax.nodes.count)
    for id in syntax.nodes.indices {
      var type = try checker.type(of: syntax.nodes[id])
      // Chains of map() can nest a type deeper than the source is; past this nothing is gained by knowing it.
      if type.isDeeper(than: 32) { type = .dyn }
      checker.inferred.append(type)
      checker.types.append(type.closed)
    }
    return checker.types
  }

  /// Refuses, unless the environment leaves types to the evaluation.
  private func refuse(_ message: String, at position: Int) throws(CELError) {
    if environment.typeChecking { throw CELError(.noMatchingOverload, message, at: position, in: source) }
  }

  private func type(of node: Syntax.Node) throws(CELError) -> CELType {
    switch node.kind {
    case .null: return .null
    case .bool: return .bool
    case .int: return .int
    case .uint: return .uint
    case .double: return .double
    case .string: return .string
    case .bytes: return .bytes
    case .type: return .type
    case .unknown, .constant: return .dyn
    case .variable(let slot): return environment.variables[slot].type
    case .local(let local): return type(of: local)
    case .select(let operand, let field, let isOptional):
      let result = try selection(types[operand], String(decoding: field, as: UTF8.self), node.position)
      return isOptional ? optional(result) : result
    case .has(let operand, let field):
      _ = try selection(types[operand], String(decoding: field, as: UTF8.self), node.position)
      return .bool
    case .index(let operand, let index, let isOptional):
      let result = try element(of: types[operand], at: types[index], node.position)
      return isOptional ? optional(result) : result
    case .not(let operand):
      if !types[operand].mayBeBool { try refuse("'!' needs a bool, not \(types[operand])", at: node.position) }
      return .bool
    case .negate(let operand):
      switch types[operand] {
      case .int, .double, .duration, .dyn: return types[operand]
      default:
        try refuse("'-' needs an int or a double, not \(types[operand])", at: node.position)
        return .dyn
      }
    case .binary(.add, let left, let right):
      if case .list = types[left], case .list = types[right] { return inferred[left].joined(with: inferred[right]) }
      return try binary(.add, types[left], types[right], node.position)
    case .binary(let operation, let left, let right):
      return try binary(operation, types[left], types[right], node.position)
    case .and(let left, let right), .or(let left, let right):
      if !types[left].mayBeBool || !types[right].mayBeBool {
        let symbol = if case .and = node.kind { "&&" } else { "||" }
        let wrong = types[left].mayBeBool ? types[right] : types[left]
        try refuse("'\(symbol)' needs bools, not \(wrong)", at: node.position)
      }
      return .bool
    case .conditional(let condition, let then, let otherwise):
      if !types[condition].mayBeBool {
        try refuse("the condition of '?:' is a bool, not \(types[condition])", at: node.position)
      }
      return inferred[then].joined(with: inferred[otherwise])
    case .list(let elements):
      return .list(joined(elements.map { $0.isOptional ? contained(inferred[$0.value]) : inferred[$0.value] }))
    case .map(let entries):
      for entry in entries where !isKey(types[entry.key]) {
        try refuse(
          "a map key is a bool, int, uint or string, not \(types[entry.key])", at: syntax.nodes[entry.key].position)
      }
      let values = entries.map { $0.isOptional ? contained(inferred[$0.value]) : inferred[$0.value] }
      return .map(joined(entries.map { inferred[$0.key] }), joined(values))
    case .call(let name, let receiver, let arguments):
      return try call(name, receiver, arguments, node.position)
    case .comprehension(let comprehension):
      return try result(of: comprehension, node.position)
    case .bind(_, _, let body): return types[body]
    case .optionalMap(_, let value, let body, let isFlat):
      if isOptional(types[value]) == false {
        try refuse("optMap and optFlatMap need an optional, not \(types[value])", at: node.position)
      }
      return isFlat ? optional(contained(types[body])) : optional(types[body])
    }
  }

  private func joined(_ types: [CELType]) -> CELType {
    guard let first = types.first else { return .open }
    return types.dropFirst().reduce(first) { $0.joined(with: $1) }
  }

  private func isKey(_ type: CELType) -> Bool {
    switch type {
    case .bool, .int, .uint, .string, .dyn: true
    default: false
    }
  }

  // MARK: - Optionals

  private func isOptional(_ type: CELType) -> Bool? {
    switch type {
    case .optional: true
    case .dyn: nil
    default: false
    }
  }

  private func optional(_ type: CELType) -> CELType { .optional(contained(type)) }

  private func contained(_ type: CELType) -> CELType {
    if case .optional(let value) = type { value } else { type }
  }

  // MARK: - Access

  private func selection(_ operand: CELType, _ field: String, _ position: Int) throws(CELError) -> CELType {
    switch operand {
    case .dyn: return .dyn
    case .map(let key, let value):
      if key != .string, key != .dyn { try refuse("a map with keys of \(key) has no field '\(field)'", at: position) }
      return value
    case .optional(let value): return optional(try selection(value, field, position))
    default:
      try refuse("\(operand) has no field '\(field)'", at: position)
      return .dyn
    }
  }

  private func element(of operand: CELType, at index: CELType, _ position: Int) throws(CELError) -> CELType {
    switch operand {
    case .dyn: return .dyn
    case .list(let element):
      if !index.isNumeric, index != .dyn { try refuse("the index of a list is an int, not \(index)", at: position) }
      return element
    case .map(let key, let value):
      if !key.isComparable(with: index) { try refuse("the keys of this map are \(key), not \(index)", at: position) }
      return value
    case .optional(let value): return optional(try element(of: value, at: index, position))
    default:
      try refuse("\(operand) cannot be indexed", at: position)
      return .dyn
    }
  }

  // MARK: - Operators

  private func binary(
    _ operation: BinaryOperator, _ left: CELType, _ right: CELType, _ position: Int
  ) throws(CELError) -> CELType {
    let result: CELType? =
      switch operation {
      case .equal, .notEqual: left.isComparable(with: right) ? .bool : nil
      case .less, .lessEqual, .greater, .greaterEqual: isOrdered(left, right) ? .bool : nil
      case .in: isContainer(right, of: left) ? .bool : nil
      default: arithmetic(operation, left, right)
      }
    guard let result else {
      try refuse("no '\(operation.rawValue)' for \(left) and \(right)", at: position)
      return .dyn
    }
    return result
  }

  private func isOrdered(_ left: CELType, _ right: CELType) -> Bool {
    guard hasOrder(left), hasOrder(right) else { return false }
    return left == .dyn || right == .dyn || left == right || left.isNumeric && right.isNumeric
  }

  private func hasOrder(_ type: CELType) -> Bool {
    switch type {
    case .dyn, .bool, .int, .uint, .double, .string, .bytes, .timestamp, .duration: true
    default: false
    }
  }

  private func isContainer(_ container: CELType, of element: CELType) -> Bool {
    switch container {
    case .dyn: true
    case .list(let type), .map(let type, _): type.isComparable(with: element)
    default: false
    }
  }

  /// The type of a sum, difference, product, quotient or remainder; nil when there is none.
  private func arithmetic(_ operation: BinaryOperator, _ left: CELType, _ right: CELType) -> CELType? {
    switch (left, right) {
    case (.dyn, .dyn): return .dyn
    case (.dyn, let known), (let known, .dyn): return canBeOperand(known, of: operation) ? .dyn : nil
    case (.int, .int), (.uint, .uint): return left
    case (.double, .double): return operation == .remainder ? nil : .double
    case (.int, .double), (.uint, .double), (.double, .int), (.double, .uint):
      return environment.mixedArithmetic && operation != .remainder ? .double : nil
    case (.string, .string), (.bytes, .bytes): return operation == .add ? left : nil
    case (.list, .list): return operation == .add ? left.joined(with: right) : nil
    case (.timestamp, .duration): return operation == .add || operation == .subtract ? .timestamp : nil
    case (.duration, .timestamp): return operation == .add ? .timestamp : nil
    case (.duration, .duration): return operation == .add || operation == .subtract ? .duration : nil
    case (.timestamp, .timestamp): return operation == .subtract ? .duration : nil
    default: return nil
    }
  }

  private func canBeOperand(_ type: CELType, of operation: BinaryOperator) -> Bool {
    switch type {
    case .int, .uint: true
    case .double: operation != .remainder
    case .string, .bytes, .list: operation == .add
    case .timestamp, .duration: operation == .add || operation == .subtract
    default: false
    }
  }

  // MARK: - Calls

  private func call(
    _ name: String, _ receiver: Syntax.ID?, _ arguments: [Syntax.ID], _ position: Int
  ) throws(CELError) -> CELType {
    let actual = ((receiver.map { [$0] } ?? []) + arguments).map { types[$0] }
    let overloads = Functions.overloads(name, isMember: receiver != nil)
    var result: CELType?
    for overload in overloads where overload.takes(actual.count) {
      var bound: [Int: CELType] = [:]
      let fits = actual.enumerated().allSatisfy { $1.matches(overload.parameter($0), &bound) }
      guard fits else { continue }
      let type = overload.result.substituting(bound)
      result = result.map { $0.joined(with: type) } ?? type
    }
    if let result { return result }
    let given = actual.map(\.description)
    let shown =
      receiver == nil
      ? "\(name)(\(given.joined(separator: ", ")))"
      : "\(given[0]).\(name)(\(given.dropFirst().joined(separator: ", ")))"
    try refuse("no function \(shown)", at: position)
    return .dyn
  }

  // MARK: - Macros

  private func type(of local: Syntax.Local) -> CELType {
    let scope = syntax.scopes[local.scope]
    switch scope.source {
    case .value(let id): return types[id]
    case .optional(let id): return contained(types[id])
    case .iteration(let id):
      switch types[id] {
      case .list(let element): return scope.names.count == 2 && !local.isSecond ? .int : element
      case .map(let key, let value): return local.isSecond ? value : key
      default: return .dyn
      }
    }
  }

  private func result(of comprehension: Syntax.Comprehension, _ position: Int) throws(CELError) -> CELType {
    let range = types[comprehension.range]
    let body = types[comprehension.body]
    let name = comprehension.macro.rawValue
    switch range {
    case .list, .map, .dyn: break
    default: try refuse("\(name)() goes over a list or a map, not \(range)", at: position)
    }
    if let filter = comprehension.filter, !types[filter].mayBeBool {
      try refuse("the condition of \(name)() is a bool, not \(types[filter])", at: syntax.nodes[filter].position)
    }
    switch comprehension.macro {
    case .all, .exists, .existsOne, .filter:
      if !body.mayBeBool {
        try refuse(
          "the condition of \(name)() is a bool, not \(body)", at: syntax.nodes[comprehension.body].position)
      }
      guard comprehension.macro == .filter else { return .bool }
      return .list(elementType(of: range))
    case .sortBy:
      if case .map = range { try refuse("sortBy() sorts a list, not \(range)", at: position) }
      if !isOrdered(body, body) { try refuse("sortBy() cannot order by \(body)", at: position) }
      return .list(elementType(of: range))
    case .map, .transformList: return .list(body)
    case .transformMap: return .map(keyType(of: range), body)
    case .transformMapEntry:
      switch body {
      case .map, .dyn: return body
      default:
        try refuse("transformMapEntry() makes a map of each entry, not \(body)", at: position)
        return .map(.dyn, .dyn)
      }
    }
  }

  private func elementType(of range: CELType) -> CELType {
    switch range {
    case .list(let element): element
    case .map(let key, _): key
    default: .dyn
    }
  }

  private func keyType(of range: CELType) -> CELType {
    switch range {
    case .list: .int
    case .map(let key, _): key
    default: .dyn
    }
  }
}
