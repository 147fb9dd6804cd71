// SPDX-License-Identifier: MIT

import JSON
import Testing

@Suite struct `Tree` {
  @Test(arguments: [
    ("null", JSONTree.Kind.null), ("false", .false), ("true", .true), ("0", .number), ("-1.5e3", .number),
    (#""""#, .string), (#""a:b""#, .string), ("[]", .array), ("[0]", .array), ("{}", .object), (#"{"":0}"#, .object),
  ])
  func `the root has the kind and the range of the whole text`(source: String, kind: JSONTree.Kind) throws {
    let tree = try tree(source)
    #expect(tree.kind(of: .root) == kind)
    #expect(tree.range(of: tree.root) == 0..<source.utf8.count)
    #expect(tree.text(of: .root) == tree.text)
  }

  @Test func `children come in document order, each with its own range`() throws {
    let tree = try tree(#"{"a":[1,[],{}],"b":{"c":null},"":"x"}"#)
    #expect(tree.count(of: .root) == 3)
    let keys = tree.keys(of: .root).map { tree.text(of: $0).description }
    #expect(keys == [#""a""#, #""b""#, #""""#])
    let values = tree.keys(of: .root).compactMap(tree.value(ofKey:)).map { tree.text(of: $0).description }
    #expect(values == ["[1,[],{}]", #"{"c":null}"#, #""x""#])
    let array = try #require(tree.member("a", of: .root))
    #expect(tree.elements(of: array).map { tree.text(of: $0).description } == ["1", "[]", "{}"])
    #expect(tree.elements(of: array).map(tree.kind(of:)) == [.number, .array, .object])
    #expect(tree.keys(of: .root).map(tree.kind(of:)) == [.key, .key, .key])
  }

  @Test func `stepping from child to child meets the same nodes as the sequence`() throws {
    let tree = try tree(#"[1,[2,[3,{"a":[4]}]],{"b":{"c":[5,6]},"d":7},[],{},8]"#)
    func check(_ parent: JSONTree.Node) {
      let isArray = tree.kind(of: parent) == .array
      var stepped: [JSONTree.Node] = []
      var child = tree.firstChild(of: parent)
      while let node = child {
        stepped.append(node)
        check(isArray ? node : tree.value(ofKey: node) ?? node)
        child = tree.child(after: node, in: parent)
      }
      #expect(stepped == Array(isArray ? tree.elements(of: parent) : tree.keys(of: parent)))
      #expect(stepped.count == tree.count(of: parent))
    }
    check(.root)
  }

  @Test func `a question that does not suit the kind is answered with nil or zero`() throws {
    let tree = try tree(#"[null,true,1,"s",[0],{"k":1}]"#)
    let nodes = Array(tree.elements(of: .root))
    let (null, flag, number, string, array, object) = (nodes[0], nodes[1], nodes[2], nodes[3], nodes[4], nodes[5])
    let key = try #require(tree.firstChild(of: object))
    for node in nodes + [key] {
      #expect((tree.bool(node) != nil) == (node == flag))
      #expect((tree.double(node) != nil) == (node == number))
      #expect((tree.int64(node) != nil) == (node == number))
      #expect((tree.uint64(node) != nil) == (node == number))
      #expect(tree.isInteger(node) == (node == number))
      #expect((tree.string(node) != nil) == (node == string || node == key))
      #expect((tree.contentRange(of: node) != nil) == (node == string || node == key))
      #expect((tree.order(node, Array("s".utf8)) != nil) == (node == string || node == key))
      #expect((tree.equals(node, Array("s".utf8)) != nil) == (node == string || node == key))
      #expect(tree.count(of: node) == (node == array || node == object ? 1 : 0))
      #expect((tree.firstChild(of: node) != nil) == (node == array || node == object))
      #expect((tree.element(0, of: node) != nil) == (node == array))
      #expect((tree.member("k", of: node) != nil) == (node == object))
      #expect((tree.value(ofKey: node) != nil) == (node == key))
      #expect(tree.hasEscape(node) == false)
    }
    #expect(tree.bool(null) == nil)
    #expect(tree.withUTF8(of: number) { _ in true } == nil)
    #expect(Array(tree.elements(of: object)).isEmpty && Array(tree.keys(of: array)).isEmpty)
  }

  @Test func `an element is found by its place, among scalars and among containers`() throws {
    for source in ["[10,11,12,13]", "[[],11,{},13]", "[[1,2],11,{\"a\":[3]},13]", #"["[,]",11,"}",13]"#] {
      let tree = try tree(source)
      let elements = Array(tree.elements(of: .root))
      for position in 0..<4 { #expect(tree.element(position, of: .root) == elements[position]) }
      #expect(tree.int64(elements[1]) == 11 && tree.int64(elements[3]) == 13)
      #expect(tree.element(4, of: .root) == nil && tree.element(-1, of: .root) == nil)
      #expect(tree.element(.max, of: .root) == nil && tree.element(.min, of: .root) == nil)
    }
  }

  @Test func `of members with the same name the last counts`() throws {
    let tree = try tree(#"{"a":1,"b":2,"a":{"a":5},"\u0061":3,"c":4}"#)
    #expect(tree.member("a", of: .root).map(tree.int64) == 3)
    #expect(tree.member("b", of: .root).map(tree.int64) == 2)
    #expect(tree.count(of: .root) == 5)
  }

  @Test func `a member of an inner object is not one of the outer`() throws {
    let tree = try tree(#"{"a":{"x":1},"b":[{"x":2}]}"#)
    #expect(tree.member("x", of: .root) == nil)
    let inner = try #require(tree.member("a", of: .root))
    #expect(tree.member("x", of: inner).map(tree.int64) == 1)
    #expect(tree.member("b", of: inner) == nil)
  }

  @Test func `names are compared by their bytes after unescaping`() throws {
    let tree = try tree(#"{"k\u00e9y":1,"\ud83d\ude00":2,"\"":3,"a\/b":4,"":5,"e\u0301":6,"\ud800":7,"\u0000":8}"#)
    #expect(tree.member("kéy", of: .root).map(tree.int64) == 1)
    #expect(tree.member("😀", of: .root).map(tree.int64) == 2)
    #expect(tree.member("\"", of: .root).map(tree.int64) == 3)
    #expect(tree.member("a/b", of: .root).map(tree.int64) == 4)
    #expect(tree.member("", of: .root).map(tree.int64) == 5)
    // One letter in two ways: equal for Swift's String, not here.
    #expect(tree.member("e\u{301}", of: .root).map(tree.int64) == 6)
    #expect(tree.member("\u{e9}", of: .root) == nil)
    #expect(tree.member("\u{FFFD}", of: .root).map(tree.int64) == 7)
    #expect(tree.member("\0", of: .root).map(tree.int64) == 8)
    #expect(tree.find(Array("😀".utf8), in: .root).map(tree.int64) == 2)
    for absent in ["k", "kéyy", "k\\u00e9y", "\\", "\u{1F601}", "a\\/b"] {
      #expect(tree.member(absent, of: .root) == nil, "\(absent)")
    }
  }

  @Test func `a name is told from others of every length and difference`() throws {
    // Eight bytes are compared at a time: every length around that, every single place that differs.
    for length in 0..<20 {
      let name = String("abcdefghijklmnopqrstuvwxyz".prefix(length))
      let tree = try tree("{\"\(name)\":1}")
      #expect(tree.member(name, of: .root) != nil)
      #expect(tree.member(name + "x", of: .root) == nil)
      for place in 0..<length {
        var other = Array(name.utf8)
        other[place] ^= 1
        #expect(tree.find(other, in: .root) == nil)
      }
    }
  }

  @Test func `the text of a node is a text of its own`() throws {
    let tree = try tree(#"{"a":[1,{"b":"c\n"}],"d":2.50}"#)
    for path in ["/a", "/a/0", "/a/1", "/a/1/b", "/d"] {
      let node = try #require(tree.node(at: JSONPointer(path)))
      let text = tree.text(of: node)
      #expect(try JSONText(validating: text.bytes) == text)
      #expect(JSONTree(text).kind(of: .root) == tree.kind(of: node))
      #expect(text.bytes == Array(tree.text.bytes[tree.range(of: node)]))
    }
  }

  @Test func `a node is four bytes`() {
    #expect(MemoryLayout<JSONTree.Node>.size == 4)
  }

  @Test func `a tree of many nodes keeps every sibling in reach`() throws {
    let count = 50_000
    let source = "[" + (0..<count).map { #"{"i":\#($0),"t":["x",{}]}"# }.joined(separator: ",") + "]"
    let tree = JSONTree(try JSONText(validating: source, limits: JSONLimits(bytes: .max)))
    #expect(tree.count(of: .root) == count)
    var expected: Int64 = 0
    for element in tree.elements(of: .root) {
      #expect(tree.member("i", of: element).flatMap(tree.int64) == expected)
      expected += 1
    }
    #expect(expected == Int64(count))
  }
}
