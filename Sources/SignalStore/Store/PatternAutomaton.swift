// SPDX-License-Identifier: MIT

/// The patterns of a ``PatternTrie`` as one machine that reads a path segment by segment.
///
/// Patterns with a common beginning share the nodes of it. The machine is in several nodes at once:
///
///     a/*/c, a/**      root ─a─▶ ○ ─*─▶ ○ ─c─▶ ●
///                                │
///                                └─(**)─▶ ● ↺ any segment
///
/// Reading a segment leads from each node along the edge of that segment and along the edge of "*";
/// the node of a "**" is entered along with its parent and stays. A node is entered once at most for
/// each segment, so a walk costs the segments times the nodes that the path really reaches, however
/// many "**" a pattern has and however many patterns do not match.
@usableFromInline
struct PatternAutomaton {
  /// Index of a node; 0 is the root, and, since nothing leads to the root, also "none".
  @usableFromInline typealias Index = Int32

  @usableFromInline
  struct Node {
    let parent: Index
    /// The segment that leads here, empty for the root, "*" and "**" for wildcards.
    let segment: [UInt8]
    let wildcard: Wildcard?
    /// Hash of parent and segment, for the table of edges.
    let hash: Int
    var one: Index = 0
    var any: Index = 0
    /// The number of edges with a literal segment.
    var literals = 0
    /// The elements whose pattern ends here, by number.
    @usableFromInline var targets: [Int32] = []
    /// The reading step that last entered the node.
    var step: UInt64 = 0

    func isChild(of parent: Index, _ segment: Span<UInt8>, hash: Int) -> Bool {
      self.hash == hash && self.parent == parent && PathOrder.isEqual(self.segment.span, segment)
    }

    var isUnused: Bool { targets.isEmpty && literals == 0 && one == 0 && any == 0 }
  }

  @usableFromInline private(set) var nodes: ContiguousArray<Node>
  private var free: [Index] = []

  /// The edges with literal segments: the nodes they lead to in a hash table with linear probing; 0
  /// is an empty place.
  ///
  /// A dictionary would need the segment as a key of its own, and so an allocation for each
  /// look-up.
  private var table: ContiguousArray<Index>
  private var edges = 0

  /// The nodes the machine is in; kept for their storage.
  @usableFromInline private(set) var active: ContiguousArray<Index> = []
  private var entered: ContiguousArray<Index> = []
  private var step: UInt64 = 0

  init() {
    nodes = [Node(parent: 0, segment: [], wildcard: nil, hash: 0)]
    table = ContiguousArray(repeating: 0, count: 16)
  }

  /// Whether there is no pattern.
  var isEmpty: Bool { nodes[0].isUnused }

  // MARK: Reading

  /// Reads a path; afterwards the patterns that match end in the nodes in ``active``.
  @usableFromInline
  mutating func read(_ path: PropertyPath) {
    let path = path.bytes.span
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
        let known = hash ?? PatternAutomaton.hash(of: segment)
        hash = known
        let child = edge(from: index, segment, hash: known)
        if child != 0 { enter(child) }
      }
    }
    swap(&active, &entered)
  }

  private mutating func enter(_ index: Index) {
    // Only the node of a "**" can be reached in two ways: it stays, and its parent comes again.
    if nodes[Int(index)].step == step { return }
    nodes[Int(index)].step = step
    entered.append(index)
    if nodes[Int(index)].any != 0 { enter(nodes[Int(index)].any) }
  }

  // MARK: Changing

  /// The node in which the pattern ends, or nil when no pattern leads there.
  func node(of pattern: PathPattern) -> Index? {
    var index: Index = 0
    for segment in pattern.segments {
      index = child(of: index, segment)
      if index == 0 { return nil }
    }
    return index
  }

  /// The node in which the pattern ends, made if need be.
  ///
  /// The caller gives it a target.
  mutating func insert(_ pattern: PathPattern) -> Index {
    var index: Index = 0
    for segment in pattern.segments {
      let known = child(of: index, segment)
      index = known == 0 ? addChild(of: index, segment) : known
    }
    return index
  }

  mutating func addTarget(_ target: Int32, to index: Index) {
    nodes[Int(index)].targets.append(target)
  }

  /// Takes a target away, and with the last one the nodes that only it needed.
  mutating func removeTarget(_ target: Int32, from index: Index) {
    guard let place = nodes[Int(index)].targets.firstIndex(of: target) else { return }
    let last = nodes[Int(index)].targets.removeLast()
    if place < nodes[Int(index)].targets.count { nodes[Int(index)].targets[place] = last }
    var index = index
    while index != 0, nodes[Int(index)].isUnused {
      let parent = nodes[Int(index)].parent
      removeChild(index)
      index = parent
    }
  }

  private func child(of parent: Index, _ segment: ArraySlice<UInt8>) -> Index {
    switch Wildcard(segment) {
    case .one: nodes[Int(parent)].one
    case .any: nodes[Int(parent)].any
    case nil: edge(from: parent, segment.span, hash: PatternAutomaton.hash(of: segment.span))
    }
  }

  private mutating func addChild(of parent: Index, _ segment: ArraySlice<UInt8>) -> Index {
    let wildcard = Wildcard(segment)
    let hash = PatternAutomaton.hash(of: segment.span, from: parent)
    let node = Node(parent: parent, segment: Array(segment), wildcard: wildcard, hash: hash)
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
    nodes[Int(index)] = Node(parent: 0, segment: [], wildcard: nil, hash: 0)
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
    let hash = PatternAutomaton.combine(hash, parent)
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
    // What follows moves up into the hole unless it is at or behind its own place already.
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
