// SPDX-License-Identifier: MIT
import SignalHTTP
import Testing

@Suite struct `Errors of the HTTP parsers` {
  @Test func `an error is one byte`() {
    #expect(MemoryLayout<HTTPParseError>.size <= 16)
    #expect(MemoryLayout<HTTPFieldError>.size <= 16)
  }

  @Test(arguments: HTTPParseError.allCases) func `a code is written in snake case`(error: HTTPParseError) {
    #expect(error.code.wholeMatch(of: /[a-z]+(_[a-z0-9]+)*/) != nil)
  }

  @Test func `every code is another`() {
    #expect(Set(HTTPParseError.allCases.map(\.code)).count == HTTPParseError.allCases.count)
  }

  @Test(arguments: HTTPParseError.allCases) func `a description is a sentence that names a section`(
    error: HTTPParseError
  ) throws {
    #expect(error.description.contains(/\(RFC \d{4} §[0-9.]+\)\.$/))
    #expect(error.description.first?.isUppercase == true)
  }

  @Test(arguments: HTTPParseError.allCases) func `a status tells whose fault it is`(error: HTTPParseError) {
    let expected: UInt16 =
      switch error {
      case .bodyTooLarge: 413
      case .targetTooLong: 414
      case .unsupportedExpectation: 417
      case .securedTarget: 421
      case .headTooLarge, .tooManyFields, .trailersTooLarge: 431
      case .unsupportedTransferCoding, .unsupportedTunnel: 501
      case .unsupportedVersion: 505
      default: 400
      }
    #expect(error.status.code == expected)
  }

  @Test func `the limits are those of the documentation`() {
    let limits = HTTPLimits()
    #expect(limits.headBytes == 16_384 && limits.targetBytes == 8192 && limits.methodBytes == 32)
    #expect(limits.fields == 100 && limits.emptyLines == 4)
    #expect(limits.bodyBytes == 1_114_112 && limits.chunkExtensionBytes == 4096 && limits.trailerBytes == 4096)
  }
}
