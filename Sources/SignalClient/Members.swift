// SPDX-License-Identifier: MIT

package import JSON
import SignalStore

/// The members of a JSON object, by name and type.
package struct Members: Sendable {
  private let tree: JSONTree
  private let node: JSONTree.Node

  /// Texts that the server has checked have no further limits here.
  static let limits = JSONLimits(bytes: JSONLimits.bytesCeiling, depth: .max, digits: .max)
  private static let pathLimits = PathLimits(depth: .max, segmentBytes: .max, bytes: .max)

  package init(_ text: JSONText) {
    tree = JSONTree(text)
    node = tree.root
  }

  private init(_ tree: JSONTree, _ node: JSONTree.Node) {
    self.tree = tree
    self.node = node
  }

  package var text: JSONText { tree.text(of: node) }
  package func has(_ name: String) -> Bool { tree.member(name, of: node) != nil }
  package func string(_ name: String) -> String? { tree.member(name, of: node).flatMap { tree.string($0) } }
  package func bool(_ name: String) -> Bool? { tree.member(name, of: node).flatMap { tree.bool($0) } }
  package func number(_ name: String) -> UInt64? { tree.member(name, of: node).flatMap { tree.uint64($0) } }
  package func double(_ name: String) -> Double? { tree.member(name, of: node).flatMap { tree.double($0) } }
  package func text(_ name: String) -> JSONText? { tree.member(name, of: node).map { tree.text(of: $0) } }

  /// The members of an object; nil when there is none.
  package func members(_ name: String) -> Members? {
    guard let node = tree.member(name, of: node), tree.kind(of: node) == .object else { return nil }
    return Members(tree, node)
  }

  /// The elements of an array, or the value itself.
  package func elements(_ name: String) -> [JSONText] {
    guard let node = tree.member(name, of: node) else { return [] }
    guard tree.kind(of: node) == .array else { return [tree.text(of: node)] }
    return tree.elements(of: node).map { tree.text(of: $0) }
  }

  /// A path as the server knows it; nil when it is none.
  func path() -> PropertyPath? {
    guard let node = tree.member("path", of: node) else { return nil }
    return tree.withUTF8(of: node) { bytes in try? PropertyPath(bytes: bytes, limits: Self.pathLimits) } ?? nil
  }
}
