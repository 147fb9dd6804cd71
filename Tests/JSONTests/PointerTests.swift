// SPDX-License-Identifier: MIT

import JSON
import Testing

@Suite struct `JSON Pointer, RFC 6901` {
  /// The document of §5.
  static let document = #"""
    {
      "foo": ["bar", "baz"],
      "": 0,
      "a/b": 1,
      "c%d": 2,
      "e^f": 3,
      "g|h": 4,
      "i\\j": 5,
      "k\"l": 6,
      " ": 7,
      "m~n": 8
    }
    """#

  @Test(arguments: [
    ("/foo", #"["bar","baz"]"#), ("/foo/0", #""bar""#), ("/foo/1", #""baz""#), ("/", "0"), ("/a~1b", "1"),
    ("/c%d", "2"),
    ("/e^f", "3"), ("/g|h", "4"), (#"/i\j"#, "5"), (#"/k"l"#, "6"), ("/ ", "7"), ("/m~0n", "8"),
  ])
  func `the examples of §5 are found`(pointer: String, value: String) throws {
    let tree = try tree(Self.document)
    let node = try #require(tree.node(at: JSONPointer(pointer)))
    #expect(tree.text(of: node).description == value)
    #expect(Array(tree.text.bytes[tree.range(of: node)]) == Array(value.utf8))
  }

  @Test func `the empty pointer is the whole value`() throws {
    let tree = try tree(Self.document)
    #expect(tree.node(at: try JSONPointer("")) == .root)
    #expect(try JSONPointer("").count == 0)
    #expect(JSONTree(JSONText(7)).node(at: try JSONPointer("")) == .root)
  }

  @Test(arguments: [
    "/nothing", "/foo/2", "/foo/-", "/foo/-1", "/foo/00", "/foo/01", "/foo/ 0", "/foo/0 ", "/foo/+1", "/foo/1e0",
    "/foo/",
    "/foo/bar", "/foo/0/0", "/foo/0/", "//", "/ /", "/foo/4294967296", "/foo/18446744073709551616", "/foo/٠", "/a/b",
    "/foo/99999999999999999999999999999999",
  ])
  func `what is not there is not found`(pointer: String) throws {
    #expect(try tree(Self.document).node(at: JSONPointer(pointer)) == nil)
  }

  @Test func `digits are a name in an object and an index in an array, minus is a name`() throws {
    let tree = try tree(#"{"0":[10],"-":[[1,2]],"01":3}"#)
    #expect(tree.node(at: try JSONPointer("/0/0")).flatMap(tree.int64) == 10)
    #expect(tree.node(at: try JSONPointer("/-/0/1")).flatMap(tree.int64) == 2)
    #expect(tree.node(at: try JSONPointer("/01")).flatMap(tree.int64) == 3)
    #expect(tree.node(at: try JSONPointer("/-/-")) == nil)
  }

  @Test func `of members with the same name the last is addressed`() throws {
    let tree = try tree(#"{"a":{"b":1},"a":{"b":2}}"#)
    #expect(tree.node(at: try JSONPointer("/a/b")).flatMap(tree.int64) == 2)
  }

  @Test func `tilde one is unescaped before tilde zero`() throws {
    let tree = try tree(#"{"~1":1,"/":2,"~0":3,"~":4}"#)
    #expect(tree.node(at: try JSONPointer("/~01")).flatMap(tree.int64) == 1)
    #expect(tree.node(at: try JSONPointer("/~1")).flatMap(tree.int64) == 2)
    #expect(tree.node(at: try JSONPointer("/~00")).flatMap(tree.int64) == 3)
    #expect(tree.node(at: try JSONPointer("/~0")).flatMap(tree.int64) == 4)
  }

  @Test(arguments: [
    ("a", JSONPointer.ParseError.missingSlash), ("a/b", .missingSlash), (" /a", .missingSlash), ("#/a", .missingSlash),
    ("/~", .badEscape(offset: 1)), ("/a~", .badEscape(offset: 2)), ("/a~2", .badEscape(offset: 2)),
    ("/~0/~/", .badEscape(offset: 4)), ("/~~0", .badEscape(offset: 1)), ("/é~x", .badEscape(offset: 3)),
  ])
  func `what is not a pointer is refused, with the place`(source: String, error: JSONPointer.ParseError) {
    #expect(throws: error) { try JSONPointer(source) }
    #expect(error.description.contains("RFC 6901"))
  }

  @Test(arguments: ["", "/", "//", "/a", "/a/", "/a~1b/c~0d", "/~01", "/é€𝄞/0/-", "/ "])
  func `a pointer writes the string it was read from`(source: String) throws {
    let pointer = try JSONPointer(source)
    #expect(pointer.description == source)
    #expect(try JSONPointer(pointer.description) == pointer)
    let fromBytes = try JSONPointer(utf8: Array(source.utf8).span)
    #expect(fromBytes == pointer)
  }

  @Test func `steps are told apart by where they end`() throws {
    let pointer = try JSONPointer("/ab/c~1/")
    #expect((0..<pointer.count).map { String(decoding: pointer[$0], as: UTF8.self) } == ["ab", "c/", ""])
    #expect(try JSONPointer("/a/bc") != JSONPointer("/ab/c"))
    #expect(try JSONPointer("/a") != JSONPointer("/a/"))
  }

  @Test func `the parent is one step shorter`() throws {
    #expect(try JSONPointer("/a~1b/c").parent == JSONPointer("/a~1b"))
    #expect(try JSONPointer("/a").parent == JSONPointer(""))
    #expect(try JSONPointer("").parent == nil)
  }
}
