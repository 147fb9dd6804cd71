// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Testing

@testable import SignalHTTP

@Suite struct FrameBlockTests {
  private let epoch = Epoch("testtest")!

  private func text(_ block: inout FrameBlock) -> String { String(decoding: block.take(), as: UTF8.self) }

  @Test(arguments: [0, 1, 124, 125, 126, 127, 65_535, 65_536, 70_000])
  func `a frame has the header of its length, and nothing before or behind`(length: Int) throws {
    var block = FrameBlock(.webSocket(batched: false), epoch: epoch)
    let payload = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    block.append { $0 += payload }
    block.append { $0 += payload }
    var expected: [UInt8] = []
    FrameWriter.append(.text, payload, to: &expected)
    FrameWriter.append(.text, payload, to: &expected)
    #expect(block.take() == expected)
    #expect(block.isEmpty)
  }

  @Test func `all but the last event of a revision say that more follows`() {
    var block = FrameBlock(.eventStream(chunked: false), epoch: epoch)
    block.open(5) { $0 += Array(#"{"a":1"#.utf8) }
    block.open(5) { $0 += Array(#"{"b":1"#.utf8) }
    block.open(6) { $0 += Array(#"{"c":1"#.utf8) }
    #expect(
      text(&block) == """
        data: {"a":1,"more":true}

        data: {"b":1}
        id: testtest.5

        data: {"c":1}
        id: testtest.6


        """)
  }

  @Test func `a block of an event stream is one chunk`() {
    var block = FrameBlock(.eventStream(chunked: true), epoch: epoch)
    block.append(resumeAt: 3) { $0 += Array("{}".utf8) }
    #expect(text(&block) == "19\r\nid: testtest.3\ndata: {}\n\n\r\n")
    #expect(block.take().isEmpty)
  }

  @Test func `a bookmark in an event stream is an id without data`() {
    var block = FrameBlock(.eventStream(chunked: false), epoch: epoch)
    block.appendBookmark(9) { $0 += Array("unused".utf8) }
    #expect(text(&block) == "id: testtest.9\n\n")
  }
}
