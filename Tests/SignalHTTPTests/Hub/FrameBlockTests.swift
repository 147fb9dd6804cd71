// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import Testing

@testable import SignalHTTP

@Suite struct FrameBlockTests {
  private let epoch = Epoch("testtest")!

  private func bytes(_ block: inout FrameBlock) -> [UInt8] {
    let frames = block.take()
    let bytes = frames.first + frames.rest.joined()
    #expect(frames.count == bytes.count)
    return bytes
  }

  private func text(_ block: inout FrameBlock) -> String { String(decoding: bytes(&block), as: UTF8.self) }

  @Test(arguments: [0, 1, 124, 125, 126, 127, 65_535, 65_536, 70_000])
  func `a frame has the header of its length, and nothing before or behind`(length: Int) throws {
    var block = FrameBlock(.webSocket(batched: false), epoch: epoch)
    let payload = [UInt8](repeating: UInt8(ascii: "x"), count: length)
    block.append { $0.bytes += payload }
    block.append { $0.bytes += payload }
    var expected: [UInt8] = []
    FrameWriter.append(.text, payload, to: &expected)
    FrameWriter.append(.text, payload, to: &expected)
    #expect(bytes(&block) == expected)
    #expect(block.count == 0)
  }

  @Test func `all but the last event of a revision say that more follows`() {
    var block = FrameBlock(.eventStream(chunked: false), epoch: epoch)
    block.open(5) { $0.bytes += Array(#"{"a":1"#.utf8) }
    block.open(5) { $0.bytes += Array(#"{"b":1"#.utf8) }
    block.open(6) { $0.bytes += Array(#"{"c":1"#.utf8) }
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
    block.append(resumeAt: 3) { $0.bytes += Array("{}".utf8) }
    #expect(text(&block) == "19\r\nid: testtest.3\ndata: {}\n\n\r\n")
    #expect(block.take().isEmpty)
  }

  @Test func `a bookmark in an event stream is an id without data`() {
    var block = FrameBlock(.eventStream(chunked: false), epoch: epoch)
    block.appendBookmark(9) { $0.bytes += Array("unused".utf8) }
    #expect(text(&block) == "id: testtest.9\n\n")
  }

  private static let wires: [Wire] = [
    .webSocket(batched: false), .webSocket(batched: true), .eventStream(chunked: false), .eventStream(chunked: true),
  ]

  /// The bytes of a wire do not depend on what is copied.
  @Test(arguments: wires, [0, 1, 2, 100, 40_000])
  func `a large value goes out from where it is, in the same bytes`(wire: Wire, before: Int) throws {
    let sizes = [before, FrameText.largeValue - 1, FrameText.largeValue, 70_000, 5, 200_000]
    let values = sizes.map { JSONText(String(repeating: "v", count: $0)) }
    var block = FrameBlock(wire, epoch: epoch)
    var copying = FrameBlock(wire, epoch: epoch)
    for (number, value) in values.enumerated() {
      let revision = Revision(UInt64(number / 2 + 1))
      block.open(revision) { text in
        text.bytes += Array(#"{"value":"#.utf8)
        text.append(value)
      }
      copying.open(revision) { text in
        text.bytes += Array(#"{"value":"#.utf8)
        text.bytes.appendJSON(value)
      }
    }
    let size = block.count
    let frames = block.take()
    let expected = copying.take()
    #expect(expected.rest.isEmpty && size <= frames.count)
    #expect(frames.first + frames.rest.joined() == expected.first)
    #expect(frames.count == expected.count && block.count == 0 && block.take().isEmpty)
    let large = values.filter { $0.bytes.count >= FrameText.largeValue }
    let copied = (frames.rest + [frames.first]).reduce(0) { $0 + $1.count } - large.reduce(0) { $0 + $1.bytes.count }
    #expect(large.allSatisfy { value in frames.rest.contains { isSame($0, value.bytes) } })
    #expect(copied < expected.count - 250_000)
  }

  private func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
    // Addresses are compared, nothing is read.
    unsafe a.withUnsafeBufferPointer { a in unsafe b.withUnsafeBufferPointer { unsafe a.baseAddress == $0.baseAddress }
    }
  }

  @Test func `what is cut at its marks is in one piece`() {
    var block = FrameBlock(.webSocket(batched: true), epoch: epoch, isCounted: true)
    block.open(1) { $0.append(JSONText(String(repeating: "v", count: 100_000))) }
    let marks = block.takeMarks()
    let frames = block.take()
    #expect(frames.rest.isEmpty && marks.map(\.end) == [frames.count])
  }
}
