// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct `RFC 9112 §2 Message` {
  @Suite struct `§2.1 Message format` {
    @Test func `a head ends with its empty line, and what follows belongs to the body`() throws {
      let head = try parsed("GET /a HTTP/1.1\r\nHost: b\r\n\r\nGET /c HTTP/1.1\r\n")
      #expect(head.length == "GET /a HTTP/1.1\r\nHost: b\r\n\r\n".utf8.count)
      #expect(head.method == "GET" && head.path == "/a" && head.host == "b" && head.fields == ["Host=b"])
    }

    @Test func `a head without fields is complete after two line ends`() throws {
      #expect(try parsed("GET / HTTP/1.0\r\n\r\n").fields == [])
    }

    @Test(arguments: [
      "", "G", "GET ", "GET /hello", "GET /hello ", "GET /hello HTTP", "GET /hello HTTP/1.1", "GET /hello HTTP/1.1\r",
      "GET /hello HTTP/1.1\r\n", "GET /hello HTTP/1.1\r\nHos", "GET /hello HTTP/1.1\r\nHost:",
      "GET /hello HTTP/1.1\r\nHost: ", "GET /hello HTTP/1.1\r\nHost: localhost",
      "GET /hello HTTP/1.1\r\nHost: localhost\r", "GET /hello HTTP/1.1\r\nHost: localhost\r\n",
      "GET /hello HTTP/1.1\r\nHost: localhost\r\n\r", "\r", "\r\n",
    ])
    func `the beginning of a head needs more`(text: String) throws {
      #expect(try outcome(text) == .needsMore)
    }

    @Test func `feeding byte by byte looks at each byte once`() throws {
      // Quadratic work on 16 KiB would be 128 million steps: the budget of time is some hundred times what is needed.
      var limits = HTTPLimits()
      limits.headBytes = 1 << 20
      var scanner = HeadScanner()
      let head = Array("GET / HTTP/1.1\r\nA: \(String(repeating: "b\t", count: 200_000))\r\n\r\n".utf8)
      let clock = ContinuousClock()
      let time = try clock.measure {
        try head.withView { (view) throws in
          for end in 1...view.count where try scanner.scan(view[0..<end], limits: limits) != nil {
            #expect(end == view.count)
          }
        }
      }
      #expect(time < .seconds(20))
    }

    @Test func `a scanner is idle until the first byte of a request`() throws {
      var scanner = HeadScanner()
      func feed(_ text: String) throws -> Bool {
        _ = try Array(text.utf8).withView { (view) throws in try scanner.scan(view, limits: HTTPLimits()) }
        return scanner.isIdle
      }
      #expect(try feed(""))
      #expect(try feed("\r"))
      #expect(try feed("\r\n"))
      #expect(try !feed("\r\nG"))
    }

    @Test func `a scanner is a small value`() {
      #expect(MemoryLayout<HeadScanner>.size <= 24)
    }
  }

  @Suite struct `§2.2 Message parsing` {
    @Test(arguments: 1...4) func `empty lines before a request are skipped`(count: Int) throws {
      let head = try parsed(String(repeating: "\r\n", count: count) + "GET /a HTTP/1.1\r\nHost: b\r\n\r\n")
      #expect(head.path == "/a")
      #expect(head.length == 2 * count + 28)
    }

    @Test(arguments: [
      Refusal("\r\n\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n", .tooManyEmptyLines),
      Refusal("\nGET / HTTP/1.1\r\n", .bareLineFeed),
      Refusal("\rGET / HTTP/1.1\r\n", .bareCarriageReturn),
      Refusal("\r\rGET / HTTP/1.1\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\nHost: a\r\n\r\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\n\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\rHost: a\r\n\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nHost: a\n\r\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\r\nHost: a\nX: b\r\n\r\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\r\nHost: a\r\n\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\r\nHost: a\r\n\rX", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nHost: a\rX: b\r\n\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nHost: a\r\r\n\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nX:\rTransfer-Encoding: chunked\r\n\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nX:\nTransfer-Encoding: chunked\r\n\r\n", .bareLineFeed),
      Refusal("GET / HTTP/1.1\r\nHost: a\r\n\rSome-Header: Test\r\n\r\n", .bareCarriageReturn),
      Refusal("GET / HTTP/1.1\r\nHost: a\r\n\rZGET /evil: HTTP/1.1\r\nHost: a\r\n\r\n", .bareCarriageReturn),
      Refusal("GET\n/ HTTP/1.1\r\n\r\n", .bareLineFeed),
      Refusal("GET /\n HTTP/1.1\r\n\r\n", .bareLineFeed),
    ])
    func `lines end in CRLF and in nothing else`(row: Refusal) throws { try row.check() }

    @Test(arguments: [
      Refusal("GET / HTTP/1.1\r\n Host: a\r\n\r\n", .foldedLine),
      Refusal("GET / HTTP/1.1\r\n\tHost: a\r\n\r\n", .foldedLine),
      Refusal("GET / HTTP/1.1\r\n \r\nHost: a\r\n\r\n", .foldedLine),
      Refusal("GET / HTTP/1.1\r\n  \t Content-Length: 5\r\nHost: a\r\n\r\n", .foldedLine),
    ])
    func `white space before the first field is refused`(row: Refusal) throws { try row.check() }

    @Test(arguments: Array(0x00...0x1F) + [0x7F]) func `a control character is refused wherever it stands`(
      byte: UInt8
    ) throws {
      let control = [byte]
      for (before, after) in [
        ("G", "ET / HTTP/1.1\r\n\r\n"), ("GET /a", "b HTTP/1.1\r\n\r\n"), ("GET / HT", "TP/1.1\r\n\r\n"),
        ("GET / HTTP/1.1\r\nX", ": b\r\n\r\n"), ("GET / HTTP/1.1\r\nX: a", "b\r\n\r\n"),
        ("GET / HTTP/1.1\r\nX:", "b\r\n\r\n"), ("GET / HTTP/1.1\r\nX: a", "\r\n\r\n"),
        ("GET / HTTP/1.1\r\n", "X: a\r\n\r\n"),
      ] {
        let isTabInValue = byte == 0x09 && before.contains("X:")
        let outcome = try outcome(Array(before.utf8) + control + Array(after.utf8))
        if isTabInValue {
          // Then only Host is missing.
          #expect(outcome == .refused(.missingHost))
        } else if case .refused(let error) = outcome {
          #expect(error.status == .badRequest && error != .missingHost, "\(before)\(byte)\(after)")
          if byte == 0 { #expect(error == .controlCharacter) }
        } else {
          Issue.record("accepted: \(before)\(byte)\(after)")
        }
      }
    }

    @Test(arguments: [
      "\u{16}\u{3}\u{1}\u{2}\u{0}\u{1}\u{0}\u{1}\u{FC}\u{3}\u{3}", "{\"json\": true}", "\u{0}\u{0}\u{0}\u{0}",
      "   \r\n\r\n", "\u{FEFF}GET / HTTP/1.1\r\n\r\n", "(GET) / HTTP/1.1\r\n\r\n",
    ])
    func `what cannot become a request is refused before its end`(text: String) throws {
      let outcome = try outcome(text)
      guard case .refused(let error) = outcome else {
        Issue.record("\(outcome)")
        return
      }
      #expect(error.status == .badRequest)
      // One byte more or less does not matter: the first impossible byte decides.
      #expect(headOutcome(of: [Array(text.utf8.prefix(4))]) == .refused(error))
    }

    @Test func `random bytes are refused or need more, however they are cut`() throws {
      var generator = SplitMix(state: 42)
      for _ in 0..<200 {
        let bytes = (0..<64).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        if case .parsed = try outcome(bytes) { Issue.record("parsed: \(bytes)") }
      }
    }
  }

  @Suite struct `§2.3 HTTP version` {
    @Test(arguments: [("1.1", 1), ("1.0", 0), ("1.2", 1), ("1.9", 1)])
    func `every version 1.x is served, as 1.1 at most`(
      version: String, minor: UInt8
    ) throws {
      #expect(try parsed("GET / HTTP/\(version)\r\nHost: a\r\n\r\n").minorVersion == minor)
    }

    @Test(arguments: ["0.9", "2.0", "2.1", "3.0", "9.9"]) func `another major version is answered 505`(
      version: String
    ) throws {
      let refused = HeadOutcome.refused(.unsupportedVersion)
      #expect(try outcome("GET / HTTP/\(version)\r\nHost: a\r\n\r\n") == refused)
      #expect(HTTPParseError.unsupportedVersion.status.code == 505)
    }

    @Test func `the preface of HTTP 2 is answered 505`() throws {
      #expect(try outcome("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n") == .refused(.unsupportedVersion))
    }

    @Test(arguments: [
      "HTTP/1", "HTTP/1.", "HTTP/1.1.1", "HTTP/01.1", "HTTP/1.01", "HTTP/1.10", "HTTP/11.1", "HTTP/1,1", "HTTP/1 .1",
      "HTTP/ 1.1", "HTTP /1.1", "http/1.1", "Http/1.1", "HTTP-1.1", "HTTPS/1.1", "HTTP/a.1", "HTTP/1.a", "HTTP/-1.1",
      "HTTP//1.1", "HTTP/1.1 ", "HTTP/1.1\t", "\tHTTP/1.1", "IHTTP/1.0", "ICE/1.0", "RTSP/1.0", "XTTP/1.1",
      "HTTP/1.1;x", "HTTP/+1.1", "HTTP/1.1é",
    ])
    func `a version that is not HTTP, digit, digit is refused`(version: String) throws {
      #expect(try outcome("GET / \(version)\r\nHost: a\r\n\r\n") == .refused(.malformedVersion))
    }
  }
}
