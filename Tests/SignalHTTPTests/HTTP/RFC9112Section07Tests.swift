// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// What a chunked body came to.
private enum BodyOutcome: Equatable {
  case needsMore([UInt8])
  case complete([UInt8], consumed: Int)
  case refused(HTTPParseError)
}

private func bodyOutcome(of pieces: [[UInt8]], limits: HTTPLimits) -> BodyOutcome {
  var parser = ChunkedBodyParser()
  var body: [UInt8] = []
  var consumed = 0
  do {
    for piece in pieces {
      let (count, isComplete) = try piece.withView { (view) throws(HTTPParseError) in
        try parser.parse(view, into: &body, limits: limits)
      }
      consumed += count
      if isComplete { return .complete(body, consumed: consumed) }
      #expect(count == piece.count, "a parser that needs more has consumed everything")
    }
    return .needsMore(body)
  } catch {
    return .refused(error)
  }
}

private func body(_ text: String, limits: HTTPLimits = HTTPLimits()) throws -> BodyOutcome {
  try Splits.all(of: Array(text.utf8)) { bodyOutcome(of: $0, limits: limits) }
}

@Suite struct `RFC 9112 §7 Transfer codings` {
  @Suite struct `§7.1 Chunked` {
    @Test(arguments: [
      ("0\r\n\r\n", ""), ("5\r\nhello\r\n0\r\n\r\n", "hello"),
      ("5\r\nhello\r\n6\r\n world\r\n0\r\n\r\n", "hello world"),
      ("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("A\r\n0123456789\r\n0\r\n\r\n", "0123456789"),
      ("0005\r\nhello\r\n000\r\n\r\n", "hello"), ("0000000000000001\r\na\r\n0\r\n\r\n", "a"),
      ("2\r\n\r\n\r\n0\r\n\r\n", "\r\n"), ("5\r\n0\r\n\r\n\r\n0\r\n\r\n", "0\r\n\r\n"),
      ("1\r\na\r\n1\r\nb\r\n1\r\nc\r\n0\r\n\r\n", "abc"),
    ])
    func `chunks are put together, and what follows is left alone`(text: String, content: String) throws {
      let expected = BodyOutcome.complete(Array(content.utf8), consumed: text.utf8.count)
      #expect(try body(text) == expected)
      #expect(try body(text + "GET / HTTP/1.1\r\n") == expected)
    }

    @Test(arguments: [
      "", "5", "5\r", "5\r\n", "5\r\nhel", "5\r\nhello", "5\r\nhello\r", "5\r\nhello\r\n", "5\r\nhello\r\n0", "0\r",
      "0\r\n",
      "0\r\n\r", "0\r\nX", "0\r\nX: y\r\n", "0\r\nX: y\r\n\r",
    ])
    func `the beginning of a body needs more`(text: String) throws {
      guard case .needsMore = try body(text) else {
        Issue.record("\(text.debugDescription)")
        return
      }
    }

    @Test(arguments: [
      Refusal("\r\n", .malformedChunkSize), Refusal("g\r\n", .malformedChunkSize),
      Refusal("-5\r\n", .malformedChunkSize),
      Refusal("+5\r\n", .malformedChunkSize), Refusal("-0\r\n", .malformedChunkSize),
      Refusal("0x5\r\nhello\r\n", .malformedChunkSize), Refusal("0X5\r\n", .malformedChunkSize),
      Refusal("x5\r\n", .malformedChunkSize), Refusal("5_0\r\n", .malformedChunkSize),
      Refusal("5,0\r\n", .malformedChunkSize), Refusal("5.0\r\n", .malformedChunkSize),
      Refusal(" 5\r\nhello\r\n", .malformedChunkSize), Refusal("\t5\r\nhello\r\n", .malformedChunkSize),
      Refusal("5h\r\n", .malformedChunkSize), Refusal("5\"\r\n", .malformedChunkSize),
      Refusal(";\r\n", .malformedChunkSize),
      Refusal(";a=b\r\n", .malformedChunkSize), Refusal("\u{FF15}\r\n", .malformedChunkSize),
      Refusal("FFFFFFFFFFFFFFFF0\r\n", .malformedChunkSize), Refusal("FFFFFFFFFFFFFFFF\r\n", .malformedChunkSize),
      Refusal("8000000000000000\r\n", .malformedChunkSize), Refusal("00000000000000005\r\n", .malformedChunkSize),
      Refusal("10000000000000000\r\n", .malformedChunkSize),
      Refusal("5\nhello\r\n", .bareLineFeed), Refusal("\n5\r\nhello", .bareLineFeed),
      Refusal("5\rhello\r\n", .bareCarriageReturn), Refusal("5\r\r\nhello", .bareCarriageReturn),
      Refusal("5\u{0}\r\n", .controlCharacter), Refusal("\u{0}5\r\n", .controlCharacter),
      Refusal("5\r\nhello\r\nG\r\n", .malformedChunkSize), Refusal("5\r\nhello\r\n\r\n", .malformedChunkSize),
      Refusal("5\r\nhello\r\n-1\r\n", .malformedChunkSize),
    ])
    func `a size is one to sixteen hexadecimal digits and a line end`(row: Refusal) throws {
      #expect(try body(row.text) == .refused(row.error))
      #expect(row.error.status == .badRequest)
    }

    @Test(arguments: [
      Refusal("5\r\nhello!\r\n", .malformedChunkEnd), Refusal("5\r\nhelloGET / HTTP/1.1\r\n", .malformedChunkEnd),
      Refusal("5\r\nhello0\r\n\r\n", .malformedChunkEnd), Refusal("5\r\nhello\n0\r\n\r\n", .malformedChunkEnd),
      Refusal("5\r\nhello\rX", .bareCarriageReturn), Refusal("5\r\nhello\r\r\n", .bareCarriageReturn),
      Refusal("5\r\nhello \r\n", .malformedChunkEnd), Refusal("1\r\nab\r\n", .malformedChunkEnd),
      Refusal("5\r\nABCDEFG\r\n0\r\n\r\n", .malformedChunkEnd),
    ])
    func `data ends where its size says`(row: Refusal) throws {
      #expect(try body(row.text) == .refused(row.error))
    }

    @Test func `data may hold every byte`() throws {
      let data = Array(UInt8.min...UInt8.max)
      let bytes = Array("100\r\n".utf8) + data + Array("\r\n0\r\n\r\n".utf8)
      let outcome = try Splits.all(of: bytes) { bodyOutcome(of: $0, limits: HTTPLimits()) }
      #expect(outcome == .complete(data, consumed: bytes.count))
    }

    @Test func `the limit holds for all chunks together, before the data that exceeds it`() throws {
      var limits = HTTPLimits()
      limits.bodyBytes = 8
      #expect(
        try body("5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n", limits: limits)
          == .complete(Array("helloabc".utf8), consumed: 23))
      #expect(try body("9\r", limits: limits) == .refused(.bodyTooLarge))
      #expect(try body("5\r\nhello\r\n4\r", limits: limits) == .refused(.bodyTooLarge))
      #expect(try body("5\r\nhello\r\n4;", limits: limits) == .refused(.bodyTooLarge))
      #expect(try body("7FFFFFFFFFFFFFFF\r", limits: limits) == .refused(.bodyTooLarge))
      #expect(try body("1\r\na\r\n7FFFFFFFFFFFFFFF\r", limits: limits) == .refused(.bodyTooLarge))
    }

    @Test func `data is told as it is there, without waiting for the whole chunk`() throws {
      var parser = ChunkedBodyParser()
      try Array("5\r\nhe".utf8).withView { (view) throws in
        var index = 0
        #expect(try parser.next(in: view, at: &index, limits: HTTPLimits()) == .data(3..<5))
        #expect(try parser.next(in: view, at: &index, limits: HTTPLimits()) == .needsMore)
        #expect(index == 5)
      }
      try Array("llo\r\n0\r\n\r\nGET".utf8).withView { (view) throws in
        var index = 0
        #expect(try parser.next(in: view, at: &index, limits: HTTPLimits()) == .data(0..<3))
        #expect(try parser.next(in: view, at: &index, limits: HTTPLimits()) == .complete)
        #expect(index == 10)
        #expect(try parser.next(in: view, at: &index, limits: HTTPLimits()) == .complete)
        #expect(index == 10)
      }
    }

    @Test func `what the writer writes, the parser reads`() throws {
      var generator = SplitMix(state: 5)
      for _ in 0..<20 {
        var content: [UInt8] = []
        var wire: [UInt8] = []
        for _ in 0..<Int.random(in: 0...5, using: &generator) {
          let data = (0..<Int.random(in: 0...40, using: &generator)).map { _ in
            UInt8.random(in: .min ... .max, using: &generator)
          }
          content += data
          data.withView { wire.appendChunk($0) }
        }
        wire.appendLastChunk()
        let outcome = try Splits.all(of: wire) { bodyOutcome(of: $0, limits: HTTPLimits()) }
        #expect(outcome == .complete(content, consumed: wire.count))
      }
    }

    @Test(arguments: [
      (1, "1\r\n"), (9, "9\r\n"), (10, "a\r\n"), (15, "f\r\n"), (16, "10\r\n"), (255, "ff\r\n"), (4096, "1000\r\n"),
      (65_535, "ffff\r\n"), (1_048_576, "100000\r\n"),
    ])
    func `sizes are written in hexadecimal digits`(count: Int, line: String) {
      var output: [UInt8] = []
      output.appendChunkSize(count)
      #expect(String(decoding: output, as: UTF8.self) == line)
    }

    @Test func `no data is no chunk`() {
      var output: [UInt8] = []
      [UInt8]().withView { output.appendChunk($0) }
      #expect(output.isEmpty)
    }
  }

  @Suite struct `§7.1.1 Chunk extensions` {
    @Test(arguments: [
      ";a", ";a=b", ";a;b", ";a=b;c=d;e", ";a=\"\"", ";a=\"b c\"", ";a=\"b;c=\\\"d\\\"\\\\\"", ";a=\"\té\"", " ;a",
      " ; a = b",
      "\t;\ta\t=\t\"b\"\t;c", ";a ;b", ";a= \"b\" ;c", ";!#$%&'*+-.^_`|~=!",
    ])
    func `extensions by the grammar are skipped`(text: String) throws {
      let wire = "5\(text)\r\nhello\r\n0\(text)\r\n\r\n"
      #expect(try body(wire) == .complete(Array("hello".utf8), consumed: wire.utf8.count))
    }

    @Test(arguments: [
      Refusal("5;\r\nhello\r\n", .malformedChunkExtension), Refusal("5 \r\nhello\r\n", .malformedChunkExtension),
      Refusal("5\t\r\n", .malformedChunkExtension), Refusal("5 a\r\n", .malformedChunkExtension),
      Refusal("5;;a\r\n", .malformedChunkExtension), Refusal("5;a;\r\n", .malformedChunkExtension),
      Refusal("5; \r\n", .malformedChunkExtension), Refusal("5;=b\r\n", .malformedChunkExtension),
      Refusal("5;a=\r\n", .malformedChunkExtension), Refusal("5;a=;b\r\n", .malformedChunkExtension),
      Refusal("5;a=b=c\r\n", .malformedChunkExtension), Refusal("5;a b\r\n", .malformedChunkExtension),
      Refusal("5;a=b c\r\n", .malformedChunkExtension), Refusal("5;a \r\n", .malformedChunkExtension),
      Refusal("5;a=b \r\n", .malformedChunkExtension), Refusal("5;a=\"b\" \r\n", .malformedChunkExtension),
      Refusal("5;a=\"b\"c\r\n", .malformedChunkExtension), Refusal("5;a\"b\"\r\n", .malformedChunkExtension),
      Refusal("5;a=\"b\r\nhello\r\n", .malformedChunkExtension), Refusal("5;a=\"b\\\r\n", .malformedChunkExtension),
      Refusal("5;[a]\r\n", .malformedChunkExtension), Refusal("5;a=(b)\r\n", .malformedChunkExtension),
      Refusal("5;é\r\n", .malformedChunkExtension), Refusal("5;a,b\r\n", .malformedChunkExtension),
      Refusal("5;a=b\nhello", .bareLineFeed), Refusal("5;\nhello", .bareLineFeed),
      Refusal("5;a\rX", .bareCarriageReturn), Refusal("5;a=b\rhello", .bareCarriageReturn),
      Refusal("5;a\u{0}b\r\n", .controlCharacter), Refusal("5;a=\"\u{1}\"\r\n", .controlCharacter),
      Refusal("5;a=\"b\n\"\r\n", .bareLineFeed), Refusal("5;a=\"\\\u{7F}\"\r\n", .controlCharacter),
    ])
    func `extensions out of the grammar are refused`(row: Refusal) throws {
      #expect(try body(row.text) == .refused(row.error))
      #expect(row.error.status == .badRequest)
    }

    @Test func `all extensions of a body together are bounded`() throws {
      var limits = HTTPLimits()
      limits.chunkExtensionBytes = 12
      // The line's CR ends an extension and counts: ten bytes with two extensions of four.
      let two = "1;abc\r\na\r\n1;abc\r\nb\r\n"
      #expect(try body(two + "0\r\n\r\n", limits: limits) == .complete(Array("ab".utf8), consumed: two.utf8.count + 5))
      #expect(try body(two + "1;abcdef", limits: limits) == .refused(.chunkExtensionsTooLarge))
      #expect(
        try body("5;a=\"" + String(repeating: "x", count: 20), limits: limits) == .refused(.chunkExtensionsTooLarge))
      #expect(try body("5" + String(repeating: " ", count: 20), limits: limits) == .refused(.chunkExtensionsTooLarge))
    }

    @Test func `a hundred thousand bytes of extension are refused by default`() {
      let bytes = Array("5;ext=".utf8) + [UInt8](repeating: UInt8(ascii: "A"), count: 100_000)
      #expect(bodyOutcome(of: [bytes], limits: HTTPLimits()) == .refused(.chunkExtensionsTooLarge))
      #expect(HTTPParseError.chunkExtensionsTooLarge.status == .badRequest)
    }
  }

  @Suite struct `§7.1.2 Trailer section` {
    @Test(arguments: [
      "X: y\r\n", "X:\r\n", "X: y\r\nZ:\té\t\r\n", "Server-Timing: a;dur=1\r\n",
      "X-\(String(repeating: "a", count: 50)): b\r\n",
    ])
    func `trailers are skipped`(trailers: String) throws {
      let wire = "5\r\nhello\r\n0\r\n\(trailers)\r\n"
      #expect(try body(wire) == .complete(Array("hello".utf8), consumed: wire.utf8.count))
    }

    @Test(arguments: KnownField.allCases) func `a trailer that the server would act on in a head is refused`(
      field: KnownField
    ) throws {
      let name = field.name.description
      #expect(try body("0\r\n\(name): x\r\n\r\n") == .refused(.forbiddenTrailer))
      #expect(try body("0\r\nX: y\r\n\(name.uppercased()):") == .refused(.forbiddenTrailer))
    }

    @Test(arguments: [
      Refusal("0\r\n X: y\r\n", .foldedLine), Refusal("0\r\n\tX: y\r\n", .foldedLine),
      Refusal("0\r\nX: y\r\n z\r\n", .foldedLine),
      Refusal("0\r\n: y\r\n", .emptyFieldName), Refusal("0\r\nX : y\r\n", .spaceBeforeColon),
      Refusal("0\r\nX\t: y\r\n", .spaceBeforeColon), Refusal("0\r\nX\r\n", .missingColon),
      Refusal("0\r\nX[]: y\r\n", .malformedFieldName), Refusal("0\r\n[: y\r\n", .malformedFieldName),
      Refusal("0\r\nX: y\nZ: a\r\n", .bareLineFeed), Refusal("0\r\nX\n", .bareLineFeed),
      Refusal("0\r\n\n", .bareLineFeed),
      Refusal("0\r\nX: y\rZ", .bareCarriageReturn), Refusal("0\r\n\rX", .bareCarriageReturn),
      Refusal("0\r\nX: \u{0}\r\n", .controlCharacter), Refusal("0\r\nX: \u{7F}\r\n", .controlCharacter),
      Refusal("0\r\nX\u{1}: y\r\n", .controlCharacter), Refusal("0\r\n\u{1}X: y\r\n", .controlCharacter),
      Refusal("0\r\nContent_Length: 5\r\n", .ambiguousFieldName), Refusal("0\r\nGET / HTTP/1.1\r\n", .spaceBeforeColon),
    ])
    func `a malformed trailer is refused`(row: Refusal) throws {
      #expect(try body(row.text) == .refused(row.error))
    }

    @Test func `trailers are bounded in bytes and in number`() throws {
      var limits = HTTPLimits()
      limits.trailerBytes = 12
      limits.fields = 2
      #expect(try body("0\r\nX: y\r\nZ: a\r\n\r\n", limits: limits) == .complete([], consumed: 17))
      #expect(try body("0\r\nX: y\r\nZ: ab\r\n", limits: limits) == .refused(.trailersTooLarge))
      #expect(HTTPParseError.trailersTooLarge.status.code == 431)
      limits.trailerBytes = 100
      #expect(try body("0\r\nX: y\r\nZ: a\r\nQ", limits: limits) == .refused(.tooManyFields))
    }
  }
}
