// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import SignalHTTP

@Suite struct `RFC 9110 §5 Fields` {
  @Suite struct `§5.1 Names` {
    @Test(arguments: KnownField.allCases) func `a known field is recognised in any case, and nothing near it`(
      field: KnownField
    ) {
      func known(_ name: String) -> KnownField? { Array(name.utf8).withView { KnownField(token: $0) } }
      let name = field.name.description
      #expect(name == name.lowercased())
      #expect(known(name) == field)
      #expect(known(name.uppercased()) == field)
      #expect(known(name.prefix(1).uppercased() + name.dropFirst()) == field)
      #expect(known(name + "x") == nil)
      #expect(known("x" + name) == nil)
      #expect(known(String(name.dropLast())) == nil)
      for place in name.indices {
        var changed = name
        changed.replaceSubrange(place...place, with: name[place] == "z" ? "y" : "z")
        #expect(known(changed) == nil, "\(changed)")
      }
    }

    @Test func `every known field has another name`() {
      #expect(Set(KnownField.allCases.map(\.name.description)).count == KnownField.allCases.count)
    }

    @Test func `the longest known name fits into what is kept of a trailer's name`() {
      #expect(KnownField.allCases.allSatisfy { $0.name.utf8CodeUnitCount < 32 })
    }

    @Test(arguments: ["a", "Content-Type", "x_y", "!#$%&'*+-.^_`|~0"]) func `a token is a name`(text: String) {
      #expect(HTTPFieldName(text)?.name == text)
    }

    @Test(arguments: ["", " ", "a b", "a:", "a\r\nb", "é", "a(b)", "\"a\"", "a\u{0}"]) func `anything else is none`(
      text: String
    ) {
      #expect(HTTPFieldName(text) == nil)
    }

    @Test func `names are equal without regard to case, and keep theirs`() {
      let name: HTTPFieldName = "Content-Type"
      #expect(name == "content-TYPE" && name != "content-typ" && name.description == "Content-Type")
      #expect(Set([name, "CONTENT-TYPE", "x"]).count == 2)
    }

    @Test func `a literal that is no name traps`() async {
      await #expect(processExitsWith: .failure) { _ = "a b" as HTTPFieldName }
    }
  }

  @Suite struct `§5.3 Order and repetition` {
    @Test func `the first line of a field is found, and that it is repeated`() throws {
      try withHead(request("Origin: b", "Accept: c", "ORIGIN: d", "X-Own: e", "x-own: f")) { head in
        #expect(head[.origin]?.string == "b")
        #expect(head[.accept]?.string == "c")
        #expect(head[.range] == nil && !head.has(.range) && head.has(.origin))
        #expect(head[ByteView("x-own")]?.string == "e")
        #expect(head[ByteView("x-other")] == nil)
        let accept = try head.single(.accept)?.string
        let range = try head.single(.range)?.string
        #expect(accept == "c" && range == nil)
        #expect(throws: HTTPParseError.repeatedField) { try head.single(.origin) }
      }
    }
  }

  @Suite struct `§5.5 Values` {
    @Test(arguments: ["a\rb", "a\nb", "a\r\nb", "a\u{0}b", "\u{7F}", "a\u{B}", " a", "a ", "\ta", "a\t", "\r\n", "a\r"])
    func `a value that could end its line or lose a part is not built`(value: String) throws {
      var fields = HTTPFields()
      try fields.append("X", "before")
      #expect(throws: HTTPFieldError.malformedValue) { try fields.append("X", value) }
      #expect(throws: HTTPFieldError.malformedValue) { try fields.set("X", value) }
      #expect(fields.map(\.value) == ["before"])
    }

    @Test(arguments: ["", "a", "a b", "a\tb", "é", "\"a\""]) func `any other is`(value: String) throws {
      var fields = HTTPFields()
      try fields.append("X", value)
      #expect(fields["x"] == value)
    }

    @Test func `lines are kept in order, joined when asked for by name, replaced and removed`() throws {
      var fields = HTTPFields()
      #expect(fields.isEmpty && fields["a"] == nil)
      try fields.append("A", "1")
      try fields.append("B", "2")
      try fields.append("a", "3")
      try fields.append("a", "4")
      #expect(fields.count == 4 && fields["A"] == "1, 3, 4" && fields["b"] == "2")
      try fields.set("a", "5")
      #expect(fields.map { "\($0.name)=\($0.value)" } == ["a=5", "B=2"])
      try fields.set("c", "6")
      fields.remove("A")
      #expect(fields.map { "\($0.name)=\($0.value)" } == ["B=2", "c=6"])
      #expect(fields == fields && fields != HTTPFields())
    }
  }

  @Suite struct `§5.6.1 Lists` {
    @Test(arguments: [
      ("", []), (" ", []), (",", []), (", ,\t,", []), ("a", ["a"]), ("a,b", ["a", "b"]), (" a , b ", ["a", "b"]),
      (",a,,b,", ["a", "b"]), ("a b,c", ["a b", "c"]), ("\"a,b\",c", ["\"a,b\"", "c"]),
      ("a;q=\"x,\\\",y\",b", ["a;q=\"x,\\\",y\"", "b"]), ("\"a,b", ["\"a,b"]), ("\"a\\", ["\"a\\"]),
      ("a,\"", ["a", "\""]),
    ])
    func `elements are what stands between commas outside quotes`(value: String, elements: [String]) {
      Array(value.utf8).withView { #expect(FieldList($0).map(\.string) == elements) }
    }

    @Test func `elements of all lines are told in order`() throws {
      try withHead(request("Accept: a, b", "X: no", "accept: ,c")) { head in
        var elements: [String] = []
        head.forEachElement(of: .accept) { elements.append($0.string) }
        #expect(elements == ["a", "b", "c"])
      }
    }
  }

  @Suite struct `§5.6.4 Quoted strings` {
    @Test(
      arguments: [
        ("\"\"", 2), ("\"a\"b", 3), ("\"\\\"\"", 4), ("\"\\\\\"", 4), ("\"a\tb é\"", 8), ("\"", nil), ("\"a", nil),
        ("\"\\", nil), ("\"\\\"", nil), ("a\"", nil), ("", nil), ("\"\u{1}\"", nil), ("\"\\\u{1}\"", nil),
        ("\"\u{7F}\"", nil),
      ] as [(String, Int?)])
    func `a string ends at its first quote that is not escaped`(text: String, end: Int?) {
      Array(text.utf8).withView { #expect(QuotedString.end(in: $0, from: 0) == end) }
    }

    @Test func `escapes are resolved`() {
      Array(#""a\"b\\c\d""#.utf8).withView { #expect(QuotedString.content(of: $0) == Array(#"a"b\cd"#.utf8)) }
    }
  }

  @Suite struct `§10.1.1 Expect` {
    @Test(arguments: ["100-continue", "100-Continue", "100-CONTINUE", ", 100-continue ,"])
    func `a client that waits for the go-ahead is noticed when there is a body to wait for`(value: String) throws {
      #expect(try parsed(request("Expect: \(value)", "Content-Length: 5")).expectsContinue)
      #expect(try parsed(request("Expect: \(value)", "Transfer-Encoding: chunked")).expectsContinue)
      #expect(try !parsed(request("Expect: \(value)", "Content-Length: 0")).expectsContinue)
      #expect(try !parsed(request("Expect: \(value)")).expectsContinue)
      #expect(try !parsed(request("Expect: \(value)", "Content-Length: 5", version: "1.0")).expectsContinue)
    }

    @Test(arguments: ["200-ok", "100-continue, x", "100-continue;a=b", "100-continued", "100 continue", "x=y"])
    func `any other expectation is answered 417`(value: String) throws {
      #expect(try outcome(request("Expect: \(value)", "Content-Length: 5")) == .refused(.unsupportedExpectation))
      let lines = request("Expect: 100-continue", "Expect: \(value)", "Content-Length: 5")
      #expect(try outcome(lines) == .refused(.unsupportedExpectation))
    }

    @Test func `an empty expectation is none`() throws {
      #expect(try !parsed(request("Expect:", "Content-Length: 5")).expectsContinue)
    }
  }
}
