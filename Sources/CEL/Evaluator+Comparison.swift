// SPDX-License-Identifier: MIT

import JSON

/// Equality and order (langdef "Equality and Ordering").
///
/// Values of different types are unequal, but numbers are compared across their types: an int and a uint exactly, an
/// integer and a double as doubles, which is what the conformance cases of the language ask for.
extension Evaluator {
  // MARK: - Equality

  @inline(__always)
  func equality(_ activation: borrowing Activation, _ left: Value, _ right: Value, negated: Bool) -> Value {
    if left.isError { return left }
    if right.isError { return right }
    return Value(equals(activation, left, right) != negated)
  }

  /// Whether two values, which are no errors, are equal.
  func equals(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Bool {
    guard left.kind == right.kind else {
      return left.isNumber && right.isNumber && order(activation, left, right) == .same
    }
    switch left.kind {
    case .null: return true
    case .bool, .int, .uint, .type: return left.bits == right.bits
    case .double: return left.double == right.double
    case .timestamp, .duration: return left.bits == right.bits && left.extra == right.extra
    case .string, .bytes: return equalTexts(activation, left, right)
    case .list, .map, .optional: return deepEquals(activation, left, right, depth: 0)
    case .error, .cursor: return false
    }
  }

  private func equalTexts(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Bool {
    guard left.byteCount == right.byteCount else { return false }
    charge(left.byteCount / 8)
    return withText(activation, left) { left in withText(activation, right) { right in Texts.areEqual(left, right) } }
  }

  private func deepEquals(_ activation: borrowing Activation, _ left: Value, _ right: Value, depth: Int)
    -> Bool
  {
    guard depth < CELLimits.valueDepth else {
      fatal = fatal ?? .tooLarge
      return false
    }
    charge(1)
    guard fatal == nil else { return false }
    switch (left.kind, right.kind) {
    case (.list, .list): return equalLists(activation, left, right, depth + 1)
    case (.map, .map): return equalMaps(activation, left, right, depth + 1)
    case (.optional, .optional):
      guard let left = content(activation, of: left), let right = content(activation, of: right) else {
        return left.extra == right.extra
      }
      return deepEquals(activation, left, right, depth: depth + 1)
    default: return equals(activation, left, right)
    }
  }

  private func equalLists(_ activation: borrowing Activation, _ left: Value, _ right: Value, _ depth: Int)
    -> Bool
  {
    let count = count(activation, of: left)
    guard count == self.count(activation, of: right) else { return false }
    var leftCursor = Cursor(left)
    var rightCursor = Cursor(right)
    for _ in 0..<count {
      guard let a = next(activation, &leftCursor), let b = next(activation, &rightCursor),
        deepEquals(activation, a, b, depth: depth)
      else { return false }
    }
    return true
  }

  private func equalMaps(_ activation: borrowing Activation, _ left: Value, _ right: Value, _ depth: Int)
    -> Bool
  {
    guard size(activation, ofMap: left) == size(activation, ofMap: right) else { return false }
    var cursor = Cursor(left)
    while let key = next(activation, &cursor) {
      guard let a = lookup(activation, key, in: left), let b = lookup(activation, key, in: right),
        deepEquals(activation, a, b, depth: depth)
      else {
        return false
      }
    }
    return fatal == nil
  }

  // MARK: - Order

  enum Order {
    case before
    case same
    case after
    /// One is not a number.
    case unordered
    /// The types have no order.
    case none
  }

  enum Relation: UInt8, Sendable {
    case less
    case lessEqual
    case greater
    case greaterEqual
  }

  @inline(__always)
  func relation(_ activation: borrowing Activation, _ left: Value, _ right: Value, _ relation: Relation)
    -> Value
  {
    if left.kind == .double, right.kind == .double {
      let (left, right) = (left.double, right.double)
      switch relation {
      case .less: return Value(left < right)
      case .lessEqual: return Value(left <= right)
      case .greater: return Value(left > right)
      case .greaterEqual: return Value(left >= right)
      }
    }
    switch (order(activation, left, right), relation) {
    case (.before, .less), (.before, .lessEqual), (.same, .lessEqual), (.same, .greaterEqual), (.after, .greater),
      (.after, .greaterEqual):
      return .true
    case (.none, _): return firstError(left, right)
    default: return .false
    }
  }

  func order(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Order {
    switch (left.kind, right.kind) {
    case (.int, .int): Self.order(left.int, right.int)
    case (.uint, .uint), (.bool, .bool): Self.order(left.bits, right.bits)
    case (.double, .double): Self.order(left.double, right.double)
    case (.int, .double): Self.order(Double(left.int), right.double)
    case (.double, .int): Self.order(left.double, Double(right.int))
    case (.uint, .double): Self.order(Double(left.uint), right.double)
    case (.double, .uint): Self.order(left.double, Double(right.uint))
    // Compared by their values: a negative int is before every uint.
    case (.int, .uint): left.int < 0 ? .before : Self.order(UInt64(left.int), right.uint)
    case (.uint, .int): right.int < 0 ? .after : Self.order(left.uint, UInt64(right.int))
    case (.string, .string), (.bytes, .bytes): orderOfTexts(activation, left, right)
    case (.timestamp, .timestamp), (.duration, .duration):
      left.bits == right.bits ? Self.order(left.extra, right.extra) : Self.order(left.int, right.int)
    default: .none
    }
  }

  /// Bytes sort as the code points do that they encode.
  private func orderOfTexts(_ activation: borrowing Activation, _ left: Value, _ right: Value) -> Order {
    charge(min(left.byteCount, right.byteCount) / 8)
    return withText(activation, left) { left in
      withText(activation, right) { right in Self.order(Texts.compare(left, right), 0) }
    }
  }

  @inline(__always)
  private static func order<Number: Comparable>(_ left: Number, _ right: Number) -> Order {
    if left < right { return .before }
    if left > right { return .after }
    return left == right ? .same : .unordered
  }
}
