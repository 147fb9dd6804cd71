// SPDX-License-Identifier: MIT

import JSON
import Testing

@Suite struct `Strings of a tree` {
  /// A string as it is written, and what it says.
  static let readings: [(source: String, value: String)] = [
    (#""""#, ""), (#""plain""#, "plain"), (#""é€𝄞""#, "é€𝄞"), (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{C}\n\r\t"),
    (#""\u0041""#, "A"), (#""\u007f\u0080""#, "\u{7F}\u{80}"), (#""\u07ff\u0800""#, "\u{7FF}\u{800}"),
    (#""\uffff""#, "\u{FFFF}"), (#""\ud800\udc00""#, "\u{10000}"), (#""\uDBFF\uDFFF""#, "\u{10FFFF}"),
    (#""\u0000""#, "\0"), (#""a\u0000b""#, "a\0b"), (#""\\u0041""#, #"\u0041"#), (#""\uaBcD""#, "\u{ABCD}"),
    // Half a pair, or two in the wrong order, cannot be a scalar: each becomes the replacement character.
    (#""\ud800""#, "\u{FFFD}"), (#""\udc00""#, "\u{FFFD}"), (#""\udc00\ud800""#, "\u{FFFD}\u{FFFD}"),
    (#""\ud800\ud800\udc00""#, "\u{FFFD}\u{10000}"), (#""\ud800x""#, "\u{FFFD}x"), (#""\ud800\n""#, "\u{FFFD}\n"),
    (#""\ud800\u0041""#, "\u{FFFD}A"), (#""x\ud83d""#, "x\u{FFFD}"), (#""\ud83d\ude0""#, ""),
    (#""\ud83d\\ude00""#, "\u{FFFD}\\ude00"),
  ].filter { refusal(Array($0.0.utf8)) == nil }

  @Test(arguments: readings)
  func `a string reads as what its escapes stand for`(source: String, value: String) throws {
    let bytes = Array(value.utf8)
    // Once alone, where the root is a record of its own, once inside an array.
    for (tree, node) in [(try tree(source), JSONTree.Node.root), try inside(source)] {
      #expect(tree.string(node).map { Array($0.utf8) } == bytes)
      #expect(tree.copyOfUTF8(node) == bytes)
      #expect(tree.equals(node, bytes) == true)
      #expect(tree.order(node, bytes) == 0)
      #expect(tree.hasEscape(node) == source.contains("\\"))
      #expect(tree.contentRange(of: node)?.count == source.utf8.count - 2)
    }
  }

  @Test(arguments: readings)
  func `a string differs from every other`(source: String, value: String) throws {
    let (tree, node) = try inside(source)
    let bytes = Array(value.utf8)
    var others = [bytes + [0], bytes + [0x61], [0] + bytes]
    for place in bytes.indices {
      others.append(Array(bytes[..<place]))
      others.append(bytes[..<place] + [bytes[place] ^ 1] + bytes[(place + 1)...])
    }
    for other in others {
      #expect(tree.equals(node, other) == false)
      #expect(tree.order(node, other) == (bytes.lexicographicallyPrecedes(other) ? -1 : 1))
    }
  }

  @Test func `strings sort as their scalars do`() throws {
    let sorted = ["", "\0", "A", "Z", "a", "aa", "ab", "b", "\u{7F}", "é", "€", "\u{FFFD}", "\u{10000}", "\u{10FFFF}"]
    for (left, first) in sorted.enumerated() {
      let tree = JSONTree(JSONText(first))
      for (right, second) in sorted.enumerated() {
        #expect(tree.order(.root, Array(second.utf8)) == (left - right).signum())
      }
    }
  }

  @Test func `the bytes of a string without escapes are a view of the text`() throws {
    let tree = try tree(#"["a string of some length"]"#)
    let node = try #require(tree.firstChild(of: .root))
    let isView = tree.withUTF8(of: node) { bytes in
      bytes.isIdentical(to: tree.text.bytes.span.extracting(2..<2 + bytes.count))
    }
    #expect(isView == true)
  }

  @Test func `an error of the caller passes through`() throws {
    struct Stop: Error {}
    for source in [#""plain""#, #""esc\n""#] {
      let tree = try tree(source)
      #expect(throws: Stop.self) { try tree.withUTF8(of: .root) { _ throws(Stop) -> Int in throw Stop() } }
    }
  }

  private func inside(_ source: String) throws -> (JSONTree, JSONTree.Node) {
    let tree = try tree("[0,\(source),{}]")
    return (tree, try #require(tree.element(1, of: .root)))
  }
}
