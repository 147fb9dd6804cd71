// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@Suite struct `RFC 3986 §2_1 Percent-encoding` {
  private func decoded(_ text: String, plusIsSpace: Bool = false) throws -> String {
    try Array(text.utf8).withView { (view) throws in try PercentEncoding.string(view, plusIsSpace: plusIsSpace) }
  }

  @Test(arguments: [
    ("", ""), ("a", "a"), ("%41", "A"), ("%c3%a9", "é"), ("%C3%A9", "é"), ("a%20b", "a b"), ("%25", "%"),
    ("%2525", "%25"),
    ("a+b", "a+b"), ("%00", "\0"), ("%F0%9F%8C%A1", "🌡"), ("é", "é"),
  ])
  func `two digits stand for a byte`(text: String, expected: String) throws {
    #expect(try decoded(text) == expected)
  }

  @Test func `a plus is a space only where forms are encoded`() throws {
    #expect(try decoded("a+b%2B", plusIsSpace: true) == "a b+")
  }

  @Test(arguments: ["%", "%4", "a%", "%4g", "%g4", "%%41", "%u0041", "% 41", "%-1", "%+1", "%4%1"])
  func `other digits, or none, are refused`(text: String) {
    #expect(throws: HTTPParseError.malformedPercentEncoding) { try decoded(text) }
  }

  @Test(arguments: [
    "%C0%AF", "%80", "%C3", "%ED%A0%80", "%F4%90%80%80", "%E0%80%AF", "%FF", "%FE", "%C3%28", "%F0%9F%8C",
  ])
  func `bytes that are not UTF-8 are refused`(text: String) {
    #expect(throws: HTTPParseError.malformedUTF8) { try decoded(text) }
  }
}

@Suite struct `WHATWG URL §5_1 Form-encoded queries` {
  private func items(_ text: String) throws -> [String] {
    try Array(text.utf8).withView { (view) throws in try FormItems(view).map { "\(try $0.name)=\(try $0.value)" } }
  }

  @Test(arguments: [
    ("", []), ("a=b", ["a=b"]), ("a=b&c=d", ["a=b", "c=d"]), ("a", ["a="]), ("a=", ["a="]), ("=b", ["=b"]),
    ("=", ["="]),
    ("&&a=b&", ["a=b"]), ("a=b=c", ["a=b=c"]), ("a+b=c+d", ["a b=c d"]), ("%61=%26%3D", ["a=&="]),
    ("where=value+%3E+20", ["where=value > 20"]), ("match=a/**&match=b", ["match=a/**", "match=b"]),
    ("a;b=c", ["a;b=c"]),
    ("a?b=c/d", ["a?b=c/d"]),
  ])
  func `names and values are told apart and decoded`(text: String, expected: [String]) throws {
    #expect(try items(text) == expected)
  }

  @Test func `a broken name or value is refused when it is asked for`() throws {
    #expect(throws: HTTPParseError.malformedUTF8) { try items("a=%FF") }
    #expect(throws: HTTPParseError.malformedUTF8) { try items("%FF=a") }
    #expect(throws: HTTPParseError.malformedPercentEncoding) { try items("a=%F") }
  }

  @Test(arguments: [
    ("match", true), ("%6Datch", true), ("matc%68", true), ("Match", false), ("matc", false), ("matchx", false),
    ("", false),
    ("match%", false), ("matc%6", false), ("%FF", false),
  ])
  func `a name is compared decoded`(name: String, isSame: Bool) {
    Array("\(name)=x".utf8).withView { view in
      #expect(FormItems(view).map { $0.isNamed("match") } == [isSame])
    }
  }

  @Test func `a plus in a name is a space`() {
    Array("a+b=x".utf8).withView { #expect(FormItems($0).map { $0.isNamed("a b") } == [true]) }
  }
}
