// SPDX-License-Identifier: MIT

/// Which computed properties there are, and which of them read which property.
///
/// A value: a transaction changes a copy of it and keeps that when nothing was refused. Every computed property has a
/// rank that is greater than those of its inputs, so that going through them by rank computes each once, after
/// everything it reads.
struct FormulaGraph: Sendable {
  private struct Node {
    var computation: Computation
    var rank: Int
  }

  private var nodes: [PropertyPath: Node] = [:]
  private var readers: [PropertyPath: [PropertyPath]] = [:]

  var isEmpty: Bool { nodes.isEmpty }
  var count: Int { nodes.count }

  func computation(at path: PropertyPath) -> Computation? { nodes[path]?.computation }

  /// Gives a property a formula, or another one.
  ///
  /// - Returns: The cycle that there would be, from the property back to it; nothing has changed then.
  mutating func define(_ formula: Formula, at path: PropertyPath) -> [PropertyPath]? {
    if let cycle = cycle(from: path, through: formula.inputs) { return cycle }
    remove(path)
    nodes[path] = Node(computation: Computation(formula, error: nil), rank: 0)
    for input in formula.inputs { readers[input, default: []].append(path) }
    raise(path)
    return nil
  }

  /// Makes the property a plain one, or none.
  mutating func remove(_ path: PropertyPath) {
    guard let node = nodes.removeValue(forKey: path) else { return }
    for input in node.computation.formula.inputs {
      readers[input]?.removeAll { $0 == path }
      if readers[input]?.isEmpty == true { readers[input] = nil }
    }
  }

  /// Remembers how the last evaluation went; returns it for the stored value.
  mutating func note(_ error: String?, at path: PropertyPath) -> Computation? {
    guard let computation = nodes[path]?.computation else { return nil }
    if computation.hasError(error) { return computation }
    let noted = Computation(computation.formula, error: error)
    nodes[path]?.computation = noted
    return noted
  }

  /// Adds the computed properties that read this one.
  func addReaders(of path: PropertyPath, to queue: inout FormulaQueue) {
    guard let readers = readers[path] else { return }
    for reader in readers { queue.insert(reader, rank: nodes[reader]?.rank ?? 0) }
  }

  func rank(of path: PropertyPath) -> Int { nodes[path]?.rank ?? 0 }

  /// Sees to it that the property ranks above its inputs, and below what reads it.
  private mutating func raise(_ path: PropertyPath) {
    // In the reverse of the order in which a walk leaves them, all come after what they read.
    for path in walk(from: path).reversed() {
      let inputs = nodes[path]?.computation.formula.inputs ?? []
      let rank = 1 + (inputs.map { self.rank(of: $0) }.max() ?? 0)
      nodes[path]?.rank = rank
    }
  }

  /// The property and all that depends on it, each after everything that depends on it.
  private func walk(from path: PropertyPath) -> [PropertyPath] {
    var left: [PropertyPath] = []
    var seen: Set = [path]
    var stack = [(path, readers[path]?[...] ?? [])]
    while let top = stack.last {
      if let reader = top.1.first {
        stack[stack.count - 1].1.removeFirst()
        if seen.insert(reader).inserted { stack.append((reader, readers[reader]?[...] ?? [])) }
      } else {
        left.append(top.0)
        stack.removeLast()
      }
    }
    return left
  }

  /// A way from the property over what it would read back to itself.
  private func cycle(from path: PropertyPath, through inputs: [PropertyPath]) -> [PropertyPath]? {
    var cameFrom: [PropertyPath: PropertyPath] = [:]
    var left: [PropertyPath] = []
    for input in inputs {
      cameFrom[input] = path
      left.append(input)
    }
    while let current = left.popLast() {
      if current == path { return way(to: path, cameFrom) }
      for input in nodes[current]?.computation.formula.inputs ?? [] where cameFrom[input] == nil {
        cameFrom[input] = current
        left.append(input)
      }
    }
    return nil
  }

  private func way(to path: PropertyPath, _ cameFrom: [PropertyPath: PropertyPath]) -> [PropertyPath] {
    var way = [path]
    var current = path
    repeat {
      guard let previous = cameFrom[current] else { break }
      way.append(previous)
      current = previous
    } while current != path
    return way.reversed()
  }
}

/// Computed properties that wait for their turn, lowest rank first, each once.
struct FormulaQueue {
  private var heap: [(rank: Int, path: PropertyPath)] = []
  private var known: Set<PropertyPath> = []

  var isEmpty: Bool { heap.isEmpty }

  mutating func insert(_ path: PropertyPath, rank: Int) {
    guard known.insert(path).inserted else { return }
    heap.append((rank, path))
    var child = heap.count - 1
    while child > 0, heap[child].rank < heap[(child - 1) / 2].rank {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popFirst() -> PropertyPath? {
    guard !heap.isEmpty else { return nil }
    heap.swapAt(0, heap.count - 1)
    let first = heap.removeLast().path
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { return first }
      if child + 1 < heap.count, heap[child + 1].rank < heap[child].rank { child += 1 }
      guard heap[child].rank < heap[parent].rank else { return first }
      heap.swapAt(child, parent)
      parent = child
    }
  }
}
