// SPDX-License-Identifier: MIT
import Testing

@testable import SignalHTTP

@Suite("traceparent, W3C Trace Context §3.2") struct TraceParentTests {
  private static let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
  private static let parent = "00f067aa0ba902b7"

  private func read(_ text: String) -> TraceParent? { Array(text.utf8).withView { TraceParent($0) } }

  @Test func `a field of version 00 has a trace, a parent and flags`() throws {
    let field = try #require(read("00-\(Self.trace)-\(Self.parent)-01"))
    #expect(field.traceID == Self.trace && field.parentID == Self.parent && field.isSampled)
    #expect(field.description == "00-\(Self.trace)-\(Self.parent)-01")
    #expect(read("00-\(Self.trace)-\(Self.parent)-00")?.isSampled == false)
    // Flags that are not known are ignored.
    #expect(read("00-\(Self.trace)-\(Self.parent)-fe")?.isSampled == false)
  }

  @Test func `of a later version what version 00 has is read`() {
    #expect(read("cc-\(Self.trace)-\(Self.parent)-01")?.traceID == Self.trace)
    #expect(read("cc-\(Self.trace)-\(Self.parent)-01-what-the-future-will-be-like")?.traceID == Self.trace)
    #expect(read("cc-\(Self.trace)-\(Self.parent)-01.what") == nil)
  }

  @Test(arguments: [
    "", "00", "00-\(trace)-\(parent)", "00-\(trace)-\(parent)-", "00-\(trace)-\(parent)-0", "00-\(trace)-\(parent)-011",
    "00-\(trace)-\(parent)-01-", "00-\(trace)-\(parent)-01-x", "ff-\(trace)-\(parent)-01", "0-\(trace)-\(parent)-001",
    "00-\(trace.uppercased())-\(parent)-01", "00-\(trace)-\(parent.uppercased())-01", "0A-\(trace)-\(parent)-01",
    "00-\(trace)-\(parent)-0A", "00-\(String(repeating: "0", count: 32))-\(parent)-01",
    "00-\(trace)-\(String(repeating: "0", count: 16))-01", "00-\(trace.dropLast())g-\(parent)-01",
    "00-\(trace)-\(parent.dropLast())--01", "00_\(trace)-\(parent)-01", "00-\(trace)_\(parent)-01",
    "00-\(trace)-\(parent)_01", " 00-\(trace)-\(parent)-01", "00-\(trace.dropLast())-\(parent)-01xx",
  ])
  func `what is not valid is no trace`(text: String) { #expect(read(text) == nil) }

  @Test func `of two fields none counts`() throws {
    let line = "traceparent: 00-\(Self.trace)-\(Self.parent)-01\r\n"
    for (lines, isRead) in [(line, true), (line + line, false), ("", false)] {
      let bytes = Array("GET / HTTP/1.1\r\nHost: x\r\n\(lines)\r\n".utf8)
      try bytes.withView { view in
        var parser = RequestHeadParser(limits: HTTPLimits(), isSecured: false)
        let head = try parser.parse(view)
        #expect((head.traceParent() != nil) == isRead)
      }
    }
  }
}
