// SPDX-License-Identifier: MIT

/// Calls of functions: an argument that is an error is the result; otherwise the types of the values choose.
extension Evaluator {
  /// The arguments of a call: the first four, and where all of them are.
  struct Arguments {
    let count: Int
    let first: Int
    var a = Value.null
    var b = Value.null
    var c = Value.null
    var d = Value.null
  }

  /// The result of a function whose arguments are on the stack from `first` on.
  func call(_ activation: borrowing Activation, _ function: Function, first: Int, count: Int) -> Value {
    var arguments = Arguments(count: count, first: first)
    for place in 0..<count {
      let argument = unsafe stack[first + place]
      if argument.isError { return argument }
      switch place {
      case 0: arguments.a = argument
      case 1: arguments.b = argument
      case 2: arguments.c = argument
      case 3: arguments.d = argument
      default: break
      }
    }
    let (a, b) = (arguments.a, arguments.b)
    switch function {
    case .size: return size(activation, a)
    case .contains, .startsWith, .endsWith: return search(activation, function, a, b)
    case .matches: return matches(activation, a, b)
    case .int, .uint, .double, .string, .bytes, .bool, .type, .dyn, .timestamp, .duration:
      return convert(activation, a, to: function)
    case .getFullYear, .getMonth, .getDate, .getDayOfMonth, .getDayOfWeek, .getDayOfYear, .getHours, .getMinutes,
      .getSeconds, .getMilliseconds:
      return part(activation, function, of: a, zone: count > 1 ? b : nil)
    case .charAt, .indexOf, .lastIndexOf, .lowerAscii, .upperAscii, .replace, .split, .substring, .trim, .quote:
      return callString(activation, function, arguments)
    case .join: return join(activation, a, count > 1 ? b : nil)
    case .format: return format(activation, a, b)
    case .reverse: return a.kind == .string ? reversed(activation, a) : callList(activation, function, arguments)
    case .distinct, .flatten, .range, .slice, .sort, .first, .last: return callList(activation, function, arguments)
    case .greatest, .least: return extreme(activation, arguments, isGreatest: function == .greatest)
    case .ceil, .floor, .round, .trunc, .abs, .sign, .sqrt, .isNaN, .isInf, .isFinite: return calculate(function, a)
    case .bitAnd, .bitOr, .bitXor, .bitNot, .bitShiftLeft, .bitShiftRight: return calculateBits(function, a, b)
    case .optionalNone: return Self.noValue
    case .optionalOf, .optionalOfNonZeroValue, .hasValue, .value, .or, .orValue:
      return callOptional(activation, function, a, b)
    case .base64Encode, .base64Decode: return convertBase64(activation, function, a)
    }
  }

  private func size(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .string: return Value(length(activation, of: value))
    case .bytes: return Value(value.byteCount)
    case .list: return Value(count(activation, of: value))
    case .map: return Value(size(activation, ofMap: value))
    default: return error(.noMatchingOverload)
    }
  }

  /// The number of code points of a string.
  func length(_ activation: borrowing Activation, of value: Value) -> Int {
    charge(value.byteCount / 8)
    return withText(activation, value) { Texts.length($0) }
  }

  private func search(
    _ activation: borrowing Activation, _ function: Function, _ text: Value, _ part: Value
  ) -> Value {
    guard text.kind == .string, part.kind == .string else { return error(.noMatchingOverload) }
    guard function == .contains else {
      charge(part.byteCount / 8)
      return Value(
        withText(activation, text) { text in
          withText(activation, part) { part in
            function == .startsWith ? Texts.hasPrefix(text, part) : Texts.hasSuffix(text, part)
          }
        })
    }
    let (offset, cost) = withText(activation, text) { text in
      withText(activation, part) { part in Texts.find(part, in: text, limit: budget) }
    }
    charge(cost)
    return Value(offset != nil)
  }
}
