// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// How messages are framed for the subscribers of a group.
enum Wire: Hashable {
  /// Text frames (RFC 6455): one message each, or, `batched`, as many as are available, separated by line feeds.
  case webSocket(batched: Bool)
  /// Server-sent events; `chunked` for HTTP/1.1, plain for HTTP/1.0.
  case eventStream(chunked: Bool)
}

/// Where an event of a change ends in a block, for subscribers that want a fixed number of events.
struct EventMark {
  let end: Int
  /// The revision to resume from after it; nil after an event without a cursor.
  let resumeAt: Revision?
}

/// Finished frames, shared by all their receivers: pieces that are sent one after the other.
struct Frames {
  let first: [UInt8]
  let rest: [[UInt8]]
  /// The bytes of all pieces.
  let count: Int

  init(_ first: [UInt8], rest: [[UInt8]] = []) {
    self.first = first
    self.rest = rest
    count = rest.reduce(first.count) { $0 + $1.count }
  }

  var isEmpty: Bool { count == 0 }
}

/// JSON being written into a frame.
///
/// A large value is not copied: it is sent from where the store keeps it. A thousand groups that send the same change
/// then take no more memory for it than one.
struct FrameText {
  /// All but the large values.
  var bytes: [UInt8] = []
  /// The large values, each with the number of `bytes` before it.
  fileprivate(set) var spliced: [(position: Int, value: [UInt8])] = []
  fileprivate(set) var splicedBytes = 0
  /// Whether large values are kept out of `bytes`.
  fileprivate let splices: Bool

  /// Values of this size or more are not copied: copying that much takes several times as long as a system call takes
  /// for another piece.
  static let largeValue = 16 << 10

  fileprivate init(splices: Bool) { self.splices = splices }

  mutating func append(_ value: JSONText) {
    guard splices, value.bytes.count >= Self.largeValue else { return bytes.appendJSON(value) }
    spliced.append((bytes.count, value.bytes))
    splicedBytes += value.bytes.count
  }

  /// Adjusts to a move of `bytes`, from a position on.
  fileprivate mutating func shift(from position: Int, by distance: Int) {
    for index in spliced.indices.reversed() {
      guard spliced[index].position >= position else { return }
      spliced[index].position += distance
    }
  }

  /// Returns everything and is empty again, owning no memory.
  fileprivate mutating func take() -> Frames {
    var text = FrameText(splices: splices)
    swap(&text, &self)
    guard !text.spliced.isEmpty else { return Frames(text.bytes) }
    var pieces: [[UInt8]] = []
    var position = 0
    for (end, value) in text.spliced {
      if position < end { pieces.append(Array(text.bytes[position..<end])) }
      pieces.append(value)
      position = end
    }
    pieces.append(Array(text.bytes[position...]))
    return Frames(pieces[0], rest: Array(pieces[1...]))
  }
}

/// Messages of one group, framed, shared by all their receivers.
///
/// The last event of a change stays open until it is known whether another of the same transaction follows.
struct FrameBlock {
  let wire: Wire
  private let epoch: Epoch
  private let isCounted: Bool
  private var text: FrameText
  private var marks: [EventMark] = []
  private var events = Events()
  /// Where the payload of the open event begins.
  private var openStart: Start?
  private var openRevision: Revision = 0
  /// Whether events of different revisions form one undivided unit.
  private var isInUnit = false
  /// Where the payload of the current text frame begins, when messages are batched.
  private var frameStart: Start?

  /// How many events of changes and messages there are in a block, and how many gaps.
  struct Events {
    var count = 0
    var gaps = 0
  }

  /// A position: in the text, and after how many spliced bytes, which are not in it.
  private struct Start {
    let position: Int
    let spliced: Int
  }

  /// Room before a payload for the header of a text frame with 16-bit length; for other headers the payload is moved.
  private static let reservedHeader = 4
  /// Bytes after which a batch ends; its last message may exceed it.
  static let batchBytes = 48 << 10

  /// - Parameter isCounted: Whether the end of each event is recorded.
  ///
  ///   Its messages are not batched and its stream is not chunked then, so that it can be cut.
  init(_ wire: Wire, epoch: Epoch, isCounted: Bool = false) {
    self.wire = isCounted && wire == .webSocket(batched: true) ? .webSocket(batched: false) : wire
    self.epoch = epoch
    self.isCounted = isCounted
    // A block that is cut at its marks is in one piece.
    text = FrameText(splices: !isCounted)
  }

  var count: Int { text.bytes.count + text.splicedBytes }

  /// Begins an event of a change; `write` appends it without its closing brace.
  ///
  /// - Parameter room: Its approximate size in bytes. An empty block owns no memory, and would grow in steps.
  mutating func open(_ revision: Revision, room: @autoclosure () -> Int = 0, _ write: (inout FrameText) -> Void) {
    if text.bytes.isEmpty { text.bytes.reserveCapacity(room()) }
    close(more: isInUnit || openRevision == revision)
    events.count += 1
    openStart = begin(id: nil)
    openRevision = revision
    write(&text)
  }

  /// Appends a message of a signal.
  mutating func appendMessage(_ write: (inout FrameText) -> Void) {
    events.count += 1
    append(write)
  }

  /// Appends a gap.
  mutating func appendGap(resumeAt revision: Revision?, _ write: (inout FrameText) -> Void) {
    events.gaps += 1
    append(resumeAt: revision, name: "gap", write)
  }

  /// Returns how many events have been written since the last time.
  mutating func takeEvents() -> Events {
    defer { events = Events() }
    return events
  }

  /// Ends the open event, if there is one.
  mutating func close(more: Bool = false) {
    guard let start = openStart else { return }
    openStart = nil
    LiveEventWriter.close(more: more, &text.bytes)
    if case .eventStream = wire, !more {
      text.bytes.append(literal: "\nid: ")
      Cursor(epoch: epoch, revision: openRevision).write(to: &text.bytes)
    }
    end(start)
    if isCounted { marks.append(EventMark(end: text.bytes.count, resumeAt: more ? nil : openRevision)) }
  }

  /// Begins a unit: up to `endUnit`, all events but the last carry `more`.
  mutating func beginUnit() {
    close()
    isInUnit = true
  }

  mutating func endUnit() {
    isInUnit = false
    close()
  }

  /// Appends a message that is not an event of a change; with a cursor it is a point to resume from.
  ///
  /// - Parameter name: Its type in an event stream, when it is not the default.
  mutating func append(
    resumeAt revision: Revision? = nil, name: StaticString? = nil, _ write: (inout FrameText) -> Void
  ) {
    close()
    let start = begin(id: revision, name: name)
    write(&text)
    end(start)
  }

  /// Appends an event of a snapshot, which carries no cursor.
  mutating func appendProperty(_ write: (inout FrameText) -> Void) {
    append(write)
    if isCounted { marks.append(EventMark(end: text.bytes.count, resumeAt: nil)) }
  }

  /// Appends a bookmark: a message on a WebSocket, an `id` without data in an event stream.
  mutating func appendBookmark(_ revision: Revision, _ write: (inout FrameText) -> Void) {
    close()
    guard case .eventStream = wire else { return append(write) }
    text.bytes.append(literal: "id: ")
    Cursor(epoch: epoch, revision: revision).write(to: &text.bytes)
    text.bytes.append(literal: "\n\n")
  }

  /// Returns the finished frames and is empty again, owning no memory.
  mutating func take() -> Frames {
    close()
    endFrame()
    openRevision = 0
    let taken = text.take()
    return isCounted ? taken : wire.chunked(taken)
  }

  /// Returns where the events end in the frames that are taken next.
  mutating func takeMarks() -> [EventMark] {
    close()
    guard isCounted else { return [] }
    var taken: [EventMark] = []
    swap(&taken, &marks)
    return taken
  }

  private mutating func begin(id: Revision?, name: StaticString? = nil) -> Start {
    switch wire {
    case .webSocket(batched: false):
      text.bytes.append(literal: "\0\0\0\0")
    case .webSocket(batched: true):
      if let frameStart, length(from: frameStart) < Self.batchBytes {
        text.bytes.append(UInt8(ascii: "\n"))
      } else {
        endFrame()
        text.bytes.append(literal: "\0\0\0\0")
        frameStart = here
      }
    case .eventStream:
      if let id {
        text.bytes.append(literal: "id: ")
        Cursor(epoch: epoch, revision: id).write(to: &text.bytes)
        text.bytes.append(UInt8(ascii: "\n"))
      }
      if let name {
        text.bytes.append(literal: "event: ")
        text.bytes.append(literal: name)
        text.bytes.append(UInt8(ascii: "\n"))
      }
      text.bytes.append(literal: "data: ")
    }
    return here
  }

  private var here: Start { Start(position: text.bytes.count, spliced: text.splicedBytes) }

  private func length(from start: Start) -> Int {
    text.bytes.count - start.position + text.splicedBytes - start.spliced
  }

  private mutating func end(_ start: Start) {
    switch wire {
    case .webSocket(batched: false): frame(start)
    case .webSocket(batched: true): break
    case .eventStream: text.bytes.append(literal: "\n\n")
    }
  }

  private mutating func endFrame() {
    guard let start = frameStart else { return }
    frameStart = nil
    frame(start)
  }

  /// Writes the header of the text frame whose payload begins there and ends here.
  private mutating func frame(_ start: Start) {
    let length = length(from: start)
    let header = start.position - Self.reservedHeader
    switch FrameWriter.headerCount(payloadCount: length) {
    case Self.reservedHeader:
      text.bytes[header] = 0x80 | Opcode.text.rawValue
      text.bytes[header + 1] = 126
      text.bytes[header + 2] = UInt8(truncatingIfNeeded: length >> 8)
      text.bytes[header + 3] = UInt8(truncatingIfNeeded: length)
    default:
      // Shorter than 126 bytes or longer than 65 535: the payload moves by the difference.
      var other: [UInt8] = []
      FrameWriter.appendHeader(.text, payloadCount: length, to: &other)
      text.bytes.replaceSubrange(header..<start.position, with: other)
      text.shift(from: start.position, by: other.count - Self.reservedHeader)
    }
  }
}

extension Wire {
  /// Bytes of a stream as they are sent: in a chunk, if the stream is chunked.
  func chunked(_ bytes: [UInt8]) -> [UInt8] {
    guard case .eventStream(chunked: true) = self, !bytes.isEmpty else { return bytes }
    var chunk: [UInt8] = []
    chunk.reserveCapacity(bytes.count + 16)
    bytes.withView { chunk.appendChunk($0) }
    return chunk
  }

  /// As above, with several pieces in one chunk.
  func chunked(_ frames: Frames) -> Frames {
    guard case .eventStream(chunked: true) = self, !frames.isEmpty else { return frames }
    if frames.rest.isEmpty { return Frames(chunked(frames.first)) }
    var first: [UInt8] = []
    first.appendChunkSize(frames.count)
    first += frames.first
    return Frames(first, rest: frames.rest + [Array("\r\n".utf8)])
  }
}
