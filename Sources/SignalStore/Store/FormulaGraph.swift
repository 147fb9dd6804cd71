// SPDX-License-Identifier: MIT

/// The dependency graph of the computed properties: which of them read which property.
///
/// Every computed property has a rank that is greater than those of its inputs, so that visiting them by rank computes
/// each once, after everything it reads. A definition changes the ranks of its dependents and of nothing else; the
/// changes of a refused transaction are undone (``rollBack()``), so no transaction needs a copy.
///
/// Derived from the formulas of the properties, and so not part of what is recorded.
struct FormulaGraph: Sendable {
  /// A property that is computed, or that is read by one that is.
  typealias Node = Int32

  /// Why a formula cannot be defined.
  enum Refusal: Error, Equatable {
    /// It would read its own value, through these properties.
    case cycle([PropertyPath])
    /// Its rank, or that of a dependent, would exceed the limit.
    case tooDeep
    /// Reordering the dependents would take too much work.
    case tooMuchWork
  }

  /// One end of a link: the node at the other end, and the index of the link in that node's list.
  private struct Link {
    var node: Node
    var place: Int32
  }

  private struct Vertex {
    var path: PropertyPath
    var formula: Formula?
    /// 0 for a property that is not computed; otherwise greater than that of each input, not always by one.
    var rank: Int32 = 0
    /// The last pass over the graph that visited this node.
    var pass: UInt64 = 0
    var inputs: [Link] = []
    var readers: [Link] = []
  }

  private enum Step {
    case formula(PropertyPath, Formula?)
    case rank(Node, Int32)
  }

  private var vertices: [Vertex] = []
  private var free: [Node] = []
  private var nodes: [PropertyPath: Node] = [:]
  /// The number of computed properties.
  private(set) var count = 0
  private var pass: UInt64 = 0
  /// Whether some rank may be higher than it needs to be, because an input was removed.
  private var hasSlack = false
  /// The undo log of the current transaction, undone from the end.
  private var steps: [Step] = []
  /// Nodes that may be unused when it ends; until then, they keep their numbers.
  private var leftovers: [Node] = []

  var isEmpty: Bool { count == 0 }

  /// The node of a property; nil when nothing reads it and it is not computed.
  func node(at path: PropertyPath) -> Node? { nodes[path] }

  func path(of node: Node) -> PropertyPath { vertices[Int(node)].path }

  func formula(of node: Node) -> Formula? { vertices[Int(node)].formula }

  /// The nodes of all computed properties.
  var computed: [Node] { vertices.indices.filter { vertices[$0].formula != nil }.map { Node($0) } }

  // MARK: Changing

  /// Sets the formula of a property.
  ///
  /// - Parameters:
  ///   - depth: The highest rank.
  ///   - work: Decreased by the cost of reordering the dependents.
  /// - Throws: A ``Refusal``; the caller then has to ``rollBack()``.
  mutating func define(
    _ formula: Formula, at path: PropertyPath, depth: Int, work: inout Int
  ) throws(Refusal) -> Node {
    steps.append(.formula(path, nodes[path].flatMap { vertices[Int($0)].formula }))
    let node = replace(formula, at: path)
    let wasLow = vertices[Int(node)].rank
    let rank = lowestRank(of: node)
    if rank < wasLow { hasSlack = hasSlack || !vertices[Int(node)].readers.isEmpty }
    setRank(of: node, rank)
    var highest = try raiseReaders(of: node, &work)
    if highest > depth, hasSlack {
      try tighten(&work)
      highest = Int32(vertices.lazy.map(\.rank).max() ?? 0)
    }
    if highest > depth { throw .tooDeep }
    return node
  }

  /// Restores a formula that was defined before, in any order; ``finishRestoring()`` then orders all of them.
  mutating func restore(_ formula: Formula, at path: PropertyPath) { _ = replace(formula, at: path) }

  /// Assigns the ranks of the restored formulas.
  mutating func finishRestoring() {
    var missing = vertices.map(\.inputs.count)
    var ready = vertices.indices.filter { missing[$0] == 0 }
    while let index = ready.popLast() {
      vertices[index].rank = lowestRank(of: Node(index))
      for reader in vertices[index].readers {
        missing[Int(reader.node)] -= 1
        if missing[Int(reader.node)] == 0 { ready.append(Int(reader.node)) }
      }
    }
  }

  /// Removes the formula of a property.
  mutating func remove(_ path: PropertyPath) {
    guard let node = nodes[path], let formula = vertices[Int(node)].formula else { return }
    steps.append(.formula(path, formula))
    if vertices[Int(node)].rank > 0 {
      hasSlack = hasSlack || !vertices[Int(node)].readers.isEmpty
      setRank(of: node, 0)
    }
    unlink(node)
  }

  /// Commits the changes since the last call of this or of ``rollBack()``.
  mutating func keepChanges() {
    if steps.isEmpty { return }
    steps = []
    forgetLeftovers()
  }

  /// Undoes these changes.
  mutating func rollBack() {
    while let step = steps.popLast() {
      switch step {
      case .formula(let path, let formula?): _ = replace(formula, at: path)
      case .formula(let path, nil):
        if let node = nodes[path] { unlink(node) }
      case .rank(let node, let rank): vertices[Int(node)].rank = rank
      }
    }
    hasSlack = true
    forgetLeftovers()
  }

  // MARK: Links

  /// Links a property with the inputs of the formula, instead of those of its previous one.
  private mutating func replace(_ formula: Formula, at path: PropertyPath) -> Node {
    let node = makeNode(at: path)
    unlink(node)
    vertices[Int(node)].formula = formula
    count += 1
    vertices[Int(node)].inputs.reserveCapacity(formula.inputs.count)
    for path in formula.inputs {
      let input = makeNode(at: path)
      let place = Int32(vertices[Int(node)].inputs.count)
      vertices[Int(node)].inputs.append(Link(node: input, place: Int32(vertices[Int(input)].readers.count)))
      vertices[Int(input)].readers.append(Link(node: node, place: place))
    }
    return node
  }

  /// Removes the formula of a node; each link in constant time, however many formulas read the same input.
  private mutating func unlink(_ node: Node) {
    guard vertices[Int(node)].formula != nil else { return }
    vertices[Int(node)].formula = nil
    count -= 1
    var inputs: [Link] = []
    swap(&inputs, &vertices[Int(node)].inputs)
    for link in inputs {
      // The last one moves to its place.
      guard let last = vertices[Int(link.node)].readers.popLast() else {
        preconditionFailure("An input knows what reads it.")
      }
      if Int(link.place) < vertices[Int(link.node)].readers.count {
        vertices[Int(link.node)].readers[Int(link.place)] = last
        vertices[Int(last.node)].inputs[Int(last.place)].place = link.place
      }
      leftovers.append(link.node)
    }
    leftovers.append(node)
  }

  private mutating func makeNode(at path: PropertyPath) -> Node {
    if let node = nodes[path] { return node }
    let node: Node
    if let unused = free.popLast() {
      node = unused
      vertices[Int(node)] = Vertex(path: path)
    } else {
      node = Node(vertices.count)
      vertices.append(Vertex(path: path))
    }
    nodes[path] = node
    return node
  }

  private mutating func forgetLeftovers() {
    for node in leftovers {
      let path = vertices[Int(node)].path
      guard vertices[Int(node)].formula == nil, vertices[Int(node)].readers.isEmpty, nodes[path] == node else {
        continue
      }
      nodes[path] = nil
      vertices[Int(node)] = Vertex(path: PropertyPath(validated: []))
      free.append(node)
    }
    leftovers = []
  }

  // MARK: Order

  private func lowestRank(of node: Node) -> Int32 {
    guard vertices[Int(node)].formula != nil else { return 0 }
    return 1 + (vertices[Int(node)].inputs.lazy.map { vertices[Int($0.node)].rank }.max() ?? 0)
  }

  private mutating func setRank(of node: Node, _ rank: Int32) {
    guard vertices[Int(node)].rank != rank else { return }
    steps.append(.rank(node, vertices[Int(node)].rank))
    vertices[Int(node)].rank = rank
  }

  /// Raises the ranks of the node's dependents above its own.
  ///
  /// In the order of their former ranks, which the other links still agree with: so each is raised once.
  ///
  /// - Returns: The highest rank among the node and the raised dependents.
  private mutating func raiseReaders(of node: Node, _ work: inout Int) throws(Refusal) -> Int32 {
    var highest = vertices[Int(node)].rank
    var queue = FormulaQueue()
    var lifts: [Node: Node] = [:]
    var next: Node? = node
    while let current = next {
      let rank = vertices[Int(current)].rank
      highest = max(highest, rank)
      for index in vertices[Int(current)].readers.indices {
        work -= FormulaBudget.link
        let reader = vertices[Int(current)].readers[index].node
        if reader == node { throw .cycle(cycle(from: node, back: current, lifts)) }
        let former = vertices[Int(reader)].rank
        guard former <= rank else { continue }
        setRank(of: reader, rank + 1)
        work -= FormulaBudget.lift
        if lifts.updateValue(current, forKey: reader) == nil { queue.insert(reader, rank: former) }
      }
      if work < 0 { throw .tooMuchWork }
      next = queue.popFirst()
    }
    return highest
  }

  /// The cycle from the node back to itself, along the links that raised the ranks; each reads the next one.
  private func cycle(from node: Node, back last: Node, _ lifts: [Node: Node]) -> [PropertyPath] {
    var way = [node]
    var current: Node? = last
    while let lifted = current, lifted != node {
      way.append(lifted)
      current = lifts[lifted]
    }
    way.append(node)
    return way.map(path(of:))
  }

  /// Lowers the rank of every computed property as far as possible.
  private mutating func tighten(_ work: inout Int) throws(Refusal) {
    work -= vertices.reduce(0) { $0 + $1.inputs.count + 1 } * FormulaBudget.link
    if work < 0 { throw .tooMuchWork }
    // The former order is valid; the ranks are only too high.
    let order = vertices.indices.filter { vertices[$0].formula != nil }.sorted { vertices[$0].rank < vertices[$1].rank }
    for index in order { setRank(of: Node(index), lowestRank(of: Node(index))) }
    hasSlack = false
  }

  // MARK: Traversal

  /// Begins a pass, in which each property is queued at most once.
  mutating func beginPass() { pass &+= 1 }

  /// Queues a computed property.
  mutating func queue(_ node: Node, in queue: inout FormulaQueue) {
    guard vertices[Int(node)].pass != pass, vertices[Int(node)].formula != nil else { return }
    vertices[Int(node)].pass = pass
    queue.insert(node, rank: vertices[Int(node)].rank)
  }

  /// Queues the computed properties that read this one.
  ///
  /// - Returns: How many links there were.
  mutating func queueReaders(of node: Node, in queue: inout FormulaQueue) -> Int {
    for index in vertices[Int(node)].readers.indices {
      self.queue(vertices[Int(node)].readers[index].node, in: &queue)
    }
    return vertices[Int(node)].readers.count
  }
}
