// SPDX-License-Identifier: MIT

import JSON

/// Going over lists and maps, and the macros that do (langdef "Macros").
extension Evaluator {
  /// A place in a list or among the keys of a map.
  struct Cursor {
    let container: Value
    var place = 0
    var node: JSONTree.Node?

    init(_ container: Value) { self.container = container }

    /// From its two halves, as the stack keeps it between the steps of a loop.
    init(_ container: Value, _ state: Value) {
      self.container = container
      place = Int(state.bits >> 32)
      let node = UInt32(truncatingIfNeeded: state.bits)
      self.node = node == 0 ? nil : JSONTree.Node(place: node)
    }

    /// Elements are never node 0, which is the root of the tree.
    var state: Value { Value(.cursor, bits: UInt64(place) << 32 | UInt64(node?.place ?? 0)) }
  }

  /// The next element of a list or key of a map.
  func next(_ activation: borrowing Activation, _ cursor: inout Cursor) -> Value? {
    let container = cursor.container
    charge(1)
    guard container.isNode else {
      let elements = list(activation, container)
      let index = container.kind == .map ? cursor.place * 2 : cursor.place
      guard index < elements.count else { return nil }
      cursor.place += 1
      return elements[index]
    }
    while fatal == nil, let node = node(activation, after: cursor) {
      cursor.node = node
      // Of several keys with one name only the last counts.
      if container.kind == .map, !isLast(activation, node, of: container) { continue }
      cursor.place += 1
      return value(activation, of: node, container.source)
    }
    return nil
  }

  private func node(_ activation: borrowing Activation, after cursor: Cursor) -> JSONTree.Node? {
    let container = cursor.container.node
    return withTree(activation, cursor.container.source) { tree in
      cursor.node.map { tree.child(after: $0, in: container) } ?? tree.firstChild(of: container)
    }
  }

  private func isLast(
    _ activation: borrowing Activation, _ key: JSONTree.Node, of map: Value
  ) -> Bool {
    guard mayHaveDuplicates(activation, map) else { return true }
    let (isLast, members) = withTree(activation, map.source) { tree in
      (tree.isLast(key, of: map.node), tree.count(of: map.node))
    }
    charge(members / 4)
    return isLast
  }

  /// Whether an object of JSON may have two members with one name.
  ///
  /// Asked once for all members of an object in turn: searching for each of them again would take quadratic time.
  private func mayHaveDuplicates(_ activation: borrowing Activation, _ map: Value) -> Bool {
    if let checkedObject, checkedObject.object.source == map.source, checkedObject.object.bits == map.bits {
      return checkedObject.hasDuplicates
    }
    let members = withTree(activation, map.source) { $0.count(of: map.node) }
    // For a few, looking is cheaper than remembering.
    guard members > 8 else { return members > 1 }
    let size = withTree(activation, map.source) { $0.range(of: map.node).count }
    charge(2 * members + size / 16)
    let hasDuplicates = withTree(activation, map.source) { tree -> Bool in
      var hashes: [UInt64] = []
      hashes.reserveCapacity(members)
      var next = tree.firstChild(of: map.node)
      while let key = next {
        // Two names with one hash only mean more work.
        hashes.append(tree.withUTF8(of: key) { Texts.hash($0) } ?? 0)
        next = tree.child(after: key, in: map.node)
      }
      hashes.sort()
      return zip(hashes, hashes.dropFirst()).contains { $0 == $1 }
    }
    checkedObject = (map, hasDuplicates)
    return hasDuplicates
  }

  /// The number of entries of a map.
  func size(_ activation: borrowing Activation, ofMap map: Value) -> Int {
    guard map.isNode else { return list(activation, map).count / 2 }
    let members = withTree(activation, map.source) { $0.count(of: map.node) }
    guard mayHaveDuplicates(activation, map) else { return members }
    var count = 0
    var next = withTree(activation, map.source) { $0.firstChild(of: map.node) }
    while let key = next, fatal == nil {
      if isLast(activation, key, of: map) { count += 1 }
      next = withTree(activation, map.source) { $0.child(after: key, in: map.node) }
    }
    return count
  }

  // MARK: - Macros
  //
  // The stack of a loop, from its start: what it goes over, the cursor, the result so far, one or two variables.

  func beginLoop(_ macro: Syntax.Macro, _ names: Int, end: Int) -> Int? {
    let range = self[below: 0]
    guard range.kind == .list || range.kind == .map else {
      if !range.isError { self[below: 0] = error(.noMatchingOverload) }
      return end
    }
    push(Cursor(range).state)
    switch macro {
    case .all: push(.true)
    case .exists: push(.false)
    case .existsOne: push(Value(0))
    case .map, .filter, .transformList, .sortBy: push(newList(.list))
    case .transformMap, .transformMapEntry: push(newList(.map))
    }
    for _ in 0..<names { push(.null) }
    return nil
  }

  func nextElement(_ activation: borrowing Activation, _ names: Int, exit: Int) -> Int? {
    let range = self[below: names + 2]
    var cursor = Cursor(range, self[below: names + 1])
    let place = cursor.place
    guard let element = next(activation, &cursor) else { return exit }
    self[below: names + 1] = cursor.state
    if names == 1 {
      self[below: 0] = element
    } else if range.kind == .list {
      self[below: 1] = Value(place)
      self[below: 0] = element
    } else {
      self[below: 1] = element
      self[below: 0] = lookup(activation, element, in: range) ?? error(.noSuchKey)
    }
    return nil
  }

  func filter(_ names: Int, start: Int, exit: Int) -> Int? {
    let condition = pop()
    if condition.kind == .bool { return condition.bool ? nil : start }
    self[below: names] = condition.isError ? condition : error(.noMatchingOverload)
    return exit
  }

  func accumulate(
    _ activation: borrowing Activation, _ macro: Syntax.Macro, _ names: Int, start: Int, exit: Int
  ) -> Int {
    // The steps of the body; those of loops within it have been paid for themselves.
    charge(counter - start)
    let value = pop()
    let soFar = self[below: names]
    let result: Value
    switch macro {
    case .all:
      if value.isFalse {
        self[below: names] = .false
        return exit
      }
      // An error stays unless a later element decides.
      if value.isTrue || soFar.isError { return start }
      result = value.isError ? value : error(.noMatchingOverload)
      self[below: names] = result
      return start
    case .exists:
      if value.isTrue {
        self[below: names] = .true
        return exit
      }
      if value.isFalse || soFar.isError { return start }
      result = value.isError ? value : error(.noMatchingOverload)
      self[below: names] = result
      return start
    case .existsOne:
      guard value.kind == .bool else {
        result = value.isError ? value : error(.noMatchingOverload)
        break
      }
      result = value.bool ? Value(soFar.int + 1) : soFar
    case .filter:
      guard value.kind == .bool else {
        result = value.isError ? value : error(.noMatchingOverload)
        break
      }
      result = value.bool ? append(self[below: names - 1], to: soFar) : soFar
    case .map, .transformList, .sortBy: result = append(value, to: soFar)
    case .transformMap:
      // The entry keeps its key; of a list that is the index.
      result = insert(activation, self[below: 1], value, into: soFar)
    case .transformMapEntry: result = insertEntries(activation, of: value, into: soFar)
    }
    self[below: names] = result
    return result.isError ? exit : start
  }

  private func insertEntries(_ activation: borrowing Activation, of value: Value, into map: Value) -> Value {
    guard value.kind == .map else { return value.isError ? value : error(.noMatchingOverload) }
    var result = map
    var cursor = Cursor(value)
    while let key = next(activation, &cursor), !result.isError {
      result = insert(activation, key, lookup(activation, key, in: value) ?? error(.noSuchKey), into: result)
    }
    return result
  }

  // MARK: - Making lists and maps

  func newList(_ kind: Value.Kind) -> Value {
    guard reserve(1) else { return error(.tooLarge) }
    return add([], kind)
  }

  /// The list with one more value, which is the list itself: nothing else refers to it yet.
  func append(_ value: Value, to list: Value) -> Value {
    if list.isError { return list }
    if value.isError { return value }
    charge(1)
    guard reserve(1) else { return error(.tooLarge) }
    withWorkspace { $0.created.lists[list.number].append(value) }
    return list
  }

  func appendOptional(_ activation: borrowing Activation, _ value: Value, to list: Value) -> Value {
    guard value.kind == .optional else {
      return list.isError ? list : value.isError ? value : error(.noMatchingOverload)
    }
    return content(activation, of: value).map { append($0, to: list) } ?? list
  }

  func insert(_ activation: borrowing Activation, _ key: Value, _ value: Value, into map: Value) -> Value {
    if map.isError { return map }
    if key.isError { return key }
    if value.isError { return value }
    guard Self.canBeKey(key), key.kind != .double else { return error(.badKey) }
    guard lookup(activation, key, in: map) == nil else { return error(.badKey) }
    guard reserve(2) else { return error(.tooLarge) }
    withWorkspace { $0.created.lists[map.number].append(key) }
    withWorkspace { $0.created.lists[map.number].append(value) }
    return map
  }

  func insertOptional(_ activation: borrowing Activation, _ key: Value, _ value: Value, into map: Value)
    -> Value
  {
    guard value.kind == .optional else {
      return map.isError ? map : key.isError ? key : value.isError ? value : error(.noMatchingOverload)
    }
    return content(activation, of: value).map { insert(activation, key, $0, into: map) } ?? map
  }
}
