// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct `RFC 9112 §6 Message body` {
  @Suite struct `§6.1 Transfer-Encoding` {
    @Test(arguments: ["chunked", "Chunked", "CHUNKED", " chunked ", "\tchunked\t"])
    func `chunked alone is served, in any case`(value: String) throws {
      #expect(try parsed(request("Transfer-Encoding:\(value)")).framing == .chunked)
      #expect(try parsed(request("TRANSFER-ENCODING:\(value)")).framing == .chunked)
    }

    @Test(arguments: [
      Refusal(request("Transfer-Encoding: xchunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: chunkedx"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: identity"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: pigeons"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip, chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip,chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip;a=b , chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip ; a = \"b,c\", chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: gzip", "Transfer-Encoding: chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: cow", "Transfer-Encoding: chunked"), .unsupportedTransferCoding),
      Refusal(request("Transfer-Encoding: chunked-false"), .unsupportedTransferCoding),
    ])
    func `an unknown coding is answered 501`(row: Refusal) throws {
      try row.check()
      #expect(row.error.status.code == 501)
    }

    @Test(arguments: [
      Refusal(request("Transfer-Encoding:"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: \t"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: ,"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: , chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked,"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked, "), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: gzip,, chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked, chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked", "Transfer-Encoding: chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked, identity"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked, gzip"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked", "Transfer-Encoding: gzip"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked", "Transfer-Encoding:"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked;a=b"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked;"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked;q=0.5"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: \"chunked\""), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: 'chunked'x y"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked foo"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked /"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chun ked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: {chunked}"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: chunked\u{A0}"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: gzip;, chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: gzip;a, chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: gzip;a=, chunked"), .malformedTransferEncoding),
      Refusal(request("Transfer-Encoding: gzip;a=\"b, chunked"), .malformedTransferEncoding),
    ])
    func `chunked is the last coding, once, without parameters`(row: Refusal) throws { try row.check() }

    @Test(arguments: [
      Refusal(request("Transfer-Encoding: chunked\u{B}"), .controlCharacter),
      Refusal(request("Transfer-Encoding:\u{C}chunked"), .controlCharacter),
      Refusal(request("Transfer-Encoding: chunked\u{0}"), .controlCharacter),
      Refusal(request("Transfer-Encoding: chunked\u{11}"), .controlCharacter),
      Refusal(request("\u{1}Transfer-Encoding: chunked"), .controlCharacter),
      Refusal(request("Transfer-Encoding\u{1}: chunked"), .controlCharacter),
    ])
    func `no control character hides the field or its value`(row: Refusal) throws { try row.check() }

    @Test(arguments: [
      Refusal(request("Transfer-Encoding: chunked", version: "1.0"), .transferEncodingInOldVersion),
      Refusal(request("Transfer-Encoding: gzip", version: "1.0"), .transferEncodingInOldVersion),
      Refusal(
        request("Transfer-Encoding: chunked", "Connection: keep-alive", version: "1.0"),
        .transferEncodingInOldVersion),
      Refusal(request("Transfer-Encoding: chunked", "Content-Length: 5", version: "1.0"), .conflictingFraming),
    ])
    func `HTTP 1_0 has no transfer codings`(row: Refusal) throws {
      try row.check()
      #expect(row.error.status == .badRequest)
    }

    @Test(arguments: [
      ["Content-Length: 6", "Transfer-Encoding: chunked"], ["Transfer-Encoding: chunked", "Content-Length: 6"],
      ["Content-Length: 0", "Transfer-Encoding: chunked"], ["Transfer-Encoding: xchunked", "Content-Length: 5"],
      ["Transfer-Encoding: identity", "Content-Length: 5"], ["Content-Length: 5", "Transfer-Encoding: gzip"],
      ["Content-Length: 5", "X: y", "Transfer-Encoding: Chunked"],
      ["Transfer-Encoding: chunked ", "Content-Length: 5"],
      ["Transfer-Encoding: chunked", "content-length: 999999999"],
    ])
    func `both framings together are refused`(lines: [String]) throws {
      let text = (["POST / HTTP/1.1", "Host: a"] + lines + ["", ""]).joined(separator: "\r\n")
      #expect(try outcome(text) == .refused(.conflictingFraming))
    }
  }

  @Suite struct `§6.2 Content-Length` {
    @Test(arguments: [
      ("0", 0), ("1", 1), ("5", 5), ("1114112", 1_114_112), (" 5 ", 5), ("\t5\t", 5), ("  10", 10),
      ("05", 5), ("005", 5), ("00", 0), ("0200", 200), ("0000000000000000005", 5),
    ])
    func `one decimal number says how long the body is`(value: String, length: Int) throws {
      #expect(try parsed(request("Content-Length:\(value)")).framing == .sized(length))
      #expect(try parsed(request("content-length:\(value)", version: "1.0")).framing == .sized(length))
    }

    @Test(arguments: [
      "", " ", "+5", "-5", "-0", "-1", "abc", "5a", "a5", "0x5", "0X5", "0o5", "0b1", "5 5", "5\t5", "5,5", "5, 5",
      "5, 6",
      "5,", ",5", "5;", "5.0", "5.", ".5", "1e3", "1_000", "1'000", "5 ,5", "\"5\"", "'5'", "(5)", "$5", "%35", "５",
      "٥",
      "²", "00000000000000000005", "000000000000000000000005", "9223372036854775808", "18446744073709551615",
      "18446744073709551616", "18446744073709551621", "99999999999999999999", "340282366920938463463374607431768211461",
      "-123456789123456789123456789", "NaN", "Infinity", "5\u{A0}", "\u{2003}5", "chunked", "null",
    ])
    func `anything else is refused`(value: String) throws {
      #expect(try outcome(request("Content-Length: \(value)")) == .refused(.malformedContentLength))
    }

    @Test(arguments: [
      ["Content-Length: 5", "Content-Length: 5"], ["Content-Length: 5", "Content-Length: 6"],
      ["Content-Length: 0", "Content-Length: 0"], ["Content-Length: 5", "CONTENT-LENGTH: 5"],
      ["Content-Length: 5", "X: y", "content-length: 7"], ["Content-Length: 5", "Content-Length: a"],
    ])
    func `more than one is refused, be they equal or not`(lines: [String]) throws {
      let text = (["POST / HTTP/1.1", "Host: a"] + lines + ["", ""]).joined(separator: "\r\n")
      #expect(try outcome(text) == .refused(.repeatedContentLength))
    }

    @Test func `a length over the limit is answered 413 before any of the body`() throws {
      var limits = HTTPLimits()
      limits.bodyBytes = 10
      #expect(try parsed(request("Content-Length: 10"), limits: limits).framing == .sized(10))
      #expect(try outcome(request("Content-Length: 11"), limits: limits) == .refused(.bodyTooLarge))
      #expect(try outcome(request("Content-Length: 9223372036854775807")) == .refused(.bodyTooLarge))
      #expect(HTTPParseError.bodyTooLarge.status.code == 413)
    }

    @Test(arguments: [
      Refusal(request("Content-Length: 1000\u{11}"), .controlCharacter),
      Refusal(request("\u{1}Content-Length: 1"), .controlCharacter),
      Refusal(request("Content-Length: 5\u{0}"), .controlCharacter),
    ])
    func `no control character hides the field or its value`(row: Refusal) throws { try row.check() }
  }

  @Suite struct `§6.3 Message body length` {
    @Test(arguments: ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH", "ANY"])
    func `a request without framing has no body, whatever its method`(method: String) throws {
      #expect(try parsed(request(method: method)).framing == .none)
    }

    @Test(arguments: ["GET", "HEAD", "DELETE", "OPTIONS", "TRACE"])
    func `a body is framed the same with every method`(method: String) throws {
      // Not reading it would leave it to be taken for the next request.
      #expect(try parsed(request("Content-Length: 5", method: method)).framing == .sized(5))
      #expect(try parsed(request("Transfer-Encoding: chunked", method: method)).framing == .chunked)
    }
  }
}
