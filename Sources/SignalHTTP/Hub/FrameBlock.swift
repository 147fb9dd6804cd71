// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// How messages are framed for the subscribers of a group.
enum Wire: Hashable {
  /// Text frames (RFC 6455): one message each, or, `batched`, as many as there are, with line feeds between them.
  case webSocket(batched: Bool)
  /// Server-sent events; `chunked` for HTTP/1.1, plain for HTTP/1.0.
  case eventStream(chunked: Bool)
}

/// Where an event of a change ends in a block, for subscribers who want so many events and no more.
struct EventMark {
  let end: Int
  /// The revision to resume from after it; nil after one that gives no cursor.
  let resumeAt: Revision?
}

/// Messages of one group, framed, in one run of bytes that is then shared by all who get it.
///
/// The last event of a change stays open until it is known whether another of the same transaction follows.
struct FrameBlock {
  let wire: Wire
  private let epoch: Epoch
  private let isCounted: Bool
  private var bytes: [UInt8] = []
  private var marks: [EventMark] = []
  /// Where the payload of the open event begins.
  private var openStart: Int?
  private var openRevision: Revision = 0
  /// Events of different revisions are one undivided unit.
  private var isInUnit = false
  /// Where the payload of the text frame under way begins, when messages are batched.
  private var frameStart: Int?

  /// Room before a payload for the header of a text frame with 16-bit length; others are moved into place.
  private static let reservedHeader = 4
  /// Bytes after which a batch ends; its last message may go over it.
  static let batchBytes = 48 << 10

  /// - Parameter isCounted: Whether it is told where each event ends.
  ///
  ///   Its messages are not batched and its stream not chunked then, so that it can be cut.
  init(_ wire: Wire, epoch: Epoch, isCounted: Bool = false) {
    self.wire = isCounted && wire == .webSocket(batched: true) ? .webSocket(batched: false) : wire
    self.epoch = epoch
    self.isCounted = isCounted
  }

  var isEmpty: Bool { bytes.isEmpty }
  var count: Int { bytes.count }

  /// Begins an event of a change; `write` appends it without its closing brace.
  ///
  /// - Parameter room: About how many bytes it will have. A block that is empty owns no memory, and would grow in steps.
  mutating func open(_ revision: Revision, room: @autoclosure () -> Int = 0, _ write: (inout [UInt8]) -> Void) {
    if bytes.isEmpty { bytes.reserveCapacity(room()) }
    close(more: isInUnit || openRevision == revision)
    openStart = begin(id: nil)
    openRevision = revision
    write(&bytes)
  }

  /// Ends the open event, if there is one.
  mutating func close(more: Bool = false) {
    guard let start = openStart else { return }
    openStart = nil
    LiveEventWriter.close(more: more, &bytes)
    if case .eventStream = wire, !more {
      bytes.append(literal: "\nid: ")
      Cursor(epoch: epoch, revision: openRevision).write(to: &bytes)
    }
    end(start)
    if isCounted { marks.append(EventMark(end: bytes.count, resumeAt: more ? nil : openRevision)) }
  }

  /// From here to `endUnit`, all events but the last say that more follows.
  mutating func beginUnit() {
    close()
    isInUnit = true
  }

  mutating func endUnit() {
    isInUnit = false
    close()
  }

  /// Appends a message that is no event of a change; with a cursor it is a point to resume from.
  ///
  /// - Parameter name: Its type in an event stream, when it is not the default.
  mutating func append(resumeAt revision: Revision? = nil, name: StaticString? = nil, _ write: (inout [UInt8]) -> Void)
  {
    close()
    let start = begin(id: revision, name: name)
    write(&bytes)
    end(start)
  }

  /// Appends an event of a snapshot, which gives no cursor.
  mutating func appendProperty(_ write: (inout [UInt8]) -> Void) {
    append(write)
    if isCounted { marks.append(EventMark(end: bytes.count, resumeAt: nil)) }
  }

  /// Appends a bookmark: a message on a WebSocket, an `id` without data in an event stream.
  mutating func appendBookmark(_ revision: Revision, _ write: (inout [UInt8]) -> Void) {
    close()
    guard case .eventStream = wire else { return append(write) }
    bytes.append(literal: "id: ")
    Cursor(epoch: epoch, revision: revision).write(to: &bytes)
    bytes.append(literal: "\n\n")
  }

  /// Hands out the finished bytes and is empty again, owning no memory.
  mutating func take() -> [UInt8] {
    close()
    endFrame()
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    openRevision = 0
    return isCounted ? taken : wire.chunked(taken)
  }

  /// Hands out where the events end of what is taken next.
  mutating func takeMarks() -> [EventMark] {
    close()
    guard isCounted else { return [] }
    var taken: [EventMark] = []
    swap(&taken, &marks)
    return taken
  }

  private mutating func begin(id: Revision?, name: StaticString? = nil) -> Int {
    switch wire {
    case .webSocket(batched: false):
      bytes.append(literal: "\0\0\0\0")
    case .webSocket(batched: true):
      if let frameStart, bytes.count - frameStart < Self.batchBytes {
        bytes.append(UInt8(ascii: "\n"))
      } else {
        endFrame()
        bytes.append(literal: "\0\0\0\0")
        frameStart = bytes.count
      }
    case .eventStream:
      if let id {
        bytes.append(literal: "id: ")
        Cursor(epoch: epoch, revision: id).write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
      }
      if let name {
        bytes.append(literal: "event: ")
        bytes.append(literal: name)
        bytes.append(UInt8(ascii: "\n"))
      }
      bytes.append(literal: "data: ")
    }
    return bytes.count
  }

  private mutating func end(_ start: Int) {
    switch wire {
    case .webSocket(batched: false): frame(start)
    case .webSocket(batched: true): break
    case .eventStream: bytes.append(literal: "\n\n")
    }
  }

  private mutating func endFrame() {
    guard let start = frameStart else { return }
    frameStart = nil
    frame(start)
  }

  /// Writes the header of the text frame whose payload begins there and ends here.
  private mutating func frame(_ start: Int) {
    let length = bytes.count - start
    switch FrameWriter.headerCount(payloadCount: length) {
    case Self.reservedHeader:
      bytes[start - 4] = 0x80 | Opcode.text.rawValue
      bytes[start - 3] = 126
      bytes[start - 2] = UInt8(truncatingIfNeeded: length >> 8)
      bytes[start - 1] = UInt8(truncatingIfNeeded: length)
    default:
      // Shorter than 126 bytes or longer than 65 535: the payload moves by the difference.
      var header: [UInt8] = []
      FrameWriter.appendHeader(.text, payloadCount: length, to: &header)
      bytes.replaceSubrange(start - Self.reservedHeader..<start, with: header)
    }
  }
}

extension Wire {
  /// Bytes of a stream as they go out: in a chunk, where there are chunks.
  func chunked(_ bytes: [UInt8]) -> [UInt8] {
    guard case .eventStream(chunked: true) = self, !bytes.isEmpty else { return bytes }
    var chunk: [UInt8] = []
    chunk.reserveCapacity(bytes.count + 16)
    bytes.withView { chunk.appendChunk($0) }
    return chunk
  }
}
