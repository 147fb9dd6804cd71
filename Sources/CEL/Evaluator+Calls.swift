// SPDX-License-Identifier: MIT

/// Calls of functions: an argument that is an error is the result; otherwise the types of the values choose.
extension Evaluator {
  /// The result of a function whose arguments are on the stack from `first` on.
  mutating func call(_ activation: borrowing Activation, _ function: Function, first: Int, count: Int) -> Value {
    for place in first..<first + count {
      let argument = unsafe stack[place]
      if argument.isError { return argument }
    }
    // Every function has one argument at least, and the stack one place more than is used.
    let a = unsafe stack[first]
    let b = unsafe stack[first + min(1, count - 1)]
    switch function {
    case .size: return size(activation, a)
    case .contains, .startsWith, .endsWith: return search(activation, function, a, b)
    }
  }

  private mutating func size(_ activation: borrowing Activation, _ value: Value) -> Value {
    switch value.kind {
    case .string:
      charge(value.byteCount / 8)
      return Value(withText(activation, value) { Texts.length($0) })
    case .bytes: return Value(value.byteCount)
    case .list: return Value(count(activation, of: value))
    case .map: return Value(size(activation, ofMap: value))
    default: return error(.noMatchingOverload)
    }
  }

  private mutating func search(_ activation: borrowing Activation, _ function: Function, _ text: Value, _ part: Value)
    -> Value
  {
    guard text.kind == .string, part.kind == .string else { return error(.noMatchingOverload) }
    let isAnywhere = function == .contains
    charge(isAnywhere ? text.byteCount / 8 : part.byteCount / 8)
    return Value(
      withText(activation, text) { text in
        withText(activation, part) { part in
          switch function {
          case .startsWith: Texts.hasPrefix(text, part)
          case .endsWith: Texts.hasSuffix(text, part)
          default: Texts.find(part, in: text) != nil
          }
        }
      })
  }
}
