// SPDX-License-Identifier: MIT

/// A priority queue of computed properties, lowest rank first.
struct FormulaQueue {
  /// A binary heap of ranks and nodes, each pair in one word.
  private var heap: [UInt64] = []

  mutating func insert(_ node: FormulaGraph.Node, rank: Int32) {
    heap.append(UInt64(rank) << 32 | UInt64(node))
    var child = heap.count - 1
    while child > 0, heap[child] < heap[(child - 1) / 2] {
      heap.swapAt(child, (child - 1) / 2)
      child = (child - 1) / 2
    }
  }

  mutating func popFirst() -> FormulaGraph.Node? {
    guard let first = heap.first, let last = heap.popLast() else { return nil }
    guard !heap.isEmpty else { return FormulaGraph.Node(truncatingIfNeeded: first) }
    heap[0] = last
    var parent = 0
    while true {
      var child = 2 * parent + 1
      guard child < heap.count else { break }
      if child + 1 < heap.count, heap[child + 1] < heap[child] { child += 1 }
      guard heap[child] < heap[parent] else { break }
      heap.swapAt(child, parent)
      parent = child
    }
    return FormulaGraph.Node(truncatingIfNeeded: first)
  }
}
