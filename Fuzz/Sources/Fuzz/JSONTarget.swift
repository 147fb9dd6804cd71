// SPDX-License-Identifier: MIT

import JSON

extension FuzzTarget {
  /// Any bytes: accepted or refused as the plainly written grammar of the tests does, and if accepted, everything that
  /// can be asked about them must fit together.
  static let json = FuzzTarget(name: "JSON") { input in
    let text: JSONText
    do throws(JSONError) {
      text = try JSONText(validating: input)
    } catch {
      require((0...input.count).contains(error.offset), "the error is outside the source: \(error)")
      let isLimit = error.reason == .tooDeep || error.reason == .tooLarge
      require(isLimit || !Grammar.accepts(input.indices.map { input[$0] }), "refused: \(error)")
      return
    }
    require(Grammar.accepts(text.bytes), "the plain grammar refuses what was accepted")
    checkCompaction(of: text, from: input)
    let tree = JSONTree(text)
    var checker = TreeChecker(tree: tree)
    checker.check(.root)
    require(checker.leafBytes == text.bytes, "the tree, written out, is another text")
  }

  private static func checkCompaction(of text: JSONText, from input: Span<UInt8>) {
    require(text.bytes.count <= input.count, "compaction made the text longer")
    guard let again = try? JSONText(validating: text.bytes.span) else {
      fatalError("a compact text is refused")
    }
    require(again == text, "compaction is not idempotent")
    // Only white space may be missing: the rest must be the same bytes in the same order.
    var kept = 0
    for offset in input.indices {
      let byte = input[offset]
      if kept < text.bytes.count, text.bytes[kept] == byte {
        kept += 1
      } else {
        require([0x20, 0x09, 0x0A, 0x0D].contains(byte), "byte \(byte) at \(offset) is lost")
      }
    }
    require(kept == text.bytes.count, "compaction invented bytes")
  }
}

/// Walks a tree and writes it out again from its leaves and structure alone.
private struct TreeChecker {
  let tree: JSONTree
  var leafBytes: [UInt8] = []

  /// Recursion is bounded by the depth limit of 256.
  mutating func check(_ node: JSONTree.Node) {
    switch tree.kind(of: node) {
    case .null, .true, .false:
      leafBytes += tree.text.bytes[tree.range(of: node)]
    case .number:
      checkNumber(node)
      leafBytes += tree.text.bytes[tree.range(of: node)]
    case .string, .key:
      checkString(node)
      leafBytes += tree.text.bytes[tree.range(of: node)]
    case .array:
      leafBytes.append(UInt8(ascii: "["))
      var position = 0
      for element in tree.elements(of: node) {
        if position > 0 { leafBytes.append(UInt8(ascii: ",")) }
        require(tree.element(position, of: node) == element, "element \(position) is another")
        check(element)
        position += 1
      }
      require(position == tree.count(of: node), "the count of elements is wrong")
      require(tree.element(position, of: node) == nil, "there is an element after the last")
      leafBytes.append(UInt8(ascii: "]"))
    case .object:
      checkMembers(of: node)
    }
  }

  private mutating func checkMembers(of object: JSONTree.Node) {
    leafBytes.append(UInt8(ascii: "{"))
    var position = 0
    for key in tree.keys(of: object) {
      if position > 0 { leafBytes.append(UInt8(ascii: ",")) }
      guard let value = tree.value(ofKey: key) else { fatalError("a key without a value") }
      check(key)
      leafBytes.append(UInt8(ascii: ":"))
      check(value)
      position += 1
      // Quadratic, so only for objects of ordinary size.
      guard tree.count(of: object) <= 64 else { continue }
      let found = tree.withUTF8(of: key) { tree.member($0, of: object) }
      guard let found = found ?? nil else { fatalError("a member is not found by its name") }
      require(tree.range(of: found).lowerBound >= tree.range(of: value).lowerBound, "an earlier member counts")
    }
    require(position == tree.count(of: object), "the count of members is wrong")
    leafBytes.append(UInt8(ascii: "}"))
  }

  private func checkNumber(_ node: JSONTree.Node) {
    let digits = String(decoding: tree.text.bytes[tree.range(of: node)], as: UTF8.self)
    require(tree.double(node) == Double(digits), "\(digits) is not the nearest double")
    guard tree.isInteger(node) else { return }
    require(tree.int64(node) == Int64(digits), "\(digits) as a signed integer")
    require(tree.uint64(node) == UInt64(digits) || digits == "-0", "\(digits) as an unsigned integer")
  }

  private func checkString(_ node: JSONTree.Node) {
    guard let string = tree.string(node) else { fatalError("a string without a value") }
    let bytes = Array(string.utf8)
    require(tree.string(node, equals: bytes.span) == true, "a string is not what it reads as")
    require(tree.compare(node, with: bytes.span) == 0, "a string does not sort with what it reads as")
    // Written and read again it must be the same, whatever escapes it had before.
    let rewritten = JSONText(string)
    guard (try? JSONText(validating: rewritten.bytes.span)) == rewritten else {
      fatalError("a string that was written is refused")
    }
    require(JSONTree(rewritten).string(.root) == string, "a string that was written reads as another")
  }
}
