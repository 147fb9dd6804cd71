// SPDX-License-Identifier: MIT

/// The math extension.
extension Evaluator {
  /// The greatest or least of some numbers, or of those in one list.
  ///
  /// Of equal ones the first.
  func extreme(_ activation: borrowing Activation, _ arguments: Arguments, isGreatest: Bool) -> Value {
    var best: Value?
    if arguments.count == 1, arguments.a.kind == .list {
      var cursor = Cursor(arguments.a)
      while let number = next(activation, &cursor) {
        guard let better = better(activation, best, number, isGreatest) else { return error(.noMatchingOverload) }
        best = better
      }
      return best ?? error(.badArgument)
    }
    for place in 0..<arguments.count {
      let number = unsafe stack[arguments.first + place]
      guard let better = better(activation, best, number, isGreatest) else { return error(.noMatchingOverload) }
      best = better
    }
    return best ?? error(.badArgument)
  }

  private func better(
    _ activation: borrowing Activation, _ best: Value?, _ number: Value, _ isGreatest: Bool
  ) -> Value? {
    guard number.isNumber else { return nil }
    guard let best else { return number }
    return order(activation, number, best) == (isGreatest ? .after : .before) ? number : best
  }

  /// The functions of one number.
  func calculate(_ function: Function, _ a: Value) -> Value {
    switch (function, a.kind) {
    case (.ceil, .double): Value(a.double.rounded(.up))
    case (.floor, .double): Value(a.double.rounded(.down))
    case (.round, .double): Value(a.double.rounded(.toNearestOrAwayFromZero))
    case (.trunc, .double): Value(a.double.rounded(.towardZero))
    case (.isNaN, .double): Value(a.double.isNaN)
    case (.isInf, .double): Value(a.double.isInfinite)
    case (.isFinite, .double): Value(a.double.isFinite)
    case (.abs, .int): a.int == .min ? error(.overflow) : Value(Swift.abs(a.int))
    case (.abs, .uint): a
    case (.abs, .double): Value(Swift.abs(a.double))
    case (.sign, .int): Value(a.int.signum())
    case (.sign, .uint): Value(a.uint.signum())
    case (.sign, .double): Value(a.double > 0 ? 1 : a.double < 0 ? -1 : a.double)
    case (.sqrt, .int): Value(Double(a.int).squareRoot())
    case (.sqrt, .uint): Value(Double(a.uint).squareRoot())
    case (.sqrt, .double): Value(a.double.squareRoot())
    default: error(.noMatchingOverload)
    }
  }

  /// The functions of bits.
  ///
  /// A shift by 64 or more leaves nothing.
  func calculateBits(_ function: Function, _ a: Value, _ b: Value) -> Value {
    guard a.kind == .int || a.kind == .uint else { return error(.noMatchingOverload) }
    switch function {
    case .bitNot: return Value(a.kind, bits: ~a.bits)
    case .bitShiftLeft, .bitShiftRight:
      guard b.kind == .int else { return error(.noMatchingOverload) }
      guard b.int >= 0 else { return error(.badArgument) }
      // Swift's shifts of more than the width do not trap: they shift everything out. The sign of an int is a bit like
      // the others and does not stay, as the extension defines it.
      return Value(a.kind, bits: function == .bitShiftLeft ? a.bits << b.int : a.bits >> b.int)
    default:
      guard a.kind == b.kind else { return error(.noMatchingOverload) }
      switch function {
      case .bitAnd: return Value(a.kind, bits: a.bits & b.bits)
      case .bitOr: return Value(a.kind, bits: a.bits | b.bits)
      default: return Value(a.kind, bits: a.bits ^ b.bits)
      }
    }
  }
}
