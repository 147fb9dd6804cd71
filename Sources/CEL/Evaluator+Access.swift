// SPDX-License-Identifier: MIT

import JSON

/// Reading texts, lists, maps and JSON, whoever's they are.
extension Evaluator {
  // MARK: - Texts

  /// Calls `body` with the bytes of a string or bytes.
  func withText<Outcome>(_ value: Value, _ body: (Span<UInt8>) -> Outcome) -> Outcome {
    switch value.source {
    case .none:
      let nothing: [UInt8] = []
      return body(nothing.span)
    case .constants:
      let bytes = program.constants.bytes
      return body(bytes.span.extracting(value.range))
    case .created: return body(created.bytes.span.extracting(value.range))
    case .bound: return body(activation.pool.bytes.span.extracting(value.range))
    case .path: return body(activation.path.span.extracting(value.range))
    case .operations:
      let texts = ChangeOperation.texts
      return body(texts.span.extracting(value.range))
    case .tree0: return body(activation.tree0.text.bytes.span.extracting(value.range))
    case .tree1: return body(activation.tree1.text.bytes.span.extracting(value.range))
    case .tree2: return body(activation.tree2.text.bytes.span.extracting(value.range))
    case .tree3: return body(activation.tree3.text.bytes.span.extracting(value.range))
    }
  }

  func copy(_ value: Value) -> [UInt8] {
    // The pointer is used only for the copy.
    withText(value) { text in unsafe text.withUnsafeBufferPointer { unsafe Array($0) } }
  }

  /// Adds a text to what this evaluation has created.
  mutating func create(_ text: some Collection<UInt8>, _ kind: Value.Kind = .string) -> Value {
    guard reserve(text.count) else { return error(.tooLarge) }
    return created.add(text: text, kind, as: .created)
  }

  // MARK: - JSON

  /// Calls `body` with the tree that a list or map is a node of.
  @inline(__always)
  func withTree<Outcome>(_ source: Value.Source, _ body: (borrowing JSONTree) -> Outcome) -> Outcome {
    switch source {
    case .tree1: body(activation.tree1)
    case .tree2: body(activation.tree2)
    case .tree3: body(activation.tree3)
    default: body(activation.tree0)
    }
  }

  /// The value of a node of a tree of the activation.
  mutating func value(of node: JSONTree.Node, _ source: Value.Source) -> Value {
    let before = created.bytes.count
    var pool = Pool()
    swap(&pool, &created)
    let value = withTree(source) {
      JSONValues.value(of: node, in: $0, source: source, copyingTo: &pool, poolSource: .created)
    }
    swap(&pool, &created)
    // Only text with an escape is copied; its length is known when it is done, and bounded by the tree.
    let copied = created.bytes.count - before
    if copied > 0, !reserve(copied) { return error(.tooLarge) }
    return value
  }

  // MARK: - Lists and maps that are not JSON

  /// The elements of a list, or the keys and values of a map, that is not JSON.
  func list(_ value: Value) -> [Value] {
    switch value.source {
    case .constants: program.constants.lists[value.number]
    case .bound: activation.pool.lists[value.number]
    case .created: created.lists[value.number]
    default: []
    }
  }

  /// The number of elements of a list.
  func count(of list: Value) -> Int {
    guard list.isNode else { return self.list(list).count }
    return withTree(list.source) { $0.count(of: list.node) }
  }

  /// The element of a list at a place; nil when there is none.
  mutating func element(_ place: Int, of list: Value) -> Value? {
    guard list.isNode else {
      let elements = self.list(list)
      return elements.indices.contains(place) ? elements[place] : nil
    }
    guard let node = withTree(list.source, { $0.element(place, of: list.node) }) else { return nil }
    // Elements with content are walked over one by one.
    charge(place / 4)
    return value(of: node, list.source)
  }

  /// The value of a map for a key; nil when there is none.
  mutating func lookup(_ key: Value, in map: Value) -> Value? {
    guard map.isNode else {
      let entries = list(map)
      charge(entries.count / 2)
      for place in stride(from: 0, to: entries.count, by: 2) where equals(entries[place], key) {
        return entries[place + 1]
      }
      return nil
    }
    guard key.kind == .string, let node = member(key, of: map) else { return nil }
    return value(of: node, map.source)
  }

  /// The node of a member of a JSON object.
  mutating func member(_ key: Value, of map: Value) -> JSONTree.Node? {
    let (node, members) = withTree(map.source) { tree in
      (withText(key) { name in tree.member(name, of: map.node) }, tree.count(of: map.node))
    }
    charge(members / 4)
    return node
  }

  // MARK: - Selection (langdef "Field Selection")

  @inline(__always)
  mutating func select(_ name: Value, of operand: Value) -> Value {
    if operand.kind == .map, operand.isNode {
      // Names are constants: this is the way of nearly every filter, and it does not ask whose text it is.
      let names = program.constants.bytes
      let node = withTree(operand.source) { $0.member(names.span.extracting(name.range), of: operand.node) }
      guard let node else { return error(.noSuchKey) }
      charge(1)
      return value(of: node, operand.source)
    }
    return selectOther(name, of: operand)
  }

  private mutating func selectOther(_ name: Value, of operand: Value) -> Value {
    switch operand.kind {
    case .error: operand
    case .map: lookup(name, in: operand) ?? error(.noSuchKey)
    case .optional: selectOptional(name, of: operand)
    default: error(.noMatchingOverload)
    }
  }

  mutating func has(_ name: Value, in operand: Value) -> Value {
    switch operand.kind {
    case .error: return operand
    case .map: return Value(lookup(name, in: operand) != nil)
    case .optional:
      guard let content = content(of: operand) else { return .false }
      return content.kind == .map ? Value(lookup(name, in: content) != nil) : error(.noMatchingOverload)
    default: return error(.noMatchingOverload)
    }
  }

  // MARK: - Indexing

  mutating func element(at key: Value, of operand: Value) -> Value {
    if operand.isError { return operand }
    if key.isError { return key }
    switch operand.kind {
    case .list:
      guard let place = Self.place(key) else { return error(.noMatchingOverload) }
      return element(place, of: operand) ?? error(.indexOutOfRange)
    case .map:
      guard Self.canBeKey(key) else { return error(.noMatchingOverload) }
      return lookup(key, in: operand) ?? error(.noSuchKey)
    case .optional: return optionalElement(at: key, of: operand)
    default: return error(.noMatchingOverload)
    }
  }

  /// The place in a list that a number names: a double does when it is whole. Nil when it is no number; out of range
  /// when there can be no such place.
  static func place(_ key: Value) -> Int? {
    switch key.kind {
    case .int: Int(key.int)
    case .uint: Int(exactly: key.uint) ?? -1
    case .double: Int(exactly: key.double)
    default: nil
    }
  }

  /// A double finds the integer key it is equal to.
  static func canBeKey(_ key: Value) -> Bool {
    switch key.kind {
    case .bool, .int, .uint, .string, .double: true
    default: false
    }
  }

  // MARK: - Membership

  mutating func membership(_ element: Value, in container: Value) -> Value {
    if element.isError { return element }
    if container.isError { return container }
    switch container.kind {
    case .list: return Value(contains(element, container))
    case .map: return Value(Self.canBeKey(element) && lookup(element, in: container) != nil)
    default: return error(.noMatchingOverload)
    }
  }

  private mutating func contains(_ element: Value, _ container: Value) -> Bool {
    guard container.isNode else {
      for other in list(container) where equals(element, other) { return true }
      return false
    }
    var next = withTree(container.source) { $0.firstChild(of: container.node) }
    while let node = next, fatal == nil {
      let other = value(of: node, container.source)
      if equals(element, other) { return true }
      next = withTree(container.source) { $0.child(after: node, in: container.node) }
    }
    return false
  }
}
