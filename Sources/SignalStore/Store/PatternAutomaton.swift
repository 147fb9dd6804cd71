// SPDX-License-Identifier: MIT

/// The patterns of a ``PatternTrie`` as one machine that reads a path segment by segment and finds
/// the numbers that belong to those that match.
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
struct PatternAutomaton {
  /// Index of a node; 0 is the root, and, since nothing leads to the root, also "none".
  typealias Index = Int32

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
    /// The numbers whose pattern ends here.
    var numbers: [Int32] = []
    /// The reading step that last entered the node.
    var step: UInt64 = 0

    func isChild(of parent: Index, _ segment: Span<UInt8>, hash: Int) -> Bool {
      self.hash == hash && self.parent == parent && PathOrder.isEqual(self.segment.span, segment)
    }

    var isUnused: Bool { numbers.isEmpty && literals == 0 && one == 0 && any == 0 }
  }

  /// What is known of a number.
  private struct Target {
    /// The nodes in which its patterns end.
    var nodes: [Index] = []
    /// The reading step at which it was last found.
    var step: UInt64 = 0
  }

  private(set) var nodes: ContiguousArray<Node>
  private var free: [Index] = []
  private var targets: ContiguousArray<Target> = []

  /// The edges with literal segments: the nodes they lead to in a hash table with linear probing; 0
  /// is an empty place.
  ///
  /// A dictionary would need the segment as a key of its own, and so an allocation for each
  /// look-up.
  private var table: ContiguousArray<Index>
  private var edges = 0

  /// The nodes the machine is in; kept for their storage.
  private(set) var active: ContiguousArray<Index> = []
  private var entered: ContiguousArray<Index> = []
  private var found: ContiguousArray<Int32> = []
  private var step: UInt64 = 0

  init() {
    nodes = [Node(parent: 0, segment: [], wildcard: nil, hash: 0)]
    table = ContiguousArray(repeating: 0, count: 16)
  }

  /// Whether there is no pattern.
  var isEmpty: Bool { nodes[0].isUnused }

  // MARK: Reading

  /// The numbers with a pattern that matches the path, each once.
  mutating func numbers(matching path: PropertyPath) -> ContiguousArray<Int32> {
    read(path.bytes.span)
    found.removeAll(keepingCapacity: true)
    for index in active {
      for number in nodes[Int(index)].numbers {
        // Only a number with several patterns can be there twice.
        if targets[Int(number)].nodes.count > 1 {
          if targets[Int(number)].step == step { continue }
          targets[Int(number)].step = step
        }
        found.append(number)
      }
    }
    return found
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

  /// Gives a number another pattern; false when it has that one already.
  mutating func add(_ pattern: PathPattern, _ number: Int32) -> Bool {
    var index: Index = 0
    for segment in pattern.segments {
      let known = child(of: index, segment)
      index = known == 0 ? addChild(of: index, segment) : known
    }
    while targets.count <= Int(number) { targets.append(Target()) }
    if targets[Int(number)].nodes.contains(index) { return false }
    targets[Int(number)].nodes.append(index)
    nodes[Int(index)].numbers.append(number)
    return true
  }

  /// Takes a pattern from a number; false when it does not have it.
  ///
  /// The nodes that only this pattern needed go with it.
  mutating func remove(_ pattern: PathPattern, _ number: Int32) -> Bool {
    var index: Index = 0
    for segment in pattern.segments {
      index = child(of: index, segment)
      if index == 0 { return false }
    }
    guard let place = targets[Int(number)].nodes.firstIndex(of: index) else { return false }
    targets[Int(number)].nodes.remove(at: place)
    PatternAutomaton.remove(number, from: &nodes[Int(index)].numbers)
    while index != 0, nodes[Int(index)].isUnused {
      let parent = nodes[Int(index)].parent
      removeChild(index)
      index = parent
    }
    return true
  }

  /// Whether the number has a pattern.
  func hasPattern(_ number: Int32) -> Bool {
    Int(number) < targets.count && !targets[Int(number)].nodes.isEmpty
  }

  /// Takes one number out; the last one takes its place.
  private static func remove(_ number: Int32, from numbers: inout [Int32]) {
    guard let place = numbers.firstIndex(of: number), let last = numbers.popLast() else { return }
    if place < numbers.count { numbers[place] = last }
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
