// SPDX-License-Identifier: MIT
internal import CZlib

/// Why a compressed message cannot be had.
package enum InflateError: Error, Equatable, Sendable {
  /// The bytes are not DEFLATE, or end in the middle of a block.
  case damaged
  /// Its content is larger than it may be.
  case tooLarge
  /// It consists of more blocks than any compressor makes of content that is not too large.
  case tooManyBlocks
}

/// Decompresses the messages of permessage-deflate (RFC 7692 §7.2.2), each by itself.
///
/// One is enough for all connections of a loop, since none of them refers to an earlier message. Used by one thread at a
/// time; it holds 40 KB.
@safe package final class Inflater {
  // Its state refers to its address.
  private let stream: UnsafeMutablePointer<z_stream>

  /// The size of the pieces in which output is taken from zlib.
  private static let pieceBytes = 16 << 10
  /// The number of blocks of a message at most; about 12 ms, as a block of nine bytes that says nothing costs 0.75 µs.
  ///
  /// A compressor with the least memory begins a block every 128 symbols.
  package static let mostBlocks = 16 << 10

  /// Blocks of the message that was decompressed last.
  private var blocks = 0
  private var contentBytes = 0

  /// The cost of the message that was decompressed last, in the units of `TurnWork`: 2 ns for each byte of its content,
  /// and 0.75 µs for each block.
  package var cost: Int { 100 + contentBytes / 5 + blocks * 75 }

  /// Creates a decompressor for windows of any size.
  package init() {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let status = unsafe inflateInit2_(stream, -15, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(status == Z_OK, "zlib has no memory for a decompressor, or is of another version")
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Appends the content of a message.
  ///
  /// - Parameter limit: The number of bytes that it may have; after that many and one more piece nothing further is
  ///   decompressed.
  package func inflate(_ message: Span<UInt8>, limit: Int, to output: inout [UInt8]) throws(InflateError) {
    unsafe inflateReset(stream)
    blocks = 0
    let begin = output.count
    let end = begin + limit
    defer { contentBytes = output.count - begin }
    var atEnd = false
    // zlib reads the bytes during the calls only.
    try unsafe message.withUnsafeBufferPointer { bytes throws(InflateError) in
      atEnd = try unsafe run(bytes, isTail: false, end, to: &output)
    }
    // The message ended with a final block: nothing of the empty block was removed from it (§7.2.3.5).
    if atEnd { return }
    let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
    try unsafe tail.withUnsafeBufferPointer { bytes throws(InflateError) in
      _ = try unsafe run(bytes, isTail: true, end, to: &output)
    }
  }

  /// Decompresses a piece of the message; true when it ends with the end of a stream.
  private func run(
    _ input: UnsafeBufferPointer<UInt8>, isTail: Bool, _ end: Int, to output: inout [UInt8]
  ) throws(InflateError) -> Bool {
    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    unsafe stream.pointee.avail_in = UInt32(input.count)
    defer { unsafe stream.pointee.next_in = nil }
    while true {
      let (status, room) = fill(&output)
      guard output.count <= end else { throw .tooLarge }
      switch status {
      case Z_OK, Z_BUF_ERROR:
        // Bit 7: it stopped between two blocks; the lowest: how many bits of the last byte are not used.
        let place = unsafe stream.pointee.data_type
        let isBetween = place & 0x80 != 0
        if isBetween { blocks += 1 }
        // Bit 6: the block was a final one, and the next call ends the stream.
        if isBetween, place & 0x40 != 0 { continue }
        if unsafe stream.pointee.avail_in == 0, room > 0 {
          // The rest of the message would be a block that has begun.
          guard !isTail || isBetween && place & 7 == 0 else { throw .damaged }
          return false
        }
      case Z_STREAM_END:
        blocks += 1
        unsafe inflateReset(stream)
        if unsafe stream.pointee.avail_in == 0 { return true }
      default: throw .damaged
      }
      guard blocks <= Self.mostBlocks else { throw .tooManyBlocks }
    }
  }

  /// Decompresses up to the end of a block, of the input, or of the room for a piece; returns the room left.
  private func fill(_ output: inout [UInt8]) -> (status: Int32, room: Int) {
    // zlib writes to this memory only, and what it has written is copied before it is gone.
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.pieceBytes) { piece in
      unsafe stream.pointee.next_out = piece.baseAddress
      unsafe stream.pointee.avail_out = UInt32(Self.pieceBytes)
      let status = unsafe CZlib.inflate(stream, Z_BLOCK)
      let room = unsafe Int(stream.pointee.avail_out)
      unsafe output.append(contentsOf: piece[..<(Self.pieceBytes - room)])
      return (status, room)
    }
  }
}
