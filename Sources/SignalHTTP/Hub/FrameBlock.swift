// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// How messages are framed for the subscribers of a group.
enum Wire: Hashable {
  /// One text frame per message (RFC 6455).
  case webSocket
  /// Server-sent events; `chunked` for HTTP/1.1, plain for HTTP/1.0.
  case eventStream(chunked: Bool)
}

/// Messages of one group, framed, in one run of bytes that is then shared by all who get it.
///
/// The last event of a change stays open until it is known whether another of the same transaction follows.
struct FrameBlock {
  let wire: Wire
  private let epoch: Epoch
  private var bytes: [UInt8] = []
  /// Where the payload of the open event begins.
  private var openStart: Int?
  private var openRevision: Revision = 0

  /// Room before a payload for the header of a text frame with 16-bit length; others are moved into place.
  private static let reservedHeader = 4

  init(_ wire: Wire, epoch: Epoch) {
    self.wire = wire
    self.epoch = epoch
  }

  var isEmpty: Bool { bytes.isEmpty }
  var count: Int { bytes.count }

  /// Begins an event of a change; `write` appends it without its closing brace.
  mutating func open(_ revision: Revision, _ write: (inout [UInt8]) -> Void) {
    close(more: openRevision == revision)
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
  }

  /// Appends a message that is no event of a change; with a cursor it is a point to resume from.
  mutating func append(resumeAt revision: Revision? = nil, _ write: (inout [UInt8]) -> Void) {
    close()
    let start = begin(id: revision)
    write(&bytes)
    end(start)
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
    var taken: [UInt8] = []
    swap(&taken, &bytes)
    openRevision = 0
    guard case .eventStream(chunked: true) = wire, !taken.isEmpty else { return taken }
    var chunk: [UInt8] = []
    chunk.reserveCapacity(taken.count + 16)
    taken.withView { chunk.appendChunk($0) }
    return chunk
  }

  private mutating func begin(id: Revision?) -> Int {
    switch wire {
    case .webSocket:
      bytes.append(literal: "\0\0\0\0")
    case .eventStream:
      if let id {
        bytes.append(literal: "id: ")
        Cursor(epoch: epoch, revision: id).write(to: &bytes)
        bytes.append(UInt8(ascii: "\n"))
      }
      bytes.append(literal: "data: ")
    }
    return bytes.count
  }

  private mutating func end(_ start: Int) {
    guard case .webSocket = wire else { return bytes.append(literal: "\n\n") }
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
