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
  func lookup(_ activation: borrowing Activation, _ key: Int, _ use: LookupUse) -> Value {
    let found: Value
    if let fetched = workspace?.fetched, !fetched.isEmpty, let earlier = fetched[key] {
      found = earlier
    } else {
      guard let lookup = activation.lookup else { return error(.unboundVariable) }
      found = lookup(program.lookupKeys[key]).map { root(of: $0) } ?? error(.noSuchKey)
      let count = program.lookupKeys.count
      withWorkspace { workspace in
        if workspace.fetched.isEmpty { workspace.fetched = [Value?](repeating: nil, count: count) }
        workspace.fetched[key] = found
      }
    }
    let isMissing = found.isError && found.errorReason == .noSuchKey
    return switch use {
    case .value: isMissing ? error(.noSuchKey) : found
    case .optional: isMissing ? Self.noValue : optional(of: found)
    case .presence: Value(!isMissing)
    }
  }

  private func root(of tree: JSONTree) -> Value {
    let source = withWorkspace { workspace in
      workspace.trees.append(tree)
      return Value.Source(fetched: workspace.trees.count - 1)
    }
    return JSONValues.plain(.root, tree, source) ?? create(JSONValues.text(of: .root, in: tree))
  }
}
