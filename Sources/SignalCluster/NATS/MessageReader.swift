// SPDX-License-Identifier: MIT

internal import JSON

/// Reads the members of an object that another node has sent; what it holds is not trusted.
struct MessageReader {
  let tree: JSONTree

  /// Numbers are below it, so that adding to one cannot overflow.
  private static let numberLimit: UInt64 = 1 << 62

  /// Reads the object; nil when it is none.
  init?(_ text: ArraySlice<UInt8>) {
    guard let tree = LogRecord.tree(of: text), tree.kind(of: tree.root) == .object else { return nil }
    self.tree = tree
  }

  func member(_ name: String) -> JSONTree.Node? { tree.member(name, of: tree.root) }

  func number(_ name: String) -> UInt64? {
    member(name).flatMap { tree.uint64($0) }.flatMap { $0 < Self.numberLimit ? $0 : nil }
  }

  /// An array of numbers.
  func numbers(_ name: String) -> [UInt64]? {
    guard let node = member(name), tree.kind(of: node) == .array else { return nil }
    var numbers: [UInt64] = []
    numbers.reserveCapacity(tree.count(of: node))
    for element in tree.elements(of: node) {
      guard let number = tree.uint64(element), number < Self.numberLimit else { return nil }
      numbers.append(number)
    }
    return numbers
  }

  func text(_ name: String) -> String? { member(name).flatMap { tree.string($0) } }

  func flag(_ name: String) -> Bool? { member(name).flatMap { tree.bool($0) } }
}
