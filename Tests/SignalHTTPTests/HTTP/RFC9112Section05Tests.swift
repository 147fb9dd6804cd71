// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct `RFC 9112 §5 Field syntax` {
  @Test(arguments: [
    ("A: b", "A=b"), ("A:b", "A=b"), ("A:", "A="), ("A: ", "A="), ("A: \t ", "A="), ("A:\tb\t", "A=b"),
    ("A:   b c   ", "A=b c"), ("A: b\tc", "A=b\tc"), ("A: b:c", "A=b:c"), ("A: é", "A=é"),
    ("A: \"b, c\"", "A=\"b, c\""),
    ("!#$%&'*+-.^_`|~09azAZ: b", "!#$%&'*+-.^_`|~09azAZ=b"), ("a: (c) <d> [e] {f} @g ; h", "a=(c) <d> [e] {f} @g ; h"),
    ("A:::", "A=::"),
  ])
  func `name and value are told apart, without the white space around the value`(line: String, field: String) throws {
    #expect(try parsed(request(line)).fields == ["Host=a", field])
  }

  @Test func `lines keep their order, equal names stay apart`() throws {
    let head = try parsed(request("B: 1", "A: 2", "b: 3"))
    #expect(head.fields == ["Host=a", "B=1", "A=2", "b=3"])
  }

  @Test func `names and values of every length are found`() throws {
    for length in 1..<40 {
      let name = String(repeating: "n", count: length)
      let value = String(repeating: "v", count: length)
      #expect(
        try parsed(request("\(name): \(value)", "\(name)_x:\(value)")).fields.dropFirst() == [
          "\(name)=\(value)", "\(name)_x=\(value)",
        ])
    }
  }

  @Test(arguments: Array(0x80...0xFF)) func `a value may hold bytes beyond ASCII, a name may not`(byte: UInt8) throws {
    let value = Array("GET / HTTP/1.1\r\nHost: a\r\nX: b".utf8) + [byte] + Array("c\r\n\r\n".utf8)
    guard case .parsed = try outcome(value) else {
      Issue.record("refused \(byte)")
      return
    }
    let name = Array("GET / HTTP/1.1\r\nHost: a\r\nX".utf8) + [byte] + Array(": c\r\n\r\n".utf8)
    #expect(try outcome(name) == .refused(.malformedFieldName))
  }

  @Suite struct `§5.1 Field line parsing` {
    @Test(arguments: [
      Refusal(request("X : y"), .spaceBeforeColon),
      Refusal(request("X\t: y"), .spaceBeforeColon),
      Refusal(request("X  \t : y"), .spaceBeforeColon),
      Refusal(request("Content-Length : 5"), .spaceBeforeColon),
      Refusal(request("Transfer-Encoding : chunked"), .spaceBeforeColon),
      Refusal(request("Transfer-Encoding\t:chunked"), .spaceBeforeColon),
      Refusal("GET / HTTP/1.1\r\nHost : a\r\n\r\n", .spaceBeforeColon),
      Refusal(request(": y"), .emptyFieldName),
      Refusal(request(":y"), .emptyFieldName),
      Refusal(request(":"), .emptyFieldName),
      Refusal(request("::Transfer-Encoding: chunked"), .emptyFieldName),
      Refusal(request("X"), .missingColon),
      Refusal(request("NoColonHere"), .missingColon),
      Refusal(request("Transfer-Encoding"), .missingColon),
      Refusal(request("X y: z"), .malformedFieldName),
      Refusal(request("X y"), .malformedFieldName),
      Refusal(request("Transfer- Encoding: chunked"), .malformedFieldName),
      Refusal(request("Transfer-Encoding chunked"), .malformedFieldName),
      Refusal(request("Content\tLength: 9"), .malformedFieldName),
      Refusal(request("X[]: y"), .malformedFieldName),
      Refusal(request("Bad[Name: y"), .malformedFieldName),
      Refusal(request("X(y): z"), .malformedFieldName),
      Refusal(request("X,y: z"), .malformedFieldName),
      Refusal(request("X/y: z"), .malformedFieldName),
      Refusal(request("X;y: z"), .malformedFieldName),
      Refusal(request("X<y: z"), .malformedFieldName),
      Refusal(request("X=y: z"), .malformedFieldName),
      Refusal(request("X?y: z"), .malformedFieldName),
      Refusal(request("Fo@: z"), .malformedFieldName),
      Refusal(request("X\\y: z"), .malformedFieldName),
      Refusal(request("X{y}: z"), .malformedFieldName),
      Refusal(request("\"X\": z"), .malformedFieldName),
      Refusal(request("Tran\u{17F}fer-Encoding: chunked"), .malformedFieldName),
      Refusal(request("Transfer-Encod\u{131}ng: chunked"), .malformedFieldName),
      Refusal(request("Transfer\u{2015}Encoding: chunked"), .malformedFieldName),
      Refusal(request("\u{A0}Content-Length: 5"), .malformedFieldName),
      Refusal(request("Content-Length\u{2003}: 5"), .malformedFieldName),
      Refusal(request("GET /admin HTTP/1.1"), .malformedFieldName),
    ])
    func `a name is a token with the colon right behind it`(row: Refusal) throws { try row.check() }

    @Test(arguments: [
      Refusal(request("Content_Length: 5"), .ambiguousFieldName),
      Refusal(request("content_length: 5"), .ambiguousFieldName),
      Refusal(request("Content-Length: 11", "Content_Length: 99"), .ambiguousFieldName),
      Refusal(request("Transfer_Encoding: chunked"), .ambiguousFieldName),
      Refusal(request("TRANSFER_ENCODING: chunked"), .ambiguousFieldName),
    ])
    func `a framing field with an underscore is refused`(row: Refusal) throws { try row.check() }

    @Test(arguments: ["Content__Length: 5", "Transfer---Encoding: chunked", "Content.Length: 5", "X_Y: z"])
    func `other names that only resemble one are fields like any other`(line: String) throws {
      #expect(try parsed(request(line)).framing == .none)
    }
  }

  @Suite struct `§5.2 Obsolete line folding` {
    @Test(arguments: [
      Refusal(request("X: y", " z"), .foldedLine),
      Refusal(request("X: y", "\tz"), .foldedLine),
      Refusal(request("X: y", " "), .foldedLine),
      Refusal(request("X:", " y"), .foldedLine),
      Refusal(request("Transfer-Encoding:", " chunked"), .foldedLine),
      Refusal(request("Transfer-Encoding: chunked", " , identity"), .foldedLine),
      Refusal(request("Content-Length: 5", "\t, 6"), .foldedLine),
      Refusal(request("X: y", " Content-Length: 38"), .foldedLine),
      Refusal("GET / HTTP/1.1\r\nHost:\r\n a\r\n\r\n", .foldedLine),
      Refusal(request("name", " : value"), .foldedLine),
    ])
    func `a folded line is refused`(row: Refusal) throws { try row.check() }
  }

  @Suite struct `RFC 6585 §5 Limits` {
    @Test func `a head may fill its limit and not exceed it`() throws {
      var limits = HTTPLimits()
      limits.headBytes = 100
      let rest = "GET / HTTP/1.1\r\nHost: a\r\nX: \r\n\r\n"
      let value = String(repeating: "v", count: 100 - rest.utf8.count)
      let longest = rest.replacing("X: ", with: "X: \(value)")
      #expect(longest.utf8.count == 100)
      #expect(try parsed(longest, limits: limits).length == 100)
      #expect(try parsed(longest + "body", limits: limits).length == 100)
      let tooLong = rest.replacing("X: ", with: "X: \(value)v")
      #expect(try outcome(tooLong, limits: limits) == .refused(.headTooLarge))
      // As soon as it cannot become complete.
      #expect(headOutcome(of: [Array(tooLong.utf8.prefix(99))], limits: limits) == .needsMore)
      #expect(headOutcome(of: [Array(tooLong.utf8.prefix(100))], limits: limits) == .refused(.headTooLarge))
      #expect(HTTPParseError.headTooLarge.status.code == 431)
    }

    @Test(arguments: [-1, 0, 1, 7, 8, 9, 15, 16, 30, 31]) func `a tiny limit is one too`(bytes: Int) throws {
      var limits = HTTPLimits()
      limits.headBytes = bytes
      #expect(try outcome("GET / HTTP/1.0\r\nHost: abcdef\r\n\r\n", limits: limits) == .refused(.headTooLarge))
    }

    @Test func `an error within the limit is told rather than the limit`() throws {
      var limits = HTTPLimits()
      limits.headBytes = 40
      let text = "GET / HTTP/1.1\r\n folded\r\n" + String(repeating: "x", count: 100)
      #expect(try outcome(text, limits: limits) == .refused(.foldedLine))
      let behind = "GET / HTTP/1.1\r\nX: " + String(repeating: "x", count: 30) + "\r\n folded"
      #expect(try outcome(behind, limits: limits) == .refused(.headTooLarge))
    }

    @Test func `a long name, a long value and a long target are refused`() throws {
      let long = [UInt8](repeating: UInt8(ascii: "A"), count: 100_000)
      let start = Array("GET / HTTP/1.1\r\nHost: a\r\n".utf8)
      #expect(headOutcome(of: [start + long]) == .refused(.headTooLarge))
      #expect(headOutcome(of: [start + Array("X: ".utf8) + long]) == .refused(.headTooLarge))
      #expect(headOutcome(of: [Array("GET /".utf8) + long]) == .refused(.targetTooLong))
      #expect(headOutcome(of: [long]) == .refused(.methodTooLong))
    }

    @Test func `the number of fields is bounded`() throws {
      var limits = HTTPLimits()
      limits.fields = 3
      #expect(try parsed(request("A: b", "C: d"), limits: limits).fields.count == 3)
      #expect(try outcome(request("A: b", "C: d", "E: f"), limits: limits) == .refused(.tooManyFields))
      // At the first byte of the line that is one too many.
      let start = "POST / HTTP/1.1\r\nHost: a\r\nA: b\r\nC: d\r\nE"
      #expect(headOutcome(of: [Array(start.utf8)], limits: limits) == .refused(.tooManyFields))
      #expect(HTTPParseError.tooManyFields.status.code == 431)
      limits.fields = -1
      #expect(try outcome(request(), limits: limits) == .refused(.tooManyFields))
    }

    @Test func `a hundred fields are served by default, a hundred and one are not`() throws {
      func text(_ count: Int) -> String {
        "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "A: b\r\n", count: count - 1)
      }
      #expect(headOutcome(of: [Array((text(100) + "\r\n").utf8)]) != .refused(.tooManyFields))
      #expect(headOutcome(of: [Array((text(101) + "\r\n").utf8)]) == .refused(.tooManyFields))
    }
  }

  @Suite struct `The parser by itself` {
    /// The parser, without a scanner before it.
    private func outcome(_ text: String) -> HTTPParseError? {
      var parser = RequestHeadParser()
      do {
        try Array(text.utf8).withView { (view) throws(HTTPParseError) in _ = try parser.parse(view) }
        return nil
      } catch {
        return error
      }
    }

    @Test(arguments: [
      "", "\r\n\r\n", "\r\n\r\n\r\n\r\n", "\r", "GET / HTTP/1.1", "GET / HTTP/1.1\r\n", "GET / HTTP/1.1\r\nHost: a\r\n",
      "GET / HTTP/1.1\r\nHost: a\r\n\r\nX: y\r\n\r\n", "GET / HTTP/1.1\r\n\r\n\r\n\r\n",
    ])
    func `bytes that are not one complete head are an error, not a trap`(text: String) {
      #expect(outcome(text) == .incompleteMessage || outcome(text) == .missingHost)
    }

    @Test func `every byte changed to every other value is parsed without a trap`() {
      let text = Array("PUT /a%20b?c HTTP/1.1\r\nHost: a:1\r\nContent-Length: 5\r\nConnection: close\r\n\r\n".utf8)
      var parser = RequestHeadParser()
      var accepted = 0
      for place in text.indices {
        for byte in UInt8.min...UInt8.max {
          var changed = text
          changed[place] = byte
          changed.withView { view in
            guard let head = try? parser.parse(view) else { return }
            accepted += 1
            // Whatever is accepted has no control character in any part of it.
            for position in 0..<head.fieldCount {
              let field = head.field(at: position)
              #expect(field.name.isToken)
              #expect(field.value.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 })
            }
            #expect(head.target.allSatisfy { (0x21...0x7E).contains($0) })
          }
        }
      }
      #expect(accepted > text.count)
    }

    @Test func `a parser is used again after errors and after long heads`() throws {
      var parser = RequestHeadParser()
      func parse(_ text: String) -> Int? {
        Array(text.utf8).withView { view in
          guard let head = try? parser.parse(view) else { return nil }
          return head.fieldCount
        }
      }
      #expect(parse(request("A: b", "C: d", "E: f")) == 4)
      #expect(parse(request("A: b", "C : d")) == nil)
      #expect(parse(request()) == 1)
      try Array(request().utf8).withView { (view) throws in
        let head = try parser.parse(view)
        #expect(head[ByteView("AA")] == nil && !head.has(.contentLength))
      }
    }
  }
}
