// SPDX-License-Identifier: MIT

import JSON

/// JSON as values (langdef "JSON Data Conversion"): an integer that fits is an int, or else a uint; other numbers are
/// doubles.
///
/// A list or map is its node; nothing is copied.
enum JSONValues {
  /// The value of a node, or nil for a string with an escape in it, whose text is nowhere yet.
  @inline(__always)
  static func plain(_ node: JSONTree.Node, _ tree: borrowing JSONTree, _ source: Value.Source) -> Value? {
    switch tree.kind(of: node) {
    case .null: return .null
    case .false: return .false
    case .true: return .true
    case .number:
      guard tree.isInteger(node) else { return Value(tree.double(node) ?? .nan) }
      if let int = tree.int64(node) { return Value(int) }
      if let uint = tree.uint64(node) { return Value(uint) }
      return Value(tree.double(node) ?? .nan)
    case .string, .key:
      if tree.hasEscape(node) { return nil }
      return tree.contentRange(of: node).map { Value(.string, $0, of: source) }
    case .array: return Value(.list, source: source, bits: UInt64(node.place))
    case .object: return Value(.map, source: source, bits: UInt64(node.place))
    }
  }

  /// The unescaped text of a string or key.
  static func text(of node: JSONTree.Node, in tree: borrowing JSONTree) -> [UInt8] {
    // The pointer is used only for the copy.
    tree.withUTF8(of: node) { text in unsafe text.withUnsafeBufferPointer { unsafe Array($0) } } ?? []
  }
}

extension Value {
  /// The node of a list or map that is JSON.
  var node: JSONTree.Node { JSONTree.Node(place: UInt32(truncatingIfNeeded: bits)) }
}

extension JSONTree.Node {
  // A node is one 32-bit number; its own accessors are internal to the module that made it. Both casts keep it as it is.
  init(place: UInt32) { self = unsafe unsafeBitCast(place, to: JSONTree.Node.self) }
  var place: UInt32 { unsafe unsafeBitCast(self, to: UInt32.self) }
}
