// SPDX-License-Identifier: MIT

/// The list extension, and joining.
extension Evaluator {
  /// The elements of a list, copied.
  func elements(_ activation: borrowing Activation, of list: Value) -> [Value] {
    var elements: [Value] = []
    var cursor = Cursor(list)
    while let element = next(activation, &cursor) { elements.append(element) }
    return elements
  }

  /// Adds a list to what this evaluation has created.
  func create(_ elements: [Value]) -> Value {
    guard reserve(elements.count) else { return error(.tooLarge) }
    return add(elements, .list)
  }

  /// The same for a list, a map or the value of an optional that has been paid for.
  func add(_ elements: [Value], _ kind: Value.Kind) -> Value {
    withWorkspace { $0.created.add(list: elements, kind, as: .created) }
  }

  func callList(_ activation: borrowing Activation, _ function: Function, _ arguments: Arguments) -> Value {
    let (a, b, c) = (arguments.a, arguments.b, arguments.c)
    if function == .range {
      guard a.kind == .int else { return error(.noMatchingOverload) }
      guard a.int >= 0, a.int <= room, reserve(Int(a.int)) else { return error(a.int < 0 ? .badArgument : .tooLarge) }
      return add((0..<Int(a.int)).map { Value($0) }, .list)
    }
    guard a.kind == .list else { return error(.noMatchingOverload) }
    switch function {
    case .reverse: return create(elements(activation, of: a).reversed())
    case .first, .last:
      let count = count(activation, of: a)
      let place = function == .first ? 0 : count - 1
      return element(activation, place, of: a).map { optional(of: $0) } ?? Self.noValue
    case .slice:
      guard b.kind == .int, c.kind == .int else { return error(.noMatchingOverload) }
      let elements = elements(activation, of: a)
      guard b.int >= 0, b.int <= c.int, c.int <= elements.count else { return error(.indexOutOfRange) }
      return create(Array(elements[Int(b.int)..<Int(c.int)]))
    case .distinct: return distinct(activation, a)
    case .sort: return sorted(activation, a)
    case .flatten:
      guard arguments.count == 1 || b.kind == .int else { return error(.noMatchingOverload) }
      let depth = arguments.count == 1 ? 1 : b.int
      guard depth >= 0 else { return error(.badArgument) }
      return flattened(activation, a, depth)
    default: return error(.noMatchingOverload)
    }
  }

  private func distinct(_ activation: borrowing Activation, _ list: Value) -> Value {
    var kept: [Value] = []
    var cursor = Cursor(list)
    while let element = next(activation, &cursor) {
      charge(kept.count)
      var isNew = true
      for other in kept where isNew && fatal == nil && equals(activation, element, other) { isNew = false }
      if isNew { kept.append(element) }
    }
    return create(kept)
  }

  private func sorted(_ activation: borrowing Activation, _ list: Value) -> Value {
    let elements = elements(activation, of: list)
    return sorted(activation, elements.map { (key: $0, element: $0) })
  }

  /// The list in the order of keys, one for each element.
  func sorted(_ activation: borrowing Activation, _ list: Value, by keys: Value) -> Value {
    if keys.isError { return keys }
    guard list.kind == .list else { return error(.noMatchingOverload) }
    let elements = elements(activation, of: list)
    return sorted(activation, zip(self.list(activation, keys), elements).map { (key: $0, element: $1) })
  }

  /// Merge sort, so that elements with equal keys keep their order; all keys must be of one ordered type, or numbers.
  private func sorted(
    _ activation: borrowing Activation, _ pairs: [(key: Value, element: Value)]
  ) -> Value {
    var pairs = pairs
    if let first = pairs.first, order(activation, first.key, first.key) == .none { return error(.noMatchingOverload) }
    var width = 1
    while width < pairs.count {
      var merged: [(key: Value, element: Value)] = []
      merged.reserveCapacity(pairs.count)
      charge(pairs.count)
      var start = 0
      while start < pairs.count {
        let (middle, end) = (min(start + width, pairs.count), min(start + 2 * width, pairs.count))
        var (left, right) = (start, middle)
        while left < middle, right < end {
          guard fatal == nil else { return error(.budgetExceeded) }
          let order = order(activation, pairs[right].key, pairs[left].key)
          if order == .none { return error(.noMatchingOverload) }
          merged.append(order == .before ? pairs[right] : pairs[left])
          if order == .before { right += 1 } else { left += 1 }
        }
        merged += pairs[left..<middle]
        merged += pairs[right..<end]
        start = end
      }
      pairs = merged
      width *= 2
    }
    return create(pairs.map(\.element))
  }

  private func flattened(_ activation: borrowing Activation, _ list: Value, _ depth: Int64) -> Value {
    // A stack of the lists that are being gone over, so that their nesting costs no stack of the machine.
    var cursors = [Cursor(list)]
    var elements: [Value] = []
    while var cursor = cursors.popLast() {
      guard let element = next(activation, &cursor) else { continue }
      cursors.append(cursor)
      if element.kind == .list, cursors.count <= depth {
        cursors.append(Cursor(element))
      } else {
        elements.append(element)
      }
    }
    return create(elements)
  }

  func join(_ activation: borrowing Activation, _ list: Value, _ separator: Value?) -> Value {
    guard list.kind == .list, separator == nil || separator?.kind == .string else { return error(.noMatchingOverload) }
    let between = separator.map { copy(activation, $0) } ?? []
    var text: [UInt8] = []
    var cursor = Cursor(list)
    var isFirst = true
    while let element = next(activation, &cursor) {
      guard element.kind == .string else { return error(.noMatchingOverload) }
      // Checked before it is copied, and counted when it is created.
      guard text.count + between.count + element.byteCount <= room else {
        return exceeded()
      }
      if !isFirst { text += between }
      text += copy(activation, element)
      isFirst = false
    }
    return create(text)
  }
}
