// SPDX-License-Identifier: MIT

import JSON

/// Variables whose values are fetched when they are used: `properties["kitchen/temperature"]`.
extension Evaluator {
  /// What is asked of a key.
  enum LookupUse: UInt8, Sendable {
    /// The value; a missing one is an error.
    case value
    /// The value as an optional.
    case optional
    /// Whether there is one.
    case presence
  }

  /// The value for one of the program's keys.
  ///
  /// Each key is asked for once in an evaluation, when it is first used.
  mutating func lookup(_ activation: borrowing Activation, _ key: Int, _ use: LookupUse) -> Value {
    if fetched.isEmpty { fetched = [Value?](repeating: nil, count: program.lookupKeys.count) }
    let found: Value
    if let earlier = fetched[key] {
      found = earlier
    } else {
      guard let lookup = activation.lookup else { return error(.unboundVariable) }
      found = lookup(program.lookupKeys[key]).map { root(of: $0) } ?? error(.noSuchKey)
      fetched[key] = found
    }
    let isMissing = found.isError && found.errorReason == .noSuchKey
    return switch use {
    case .value: isMissing ? error(.noSuchKey) : found
    case .optional: isMissing ? Self.noValue : optional(of: found)
    case .presence: Value(!isMissing)
    }
  }

  private mutating func root(of tree: JSONTree) -> Value {
    let source = Value.Source(fetched: trees.count)
    trees.append(tree)
    return JSONValues.plain(.root, tree, source) ?? create(JSONValues.text(of: .root, in: tree))
  }
}
