// SPDX-License-Identifier: MIT

/// Finds the conjuncts of a filter: its parts that are joined by `&&` and compare a field with a constant.
struct ConjunctFinder {
  private let syntax: Syntax
  private let environment: CELEnvironment
  /// The values of the nodes that are constants, and what they are made of.
  private let literals: [Value?]
  private let known: Pool
  private(set) var conjuncts: [FilterConjunct] = []
  /// Whether the filter is true exactly when all of them hold.
  private(set) var isWhole = true

  init(_ syntax: Syntax, _ environment: CELEnvironment, literals: [Value?], known: Pool) {
    self.syntax = syntax
    self.environment = environment
    self.literals = literals
    self.known = known
    // From left to right, without recursion: a chain of `&&` can be as long as the source.
    var parts = [syntax.root]
    while let part = parts.popLast() {
      if case .and(let left, let right) = syntax.nodes[part].kind {
        parts += [right, left]
      } else if let literal = literals[part], literal.isTrue {
        continue
      } else if let conjunct = conjunct(part) {
        conjuncts.append(conjunct)
      } else {
        isWhole = false
      }
    }
  }

  private mutating func conjunct(_ id: Syntax.ID) -> FilterConjunct? {
    switch syntax.nodes[id].kind {
    case .binary(let operation, let left, let right):
      return comparison(operation, left, right) ?? reversed(operation).flatMap { comparison($0, right, left) }
    case .call(name: "startsWith", receiver: let receiver?, let arguments):
      guard arguments.count == 1, let prefix = literals[arguments[0]], prefix.kind == .string,
        let subject = subject(receiver)
      else { return nil }
      return FilterConjunct(subject, .hasPrefix(Array(known.bytes[prefix.range])))
    case .has(let operand, let field):
      guard let subject = subject(operand) else { return nil }
      return FilterConjunct(FilterSubject(subject.variable, fields: subject.fields + [field]), .present)
    case .not(let operand): return subject(operand).map { FilterConjunct($0, .equal(.bool(false))) }
    default: return subject(id).map { FilterConjunct($0, .equal(.bool(true))) }
    }
  }

  /// A variable, or a field of one whose name is a constant.
  private func subject(_ id: Syntax.ID) -> FilterSubject? {
    var fields: [[UInt8]] = []
    var node = id
    while true {
      switch syntax.nodes[node].kind {
      case .variable(let slot):
        return FilterSubject(environment.variables[slot].name, fields: fields.reversed())
      case .select(let operand, let field, isOptional: false):
        fields.append(field)
        node = operand
      case .index(let operand, let index, isOptional: false):
        guard let name = literals[index], name.kind == .string else { return nil }
        fields.append(Array(known.bytes[name.range]))
        node = operand
      default: return nil
      }
    }
  }

  private func reversed(_ operation: BinaryOperator) -> BinaryOperator? {
    switch operation {
    case .equal: .equal
    case .less: .greater
    case .lessEqual: .greaterEqual
    case .greater: .less
    case .greaterEqual: .lessEqual
    default: nil
    }
  }

  private mutating func comparison(
    _ operation: BinaryOperator, _ left: Syntax.ID, _ right: Syntax.ID
  ) -> FilterConjunct? {
    guard let constant = literals[right], let subject = subject(left) else { return nil }
    if operation == .in {
      guard constant.kind == .list else { return nil }
      var scalars: [FilterScalar] = []
      var areExact = true
      for element in known.lists[constant.number] {
        guard let (scalar, isExact) = scalar(element) else { return nil }
        if !scalars.contains(scalar) { scalars.append(scalar) }
        areExact = areExact && isExact
      }
      isWhole = isWhole && areExact
      return FilterConjunct(subject, .isIn(scalars))
    }
    guard let (scalar, isExact) = scalar(constant) else { return nil }
    if operation != .equal {
      switch scalar {
      case .number, .text: break
      default: return nil
      }
    }
    isWhole = isWhole && isExact
    switch operation {
    case .equal: return FilterConjunct(subject, .equal(scalar))
    // Two large integers that differ may be one double: then all that is known is that it is not after.
    case .less: return FilterConjunct(subject, isExact ? .less(scalar) : .lessOrEqual(scalar))
    case .lessEqual: return FilterConjunct(subject, .lessOrEqual(scalar))
    case .greater: return FilterConjunct(subject, isExact ? .greater(scalar) : .greaterOrEqual(scalar))
    case .greaterEqual: return FilterConjunct(subject, .greaterOrEqual(scalar))
    default: return nil
    }
  }

  /// A constant, and whether comparing doubles with it gives what the language does; nil when it has no such form.
  private func scalar(_ value: Value) -> (FilterScalar, isExact: Bool)? {
    switch value.kind {
    case .null: (.null, true)
    case .bool: (.bool(value.bool), true)
    // Integers are compared with integers exactly. Below this all have a double of their own, and so have both
    // neighbours; beyond it what is rounded is no farther from them than what it was rounded from.
    case .int: (.number(Double(value.int)), value.int.magnitude < 1 << 53)
    case .uint: (.number(Double(value.uint)), value.uint < 1 << 53)
    case .double: value.double.isNaN ? nil : (.number(value.double), true)
    case .string: (.text(Array(known.bytes[value.range])), true)
    default: nil
    }
  }
}
