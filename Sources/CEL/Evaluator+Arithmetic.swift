// SPDX-License-Identifier: MIT

/// Arithmetic (langdef "Overflow"): integers that leave their range are errors, and so is dividing them by zero.
extension Evaluator {
  /// Two doubles, when one of the values is a double and the other an integer that the environment lets become one.
  @inline(__always)
  private func doubles(_ left: Value, _ right: Value) -> (Double, Double)? {
    if left.kind == .double, right.kind == .double { return (left.double, right.double) }
    guard program.environment.mixedArithmetic else { return nil }
    switch (left.kind, right.kind) {
    case (.double, .int): return (left.double, Double(right.int))
    case (.double, .uint): return (left.double, Double(right.uint))
    case (.int, .double): return (Double(left.int), right.double)
    case (.uint, .double): return (Double(left.uint), right.double)
    default: return nil
    }
  }

  private func checked(_ result: (partialValue: Int64, overflow: Bool)) -> Value {
    result.overflow ? error(.overflow) : Value(result.partialValue)
  }

  private func checked(_ result: (partialValue: UInt64, overflow: Bool)) -> Value {
    result.overflow ? error(.overflow) : Value(result.partialValue)
  }

  func add(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Value {
    switch (left.kind, right.kind) {
    case (.int, .int): return checked(left.int.addingReportingOverflow(right.int))
    case (.uint, .uint): return checked(left.uint.addingReportingOverflow(right.uint))
    case (.string, .string), (.bytes, .bytes): return concatenation(activation, left, right)
    case (.list, .list): return concatenatedLists(activation, left, right)
    case (.timestamp, .duration): return Times.add(left, right) ?? error(.overflow)
    case (.duration, .timestamp): return Times.add(right, left) ?? error(.overflow)
    case (.duration, .duration): return Times.sum(left, right) ?? error(.overflow)
    default:
      guard let (left, right) = doubles(left, right) else { return firstError(left, right) }
      return Value(left + right)
    }
  }

  func subtract(_ left: Value, _ right: Value) -> Value {
    switch (left.kind, right.kind) {
    case (.int, .int): return checked(left.int.subtractingReportingOverflow(right.int))
    case (.uint, .uint): return checked(left.uint.subtractingReportingOverflow(right.uint))
    case (.timestamp, .duration):
      return Times.negated(right).flatMap { Times.add(left, $0) } ?? error(.overflow)
    case (.duration, .duration):
      return Times.negated(right).flatMap { Times.sum(left, $0) } ?? error(.overflow)
    case (.timestamp, .timestamp): return Times.difference(left, right) ?? error(.overflow)
    default:
      guard let (left, right) = doubles(left, right) else { return firstError(left, right) }
      return Value(left - right)
    }
  }

  func multiply(_ left: Value, _ right: Value) -> Value {
    switch (left.kind, right.kind) {
    case (.int, .int): return checked(left.int.multipliedReportingOverflow(by: right.int))
    case (.uint, .uint): return checked(left.uint.multipliedReportingOverflow(by: right.uint))
    default:
      guard let (left, right) = doubles(left, right) else { return firstError(left, right) }
      return Value(left * right)
    }
  }

  func divide(_ left: Value, _ right: Value) -> Value {
    switch (left.kind, right.kind) {
    case (.int, .int):
      if right.int == 0 { return error(.divisionByZero) }
      // The least int divided by -1 is the one quotient that does not fit.
      return checked(left.int.dividedReportingOverflow(by: right.int))
    case (.uint, .uint):
      if right.uint == 0 { return error(.divisionByZero) }
      return Value(left.uint / right.uint)
    default:
      guard let (left, right) = doubles(left, right) else { return firstError(left, right) }
      return Value(left / right)
    }
  }

  func remainder(_ left: Value, _ right: Value) -> Value {
    switch (left.kind, right.kind) {
    case (.int, .int):
      if right.int == 0 { return error(.divisionByZero) }
      // As the quotient overflows, so does the operation, although the remainder would be 0.
      if left.int == .min && right.int == -1 { return error(.overflow) }
      return Value(left.int % right.int)
    case (.uint, .uint):
      if right.uint == 0 { return error(.divisionByZero) }
      return Value(left.uint % right.uint)
    default: return firstError(left, right)
    }
  }

  func negate(_ operand: Value) -> Value {
    switch operand.kind {
    case .int: checked(Int64(0).subtractingReportingOverflow(operand.int))
    case .double: Value(-operand.double)
    case .duration: Times.negated(operand) ?? error(.overflow)
    case .error: operand
    default: error(.noMatchingOverload)
    }
  }

  // MARK: - Concatenation

  private func concatenation(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Value {
    if right.byteCount == 0 { return left }
    if left.byteCount == 0 { return right }
    return create(copy(activation, left) + copy(activation, right), left.kind)
  }

  private func concatenatedLists(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Value {
    let count = count(activation, of: left) + self.count(activation, of: right)
    guard reserve(count) else { return error(.tooLarge) }
    var elements: [Value] = []
    elements.reserveCapacity(count)
    for list in [left, right] {
      var cursor = Cursor(list)
      while let element = next(activation, &cursor) { elements.append(element) }
    }
    return add(elements, .list)
  }
}
