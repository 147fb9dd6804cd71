// SPDX-License-Identifier: MIT

/// `matches` (langdef "Regular Expressions").
extension Evaluator {
  /// A text against a pattern that was compiled with the program.
  func match(_ activation: borrowing Activation, _ text: Value, _ pattern: Pattern) -> Value {
    guard text.kind == .string else { return text.isError ? text : error(.noMatchingOverload) }
    let (matches, cost) = withText(activation, text) { pattern.matches($0, limit: budget) }
    charge(cost)
    return Value(matches ?? false)
  }

  /// A text against a pattern that is not known before.
  func matches(_ activation: borrowing Activation, _ text: Value, _ pattern: Value) -> Value {
    guard text.kind == .string, pattern.kind == .string else { return error(.noMatchingOverload) }
    let limit = program.limits.patternSteps
    // A step is a byte at least, or two bytes of a larger count: a longer one is not worth reading.
    guard pattern.byteCount / 16 <= limit else { return error(.badArgument) }
    charge(8 * pattern.byteCount)
    do throws(Pattern.Failure) {
      let compiled = try Pattern(copy(activation, pattern), limit: limit)
      charge(compiled.instructions.count)
      return match(activation, text, compiled)
    } catch {
      return self.error(.badArgument)
    }
  }
}
