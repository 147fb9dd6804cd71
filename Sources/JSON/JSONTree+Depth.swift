// SPDX-License-Identifier: MIT

extension JSONTree {
  /// How deep a value is nested, 0 when it is neither an array nor an object, and the number of its nodes.
  package func depth(of node: Node) -> (depth: Int, nodes: Int) {
    let start = Int(node.index)
    let first = record(node)
    guard first.kind == .array || first.kind == .object else { return (0, 1) }
    var ends = [first.next]
    var deepest = 1
    var index = start + 1
    while index < Int(first.next) {
      while let end = ends.last, Int(end) <= index { ends.removeLast() }
      let record = records[index]
      if record.kind == .array || record.kind == .object {
        ends.append(record.next)
        deepest = max(deepest, ends.count)
      }
      index += 1
    }
    return (deepest, Int(first.next) - start)
  }
}
