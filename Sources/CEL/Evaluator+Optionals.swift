// SPDX-License-Identifier: MIT

/// Optionals: a value, or none.
extension Evaluator {
  /// The value of an optional; nil when it has none.
  func content(_ activation: borrowing Activation, of optional: Value) -> Value? {
    optional.extra == 0 ? nil : list(activation, optional).first
  }

  func optional(of value: Value) -> Value {
    if value.isError { return value }
    guard reserve(1) else { return error(.tooLarge) }
    return add([value], .optional)
  }

  static let noValue = Value(.optional)

  /// `x.?name`.
  func selectOptional(_ activation: borrowing Activation, _ name: Value, of operand: Value) -> Value {
    switch operand.kind {
    case .error: return operand
    case .map: return lookup(activation, name, in: operand).map { optional(of: $0) } ?? Self.noValue
    case .optional:
      guard let content = content(activation, of: operand) else { return operand }
      guard content.kind == .map else { return error(.noMatchingOverload) }
      return lookup(activation, name, in: content).map { optional(of: $0) } ?? Self.noValue
    default: return error(.noMatchingOverload)
    }
  }

  /// `x[?key]`.
  func optionalElement(_ activation: borrowing Activation, at key: Value, of operand: Value) -> Value {
    if operand.isError { return operand }
    if key.isError { return key }
    var container = operand
    if operand.kind == .optional {
      guard let content = content(activation, of: operand) else { return operand }
      container = content
    }
    switch container.kind {
    case .list:
      guard let place = Self.place(key) else { return error(.noMatchingOverload) }
      return element(activation, place, of: container).map { optional(of: $0) } ?? Self.noValue
    case .map:
      guard Self.canBeKey(key) else { return error(.noMatchingOverload) }
      return lookup(activation, key, in: container).map { optional(of: $0) } ?? Self.noValue
    default: return error(.noMatchingOverload)
    }
  }

  func unwrapOptional(_ activation: borrowing Activation, end: Int) -> Int? {
    let operand = self[below: 0]
    guard operand.kind == .optional else {
      if !operand.isError { self[below: 0] = error(.noMatchingOverload) }
      return end
    }
    guard let content = content(activation, of: operand) else { return end }
    self[below: 0] = content
    return nil
  }

  func jumpIfHasValue(_ activation: borrowing Activation, end: Int, unwrapping: Bool) -> Int? {
    let operand = self[below: 0]
    guard operand.kind == .optional else {
      if !operand.isError { self[below: 0] = error(.noMatchingOverload) }
      return end
    }
    guard let content = content(activation, of: operand) else { return nil }
    if unwrapping { self[below: 0] = content }
    return end
  }

  /// The functions of optionals.
  ///
  /// Of `or` and `orValue` only what is left when the first has no value.
  func callOptional(
    _ activation: borrowing Activation, _ function: Function, _ a: Value, _ b: Value
  ) -> Value {
    switch function {
    case .optionalOf: return optional(of: a)
    case .optionalOfNonZeroValue: return isZero(activation, a) ? Self.noValue : optional(of: a)
    case .orValue: return b
    case .or: return b.kind == .optional ? b : error(.noMatchingOverload)
    case .hasValue: return a.kind == .optional ? Value(a.extra != 0) : error(.noMatchingOverload)
    case .value:
      guard a.kind == .optional else { return error(.noMatchingOverload) }
      return content(activation, of: a) ?? error(.noValue)
    default: return error(.noMatchingOverload)
    }
  }

  /// Whether a value is the one that its type begins with: null, false, 0, empty.
  private func isZero(_ activation: borrowing Activation, _ value: Value) -> Bool {
    switch value.kind {
    case .null: true
    case .bool, .int, .uint: value.bits == 0
    case .double: value.double == 0
    case .string, .bytes: value.byteCount == 0
    case .list: count(activation, of: value) == 0
    case .map: size(activation, ofMap: value) == 0
    case .duration, .timestamp: value.bits == 0 && value.extra == 0
    case .optional: value.extra == 0
    case .type, .error, .cursor: false
    }
  }

  func wrapOptional(_ value: Value, isFlat: Bool) -> Value {
    guard isFlat else { return optional(of: value) }
    return value.isError || value.kind == .optional ? value : error(.noMatchingOverload)
  }
}
