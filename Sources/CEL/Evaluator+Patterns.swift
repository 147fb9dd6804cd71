// SPDX-License-Identifier: MIT

/// `matches`.
extension Evaluator {
  mutating func matches(_ activation: borrowing Activation, _ text: Value, _ pattern: Value) -> Value {
    error(.noMatchingOverload)
  }
}
