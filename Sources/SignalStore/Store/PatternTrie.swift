// SPDX-License-Identifier: MIT

/// Finds, for a path, the numbers that were added with a pattern that matches it.
///
/// The cost of a look-up depends on the patterns that match a prefix of the path, not on the number of those that do
/// not, and it allocates nothing. A number may have several patterns; it is found once. The order in which numbers are
/// found is unspecified. They are indices into an array of the owner: memory is reserved for all below the greatest.
///
/// It belongs to one owner, who adds, removes and looks up: a look-up mutates scratch memory of the trie.
///
/// It is a nondeterministic automaton that reads the path segment by segment. Patterns with a common prefix share its
/// nodes, and the automaton is in several nodes at once:
///
///     a/*/c, a/**      root ─a─▶ ○ ─*─▶ ○ ─c─▶ ●
///                                │
///                                └─(**)─▶ ● ↺ any segment
///
/// Reading a segment leads from each node along the edge of that segment and along the edge of "*";
/// the node of a "**" is entered along with its parent and stays. A node is entered once at most for
/// each segment, so a walk costs the segments times the nodes that the path reaches, however
/// many "**" a pattern has and however many patterns do not match.
package struct PatternTrie: ~Copyable {
  /// Index of a node; 0 is the root, and, since nothing leads to the root, also "none".
  typealias Index = Int32

  /// 64 bytes, which hold everything that a look-up needs of a node with a short segment and one number: with ten
  /// thousand such nodes, each look-up visits another one, whose memory is not cached.
  struct Node {
    let parent: Index
    var one: Index = 0
    var any: Index = 0
    /// The number of edges with a literal segment.
    var literals: Int32 = 0
    /// The reading step that last entered the node.
    var step: UInt64 = 0
    /// Hash of parent and segment, for the table of edges.
    let hash: Int
    /// The first eight bytes of the segment that leads here, or all bytes of a longer one.
    private let head: UInt64
    private let longSegment: [UInt8]
    let wildcard: Wildcard?
    /// The first number whose pattern ends here, or -1; the others are kept apart.
    private(set) var first: Int32 = -1
    private(set) var others: [Int32] = []

    init(parent: Index, segment: ArraySlice<UInt8>, wildcard: Wildcard?, hash: Int) {
      self.parent = parent
      self.wildcard = wildcard
      self.hash = hash
      head = PathOrder.head(segment.span, from: 0)
      longSegment = segment.count > 8 ? Array(segment) : []
    }

    func isChild(of parent: Index, _ segment: Span<UInt8>, hash: Int) -> Bool {
      guard self.hash == hash, self.parent == parent else { return false }
      // No segment holds a zero byte, which pads the head of a short one.
      if segment.count <= 8 { return longSegment.isEmpty && head == PathOrder.head(segment, from: 0) }
      return PathOrder.isEqual(longSegment.span, segment)
    }

    static var unused: Node { Node(parent: 0, segment: [], wildcard: nil, hash: 0) }

    var isUnused: Bool { first < 0 && literals == 0 && one == 0 && any == 0 }

    /// Adds a number and returns its place: 0 is `first`.
    mutating func add(_ number: Int32) -> Int32 {
      guard first >= 0 else {
        first = number
        return 0
      }
      others.append(number)
      return Int32(others.count)
    }

    /// Removes the number at a place; the last one, which is returned, moves to that place.
    mutating func remove(at place: Int32) -> Int32? {
      guard let last = others.popLast() else {
        first = -1
        return nil
      }
      guard place <= others.count else { return nil }
      if place == 0 { first = last } else { others[Int(place) - 1] = last }
      return last
    }
  }

  /// The state of a number.
  private struct Target {
    /// The nodes in which its patterns end, and its place in each: a node may have hundreds of thousands of numbers.
    var nodes: [(index: Index, place: Int32)] = []
    /// The reading step at which it was last found.
    var step: UInt64 = 0
  }

  private(set) var nodes: ContiguousArray<Node>
  private var free: [Index] = []
  private var targets: ContiguousArray<Target> = []
  /// The number of targets with several patterns: only these can be found twice.
  private var withSeveral = 0

  /// The edges with literal segments: the nodes they lead to in a hash table with linear probing; 0
  /// is an empty place.
  ///
  /// A dictionary would need the segment as a key of its own, and so an allocation for each
  /// look-up.
  private var table: ContiguousArray<Index>
  private var edges = 0

  /// The nodes the automaton is in; kept to reuse the storage.
  private(set) var active: ContiguousArray<Index> = []
  private var entered: ContiguousArray<Index> = []
  private var step: UInt64 = 0

  /// A trie without patterns.
  package init() {
    nodes = [Node.unused]
    table = ContiguousArray(repeating: 0, count: 16)
  }

  /// Whether there is no pattern.
  package var isEmpty: Bool { nodes[0].isUnused }

  // MARK: Reading

  /// Calls `body` with each number that has a pattern matching the path, once.
  ///
  /// The trie must not be changed or searched from inside `body`.
  package mutating func forEachMatch(_ path: PropertyPath, _ body: (Int) -> Void) {
    read(path.bytes.span)
    for index in active where nodes[Int(index)].first >= 0 {
      if isNew(nodes[Int(index)].first) { body(Int(nodes[Int(index)].first)) }
      for number in nodes[Int(index)].others where isNew(number) { body(Int(number)) }
    }
  }

  /// Whether the number has not been found yet in this look-up.
  private mutating func isNew(_ number: Int32) -> Bool {
    guard withSeveral > 0, targets[Int(number)].nodes.count > 1 else { return true }
    if targets[Int(number)].step == step { return false }
    targets[Int(number)].step = step
    return true
  }

  private mutating func read(_ path: Span<UInt8>) {
    step += 1
    active.removeAll(keepingCapacity: true)
    entered.removeAll(keepingCapacity: true)
    enter(0)
    swap(&active, &entered)
    var start = 0
    while start <= path.count, !active.isEmpty {
      var end = start
      while end < path.count, path[end] != PathOrder.slash { end &+= 1 }
      read(segment: path.extracting(start..<end))
      start = end + 1
    }
  }

  private mutating func read(segment: Span<UInt8>) {
    step += 1
    entered.removeAll(keepingCapacity: true)
    var hash: Int?
    for index in active {
      if nodes[Int(index)].wildcard == .any { enter(index) }
      if nodes[Int(index)].one != 0 { enter(nodes[Int(index)].one) }
      if nodes[Int(index)].literals > 0 {
        let known = hash ?? PatternTrie.hash(of: segment)
        hash = known
        let child = edge(from: index, segment, hash: known)
        if child != 0 { enter(child) }
      }
    }
    swap(&active, &entered)
  }

  private mutating func enter(_ index: Index) {
    // Only the node of a "**" can be reached in two ways: it stays active, and its parent is entered again.
    if nodes[Int(index)].step == step { return }
    nodes[Int(index)].step = step
    entered.append(index)
    if nodes[Int(index)].any != 0 { enter(nodes[Int(index)].any) }
  }

  // MARK: Changing

  /// Adds a pattern to a number; false when it already has that one.
  @discardableResult
  package mutating func add(_ pattern: PathPattern, _ number: Int) -> Bool {
    var index: Index = 0
    for segment in pattern.segments {
      let known = child(of: index, segment)
      index = known == 0 ? addChild(of: index, segment) : known
    }
    while targets.count <= number { targets.append(Target()) }
    if targets[number].nodes.contains(where: { $0.index == index }) { return false }
    targets[number].nodes.append((index, nodes[Int(index)].add(Int32(number))))
    if targets[number].nodes.count == 2 { withSeveral += 1 }
    return true
  }

  /// Removes a pattern from a number; false when it does not have it.
  ///
  /// The nodes that only this pattern needed are removed with it.
  @discardableResult
  package mutating func remove(_ pattern: PathPattern, _ number: Int) -> Bool {
    guard number < targets.count else { return false }
    var index: Index = 0
    for segment in pattern.segments {
      index = child(of: index, segment)
      if index == 0 { return false }
    }
    guard let entry = targets[number].nodes.firstIndex(where: { $0.index == index }) else { return false }
    let place = targets[number].nodes.remove(at: entry).place
    if targets[number].nodes.count == 1 { withSeveral -= 1 }
    if let moved = nodes[Int(index)].remove(at: place) {
      guard let entry = targets[Int(moved)].nodes.firstIndex(where: { $0.index == index }) else {
        preconditionFailure("A node holds a number that does not know of it.")
      }
      targets[Int(moved)].nodes[entry].place = place
    }
    while index != 0, nodes[Int(index)].isUnused {
      let parent = nodes[Int(index)].parent
      removeChild(index)
      index = parent
    }
    return true
  }

  private func child(of parent: Index, _ segment: ArraySlice<UInt8>) -> Index {
    switch Wildcard(segment) {
    case .one: nodes[Int(parent)].one
    case .any: nodes[Int(parent)].any
    case nil: edge(from: parent, segment.span, hash: PatternTrie.hash(of: segment.span))
    }
  }

  private mutating func addChild(of parent: Index, _ segment: ArraySlice<UInt8>) -> Index {
    let wildcard = Wildcard(segment)
    let hash = PatternTrie.hash(of: segment.span, from: parent)
    let node = Node(parent: parent, segment: segment, wildcard: wildcard, hash: hash)
    let index: Index
    if let reused = free.popLast() {
      index = reused
      nodes[Int(index)] = node
    } else {
      index = Index(nodes.count)
      nodes.append(node)
    }
    switch wildcard {
    case .one: nodes[Int(parent)].one = index
    case .any: nodes[Int(parent)].any = index
    case nil:
      nodes[Int(parent)].literals += 1
      addEdge(to: index)
    }
    return index
  }

  private mutating func removeChild(_ index: Index) {
    let parent = Int(nodes[Int(index)].parent)
    switch nodes[Int(index)].wildcard {
    case .one: nodes[parent].one = 0
    case .any: nodes[parent].any = 0
    case nil:
      nodes[parent].literals -= 1
      removeEdge(to: index)
    }
    nodes[Int(index)] = Node.unused
    free.append(index)
  }

  // MARK: Edges

  /// Seeded for each process, so that nobody can choose segments that collide.
  private static func hash(of segment: Span<UInt8>) -> Int {
    var hasher = Hasher()
    // The pointer is read within the closure only.
    unsafe segment.bytes.withUnsafeBytes { unsafe hasher.combine(bytes: $0) }
    return hasher.finalize()
  }

  private static func hash(of segment: Span<UInt8>, from parent: Index) -> Int {
    combine(hash(of: segment), parent)
  }

  private static func combine(_ hash: Int, _ parent: Index) -> Int {
    hash &+ Int(parent) &* 0x1E37_79B9_7F4A_7C15
  }

  private func edge(from parent: Index, _ segment: Span<UInt8>, hash: Int) -> Index {
    let hash = PatternTrie.combine(hash, parent)
    var place = hash & (table.count - 1)
    while table[place] != 0 {
      let index = table[place]
      if nodes[Int(index)].isChild(of: parent, segment, hash: hash) { return index }
      place = (place + 1) & (table.count - 1)
    }
    return 0
  }

  private mutating func addEdge(to index: Index) {
    edges += 1
    if edges * 2 > table.count {
      let old = table
      table = ContiguousArray(repeating: 0, count: old.count * 2)
      for known in old where known != 0 { place(known) }
    }
    place(index)
  }

  private mutating func place(_ index: Index) {
    var place = nodes[Int(index)].hash & (table.count - 1)
    while table[place] != 0 { place = (place + 1) & (table.count - 1) }
    table[place] = index
  }

  private mutating func removeEdge(to index: Index) {
    edges -= 1
    let mask = table.count - 1
    var hole = nodes[Int(index)].hash & mask
    while table[hole] != index { hole = (hole + 1) & mask }
    // Later entries move up into the hole unless they are already at or after their home slot.
    var place = (hole + 1) & mask
    while table[place] != 0 {
      let home = nodes[Int(table[place])].hash & mask
      if (place - home) & mask >= (place - hole) & mask {
        table[hole] = table[place]
        hole = place
      }
      place = (place + 1) & mask
    }
    table[hole] = 0
  }
}
