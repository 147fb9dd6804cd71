// SPDX-License-Identifier: MIT

/// Finding elements and members, and taking arrays and objects apart where they are.
extension Patcher {
  func tree(of run: Run) -> JSONTree { run.isPatch ? patch : target }

  func piece(_ index: UInt32, of run: Run) -> Piece {
    let node = JSONTree.Node(index: index)
    return run.isPatch ? .patch(node) : .target(node)
  }

  func key(_ index: UInt32, of run: Run) -> Key {
    let node = JSONTree.Node(index: index)
    return run.isPatch ? .patch(node) : .target(node)
  }

  /// An array or object as one run; nil for any other kind, and for what has been taken apart.
  func run(of piece: Piece) -> (run: Run, isArray: Bool)? {
    let (tree, node): (JSONTree, JSONTree.Node)
    switch piece {
    case .target(let found): (tree, node) = (target, found)
    case .patch(let found): (tree, node) = (patch, found)
    case .array, .object: return nil
    }
    let kind = tree.kind(of: node)
    guard kind == .array || kind == .object else { return nil }
    var nodes = tree.nodes(of: node)
    nodes = (nodes.lowerBound + 1)..<nodes.upperBound
    var isPatch = false
    if case .patch = piece { isPatch = true }
    return (Run(isPatch: isPatch, container: node, nodes: nodes, count: tree.count(of: node)), kind == .array)
  }

  /// The elements of an array; nil for any other kind.
  func elements(of piece: Piece) -> Parts? {
    if case .array(let parts) = piece { return parts }
    guard let (run, isArray) = run(of: piece), isArray else { return nil }
    return run.count == 0 ? [] : [.run(run)]
  }

  /// The members of an object, duplicates included; nil for any other kind.
  func members(of piece: Piece) -> Parts? {
    if case .object(let parts) = piece { return parts }
    guard let (run, isArray) = run(of: piece), !isArray else { return nil }
    return run.count == 0 ? [] : [.run(run)]
  }

  func takeApart(_ piece: inout Piece) {
    if let parts = elements(of: piece) {
      piece = .array(parts)
    } else if let parts = members(of: piece) {
      piece = .object(parts)
    }
  }

  // MARK: Reading

  /// The piece that one step of a pointer leads to.
  mutating func child(_ step: Span<UInt8>, of piece: Piece) throws(JSONPatchError) -> Piece {
    if let parts = elements(of: piece) {
      guard let index = JSONPointer.arrayIndex(step), let (place, offset) = try position(of: index, in: parts) else {
        throw JSONPatchError(.badIndex)
      }
      switch parts[place] {
      case .run(let run): return self.piece(try node(offset, of: run), of: run)
      case .element(let element), .member(_, let element): return element
      }
    }
    guard let parts = members(of: piece), let (place, found) = try position(of: step, in: parts) else {
      throw JSONPatchError(.notFound)
    }
    switch parts[place] {
    case .run(let run): return self.piece(found.node + 1, of: run)
    case .element(let value), .member(_, let value): return value
    }
  }

  /// Where an element is: the part, and the element's place in it; nil when there are not so many.
  private mutating func position(
    of index: Int, in parts: Parts
  ) throws(JSONPatchError) -> (place: Int, offset: Int)? {
    var rest = index
    for (place, part) in parts.enumerated() {
      var count = 1
      if case .run(let run) = part { count = run.count }
      if rest < count {
        try spend(place)
        return (place, rest)
      }
      rest -= count
    }
    try spend(parts.count)
    return nil
  }

  /// The node of an element of a run.
  private mutating func node(_ offset: Int, of run: Run) throws(JSONPatchError) -> UInt32 {
    if run.nodes.count == run.count { return run.nodes.lowerBound + UInt32(offset) }
    try spend(offset)
    return tree(of: run).child(offset, after: run.nodes.lowerBound)
  }

  /// Where the last member with a name is: the part, and the key in it.
  private mutating func position(
    of name: Span<UInt8>, in parts: Parts
  ) throws(JSONPatchError) -> (place: Int, found: (node: UInt32, offset: Int))? {
    for (place, part) in parts.enumerated().reversed() {
      switch part {
      case .run(let run):
        try spend(run.count)
        if let found = tree(of: run).lastKey(name, in: run.nodes) { return (place, found) }
      case .member(let key, _):
        try spend(0)
        if isName(of: key, name) { return (place, (0, 0)) }
      case .element: continue
      }
    }
    return nil
  }

  // MARK: Taking apart

  /// Makes an element a part of its own.
  mutating func isolate(_ index: Int, in parts: inout Parts) throws(JSONPatchError) -> Int {
    guard let (place, offset) = try position(of: index, in: parts) else { throw JSONPatchError(.badIndex) }
    guard case .run(let run) = parts[place] else { return place }
    let node = try node(offset, of: run)
    return try replace(place, run, around: node, offset, in: &parts, with: .element(piece(node, of: run)))
  }

  /// Makes the last member with a name a part of its own; nil when there is none.
  mutating func isolate(_ name: [UInt8], in parts: inout Parts) throws(JSONPatchError) -> Int? {
    guard let (place, found) = try position(of: name.span, in: parts) else { return nil }
    guard case .run(let run) = parts[place] else { return place }
    let part = Part.member(key(found.node, of: run), piece(found.node + 1, of: run))
    return try replace(place, run, around: found.node, found.offset, in: &parts, with: part)
  }

  /// Splits parts before an element; `orEnd` behind all of them.
  ///
  /// - Returns: The place of the part that begins there, where another one can be inserted.
  mutating func open(_ parts: inout Parts, at index: Int, orEnd: Bool) throws(JSONPatchError) -> Int {
    if orEnd { return parts.count }
    guard let (place, offset) = try position(of: index, in: parts) else {
      // The index may be that of the element after the last.
      var count = 0
      for part in parts { if case .run(let run) = part { count += run.count } else { count += 1 } }
      guard index == count else { throw JSONPatchError(.badIndex) }
      return parts.count
    }
    guard offset > 0, case .run(let run) = parts[place] else { return place }
    let (before, after) = run.split(at: try node(offset, of: run), offset)
    try spend(parts.count - place)
    parts.replaceSubrange(place...place, with: [.run(before), .run(after)])
    return place + 1
  }

  /// Members without those of a name, and the value of the last of these.
  mutating func removing(_ name: [UInt8], from parts: Parts) throws(JSONPatchError) -> (rest: Parts, last: Piece?) {
    var (rest, last): (Parts, Piece?) = ([], nil)
    rest.reserveCapacity(parts.count + 1)
    for part in parts {
      switch part {
      case .run(var run):
        try spend(run.count)
        let tree = tree(of: run)
        while let found = tree.firstKey(name.span, in: run.nodes) {
          last = piece(found.node + 1, of: run)
          let (before, from) = run.split(at: found.node, found.offset)
          if before.count > 0 { rest.append(.run(before)) }
          run = from.split(at: tree.next(found.node), 1).after
        }
        if run.count > 0 { rest.append(.run(run)) }
      case .member(let key, let value):
        try spend(0)
        if isName(of: key, name.span) { last = value } else { rest.append(part) }
      case .element: continue
      }
    }
    return (rest, last)
  }

  /// Puts a part in the place of one child of a run, and the others before and after it.
  private mutating func replace(
    _ place: Int, _ run: Run, around node: UInt32, _ offset: Int, in parts: inout Parts, with part: Part
  ) throws(JSONPatchError) -> Int {
    try spend(parts.count - place)
    let (before, from) = run.split(at: node, offset)
    let after = from.split(at: tree(of: run).next(node), 1).after
    if before.count == 0, after.count == 0 {
      parts[place] = part
    } else {
      var new: Parts = []
      if before.count > 0 { new.append(.run(before)) }
      new.append(part)
      if after.count > 0 { new.append(.run(after)) }
      parts.replaceSubrange(place...place, with: new)
    }
    return before.count > 0 ? place + 1 : place
  }

  // MARK: Names

  /// The unescaped bytes of a name.
  func name(of key: Key) -> [UInt8] {
    switch key {
    case .target(let node): target.unescaped(node)
    case .patch(let node): patch.unescaped(node)
    case .name(let name): name
    }
  }

  func isName(of key: Key, _ name: Span<UInt8>) -> Bool {
    switch key {
    case .target(let node): target.string(node, equals: name) ?? false
    case .patch(let node): patch.string(node, equals: name) ?? false
    case .name(let other): other.count == name.count && other.span.startsEqual(name, count: name.count)
    }
  }
}

extension Patcher.Run {
  /// Its children before the node of one of them, and from there on.
  func split(at node: UInt32, _ offset: Int) -> (before: Self, after: Self) {
    var (before, after) = (self, self)
    before.nodes = nodes.lowerBound..<node
    before.count = offset
    after.nodes = node..<nodes.upperBound
    after.count = count - offset
    return (before, after)
  }
}
