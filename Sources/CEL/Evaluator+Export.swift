// SPDX-License-Identifier: MIT

/// Results: values that outlive the evaluation.
extension Evaluator {
  /// A copy that stands alone; nil when it is too large or too deep, which `fatal` then says.
  func exported(_ activation: borrowing Activation, _ value: Value) -> CELValue? {
    // What is only copied out does not count as created; it is bounded for itself.
    room = program.limits.created
    return exported(activation, value, depth: 0)
  }

  private func exported(_ activation: borrowing Activation, _ value: Value, depth: Int) -> CELValue? {
    // A value of its own, and a place in the list or map around it, cost more than a step.
    charge(8)
    guard depth < CELLimits.valueDepth, reserve(1) else {
      fatal = fatal ?? .tooLarge
      return nil
    }
    switch value.kind {
    case .null: return .null
    case .bool: return .bool(value.bool)
    case .int: return .int(value.int)
    case .uint: return .uint(value.uint)
    case .double: return .double(value.double)
    case .string:
      guard reserve(value.byteCount) else { return nil }
      return .string(String(decoding: copy(activation, value), as: UTF8.self))
    case .bytes:
      guard reserve(value.byteCount) else { return nil }
      return .bytes(copy(activation, value))
    case .timestamp: return .timestamp(seconds: value.int, nanoseconds: value.extra)
    case .duration: return .duration(seconds: value.int, nanoseconds: value.extra)
    case .type: return .type(value.typeKind.typeName)
    case .list:
      var elements: [CELValue] = []
      var cursor = Cursor(value)
      while let element = next(activation, &cursor) {
        guard let element = exported(activation, element, depth: depth + 1) else { return nil }
        elements.append(element)
      }
      return fatal == nil ? .list(elements) : nil
    case .map:
      var entries: [(key: CELValue, value: CELValue)] = []
      var cursor = Cursor(value)
      while let key = next(activation, &cursor) {
        guard let content = lookup(activation, key, in: value), let key = exported(activation, key, depth: depth + 1),
          let content = exported(activation, content, depth: depth + 1)
        else { return nil }
        entries.append((key, content))
      }
      return fatal == nil ? .map(entries) : nil
    case .optional:
      guard let content = content(activation, of: value) else { return .optional(nil) }
      return exported(activation, content, depth: depth + 1).map { .optional($0) }
    case .error, .cursor: return nil
    }
  }
}
