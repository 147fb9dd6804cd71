// SPDX-License-Identifier: MIT

/// Consecutive nodes: a node with all it contains, or some children of one array or object.
extension JSONTree {
  /// A node and all that it contains.
  func nodes(of node: Node) -> Range<UInt32> { node.index..<max(record(node).next, node.index + 1) }

  /// The node after a node and all that it contains; after a key, the next key.
  func next(_ node: UInt32) -> UInt32 { record(Node(index: node)).next }

  /// The child that comes so many children after another one.
  func child(_ offset: Int, after first: UInt32) -> UInt32 {
    let records = records.span
    var node = first
    for _ in 0..<offset { node = records[Int(node)].next }
    return node
  }

  /// The bytes of consecutive children of an array or object, at least one, with the commas between them.
  func range(of children: Range<UInt32>, in container: Node) -> Range<Int> {
    let start = Int(records[Int(children.lowerBound)].start)
    let outer = record(container)
    // Of a compact text: one byte, a comma or the container's end, follows the last child.
    let end = children.upperBound < outer.next ? records[Int(children.upperBound)].start : outer.end
    return start..<(Int(end) - 1)
  }

  /// The first key with a name, by its bytes after unescaping, and how many keys come before it.
  func firstKey(_ name: Span<UInt8>, in members: Range<UInt32>) -> (node: UInt32, offset: Int)? {
    key(name, in: members, isLast: false)
  }

  /// The last key with a name, by its bytes after unescaping, and how many keys come before it.
  func lastKey(_ name: Span<UInt8>, in members: Range<UInt32>) -> (node: UInt32, offset: Int)? {
    key(name, in: members, isLast: true)
  }

  private func key(
    _ name: Span<UInt8>, in members: Range<UInt32>, isLast: Bool
  ) -> (node: UInt32, offset: Int)? {
    let (records, source) = (records.span, text.bytes.span)
    var found: (node: UInt32, offset: Int)?
    var (node, offset) = (members.lowerBound, 0)
    while node < members.upperBound {
      let key = records[Int(node)]
      if StringContent(key).equals(name, in: source) {
        found = (node, offset)
        if !isLast { break }
      }
      node = key.next
      offset += 1
    }
    return found
  }

  /// How deep a value is nested, 0 when it is neither an array nor an object.
  package func depth(of node: Node) -> Int { depth(of: nodes(of: node)) }

  /// How deep the deepest of some nodes is nested: 0 when none is an array or object.
  func depth(of nodes: Range<UInt32>) -> Int {
    if nodes.count == 1 {
      let kind = record(Node(index: nodes.lowerBound)).kind
      return kind == .array || kind == .object ? 1 : 0
    }
    let records = records.span
    var ends: [UInt32] = []
    var deepest = 0
    for index in nodes {
      while let end = ends.last, end <= index { ends.removeLast() }
      let record = records[Int(index)]
      if record.kind == .array || record.kind == .object {
        ends.append(record.next)
        deepest = max(deepest, ends.count)
      }
    }
    return deepest
  }
}
