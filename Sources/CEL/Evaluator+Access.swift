// SPDX-License-Identifier: MIT

import JSON

/// Reading texts, lists, maps and JSON, whatever their owner.
extension Evaluator {
  // MARK: - Texts

  /// Calls `body` with the bytes of a string or bytes.
  func withText<Outcome>(_ activation: borrowing Activation, _ value: Value, _ body: (Span<UInt8>) -> Outcome)
    -> Outcome
  {
    switch value.source {
    case .none:
      let nothing: [UInt8] = []
      return body(nothing.span)
    case .constants:
      // Valid during the evaluation, and `body` cannot keep a span.
      let bytes = unsafe Span(_unsafeElements: texts)
      return body(bytes.extracting(value.range))
    case .created:
      let bytes = workspace?.created.bytes ?? []
      return body(bytes.span.extracting(value.range))
    case .bound:
      let bytes = activation.further.pool.bytes
      return body(bytes.span.extracting(value.range))
    case .path: return body(activation.path.span.extracting(value.range))
    case .operations:
      let texts = ChangeOperation.texts
      return body(texts.span.extracting(value.range))
    case .tree0: return body(activation.tree0.text.bytes.span.extracting(value.range))
    case .tree1: return body(activation.tree1.text.bytes.span.extracting(value.range))
    default:
      let bytes =
        (value.source.fetchedNumber.flatMap { workspace?.trees[$0] }
        ?? activation.further.trees[value.source.furtherNumber])
        .text.bytes
      return body(bytes.span.extracting(value.range))
    }
  }

  func copy(_ activation: borrowing Activation, _ value: Value) -> [UInt8] {
    // The pointer is used only for the copy.
    withText(activation, value) { text in unsafe text.withUnsafeBufferPointer { unsafe Array($0) } }
  }

  /// Adds a text to what this evaluation has created.
  func create(_ text: some Collection<UInt8>, _ kind: Value.Kind = .string) -> Value {
    charge(4)
    guard reserve(text.count) else { return error(.tooLarge) }
    return withWorkspace { $0.created.add(text: text, kind, as: .created) }
  }

  // MARK: - JSON

  /// Calls `body` with the tree that a list or map is a node of.
  @inline(__always)
  func withTree<Outcome>(
    _ activation: borrowing Activation, _ source: Value.Source, _ body: (borrowing JSONTree) -> Outcome
  ) -> Outcome {
    switch source {
    case .tree0: body(activation.tree0)
    case .tree1: body(activation.tree1)
    default:
      body(source.fetchedNumber.flatMap { workspace?.trees[$0] } ?? activation.further.trees[source.furtherNumber])
    }
  }

  /// The value of a node of a tree of the activation.
  func value(_ activation: borrowing Activation, of node: JSONTree.Node, _ source: Value.Source) -> Value {
    let (value, size) = withTree(activation, source) { (JSONValues.plain(node, $0, source), $0.range(of: node).count) }
    guard let value else { return unescaped(activation, node, source) }
    if value.isNumber { charge(size / 16) }
    return value
  }

  private func unescaped(_ activation: borrowing Activation, _ node: JSONTree.Node, _ source: Value.Source)
    -> Value
  {
    create(withTree(activation, source) { JSONValues.text(of: node, in: $0) })
  }

  // MARK: - Lists and maps that are not JSON

  /// The elements of a list, or the keys and values of a map, that is not JSON.
  func list(_ activation: borrowing Activation, _ value: Value) -> [Value] {
    switch value.source {
    case .constants: program.constants.lists[value.number]
    case .bound: activation.further.pool.lists[value.number]
    case .created: workspace?.created.lists[value.number] ?? []
    default: []
    }
  }

  /// The number of elements of a list.
  func count(_ activation: borrowing Activation, of list: Value) -> Int {
    guard list.isNode else { return self.list(activation, list).count }
    return withTree(activation, list.source) { $0.count(of: list.node) }
  }

  /// The element of a list at a place; nil when there is none.
  func element(_ activation: borrowing Activation, _ place: Int, of list: Value) -> Value? {
    guard list.isNode else {
      let elements = self.list(activation, list)
      return elements.indices.contains(place) ? elements[place] : nil
    }
    guard let node = withTree(activation, list.source, { $0.element(place, of: list.node) }) else { return nil }
    // Elements with content are walked over one by one.
    charge(place / 4)
    return value(activation, of: node, list.source)
  }

  /// The value of a map for a key; nil when there is none.
  func lookup(_ activation: borrowing Activation, _ key: Value, in map: Value) -> Value? {
    guard map.isNode else {
      let entries = list(activation, map)
      charge(entries.count / 2)
      for place in stride(from: 0, to: entries.count, by: 2) where equals(activation, entries[place], key) {
        return entries[place + 1]
      }
      return nil
    }
    guard key.kind == .string, let node = member(activation, key, of: map) else { return nil }
    return value(activation, of: node, map.source)
  }

  /// The node of a member of a JSON object.
  func member(_ activation: borrowing Activation, _ key: Value, of map: Value) -> JSONTree.Node? {
    let (node, members, size) = withTree(activation, map.source) { tree in
      (
        withText(activation, key) { name in tree.member(name, of: map.node) }, tree.count(of: map.node),
        tree.range(of: map.node).count
      )
    }
    // A long name may be compared with others that differ late.
    charge(members / 4 + (key.byteCount > 64 ? size / 16 : 0))
    return node
  }

  // MARK: - Selection (langdef "Field Selection")

  @inline(__always)
  func select(_ activation: borrowing Activation, _ name: Value, of operand: Value) -> Value {
    if operand.kind == .map, operand.isNode {
      // The way of nearly every filter. Names are constants, so it does not ask whose text they are; and the tree is
      // asked for the member and its value in one go, because each time it is reached its blocks are retained.
      // Valid during the evaluation.
      let names = unsafe Span(_unsafeElements: texts)
      var node: JSONTree.Node?
      var cost = 0
      let value = withTree(activation, operand.source) { tree -> Value? in
        guard let found = tree.member(names.extracting(name.range), of: operand.node) else { return nil }
        node = found
        cost = (tree.count(of: operand.node) + tree.range(of: found).count) / 16
        return JSONValues.plain(found, tree, operand.source)
      }
      charge(1 + cost)
      if let value { return value }
      return node.map { unescaped(activation, $0, operand.source) } ?? error(.noSuchKey)
    }
    return selectOther(activation, name, of: operand)
  }

  private func selectOther(_ activation: borrowing Activation, _ name: Value, of operand: Value) -> Value {
    switch operand.kind {
    case .error: operand
    case .map: lookup(activation, name, in: operand) ?? error(.noSuchKey)
    case .optional: selectOptional(activation, name, of: operand)
    default: error(.noMatchingOverload)
    }
  }

  func has(_ activation: borrowing Activation, _ name: Value, in operand: Value) -> Value {
    switch operand.kind {
    case .error: return operand
    case .map: return Value(lookup(activation, name, in: operand) != nil)
    case .optional:
      guard let content = content(activation, of: operand) else { return .false }
      return content.kind == .map ? Value(lookup(activation, name, in: content) != nil) : error(.noMatchingOverload)
    default: return error(.noMatchingOverload)
    }
  }

  // MARK: - Indexing

  func element(_ activation: borrowing Activation, at key: Value, of operand: Value) -> Value {
    if operand.isError { return operand }
    if key.isError { return key }
    switch operand.kind {
    case .list:
      guard let place = Self.place(key) else { return error(.noMatchingOverload) }
      return element(activation, place, of: operand) ?? error(.indexOutOfRange)
    case .map:
      guard Self.canBeKey(key) else { return error(.noMatchingOverload) }
      return lookup(activation, key, in: operand) ?? error(.noSuchKey)
    case .optional: return optionalElement(activation, at: key, of: operand)
    default: return error(.noMatchingOverload)
    }
  }

  /// The place in a list that a number names: a double does when it is whole.
  ///
  /// Nil when it is not a number; out of range when there can be no such place.
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

  func membership(_ activation: borrowing Activation, _ element: Value, in container: Value) -> Value {
    if element.isError { return element }
    if container.isError { return container }
    switch container.kind {
    case .list: return Value(contains(activation, element, container))
    case .map: return Value(Self.canBeKey(element) && lookup(activation, element, in: container) != nil)
    default: return error(.noMatchingOverload)
    }
  }

  private func contains(_ activation: borrowing Activation, _ element: Value, _ container: Value) -> Bool {
    guard container.isNode else {
      for other in list(activation, container) {
        charge(3)
        if fatal != nil { return false }
        if equals(activation, element, other) { return true }
      }
      return false
    }
    var next = withTree(activation, container.source) { $0.firstChild(of: container.node) }
    while let node = next, fatal == nil {
      charge(3)
      let other = value(activation, of: node, container.source)
      if equals(activation, element, other) { return true }
      next = withTree(activation, container.source) { $0.child(after: node, in: container.node) }
    }
    return false
  }
}
