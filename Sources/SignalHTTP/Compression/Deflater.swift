// SPDX-License-Identifier: MIT
internal import CZlib

/// Compresses bytes by DEFLATE (RFC 1951).
///
/// Used by one thread at a time. What it holds is allocated once: see ``Window``.
@safe package final class Deflater {
  /// How far back the compressed bytes refer, and with that, what the compressor holds.
  package enum Window: Int32 {
    /// 4 KiB back; 40 KB.
    ///
    /// As good as the large one for messages that resemble each other: the compressed events of a group are 2 to 4 %
    /// larger. Within the window that small clients ask for (RFC 7692 §7.1.2.1).
    case small = 12
    /// 32 KiB back; 270 KB.
    case large = 15

    /// The logarithm of the compressor's memory for its tables, minus 9.
    ///
    /// With small tables, beginning anew writes to 8 KB instead of 64: less of what the processor has cached is lost.
    fileprivate var tables: Int32 { self == .small ? 5 : 8 }
  }

  /// What is around the compressed blocks.
  package enum Format {
    /// Nothing.
    case raw
    /// A header and a trailer of gzip (RFC 1952).
    case gzip
  }

  // Its state refers to its address.
  private let stream: UnsafeMutablePointer<z_stream>

  /// The size of the pieces in which output is taken from zlib.
  private static let pieceBytes = 4096

  /// Creates a compressor that has compressed nothing yet.
  ///
  /// - Parameter level: From 1, the fastest, to 9.
  package init(_ format: Format, window: Window, level: Int32 = 1) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let bits = format == .gzip ? window.rawValue + 16 : window.rawValue
    let status = unsafe deflateInit2_(
      stream, level, Z_DEFLATED, format == .gzip ? bits : -bits, window.tables, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    // As for every other allocation of the process, there is no way to go on without the memory.
    precondition(status == Z_OK, "zlib has no memory for a compressor, or is of another version")
  }

  deinit {
    unsafe deflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// Begins anew: what is compressed from here on refers to nothing before.
  package func reset() { unsafe deflateReset(stream) }

  /// Compresses a piece, of which a part may be kept until ``flush(to:)`` or ``finish(to:)``.
  package func append(_ bytes: Span<UInt8>, to output: inout [UInt8]) {
    // zlib reads the bytes during the call only.
    unsafe bytes.withUnsafeBufferPointer { unsafe run($0, Z_NO_FLUSH, to: &output) }
  }

  /// Ends a part: everything appended is in the output, which ends in an empty block without compression, `00 00 FF FF`.
  package func flush(to output: inout [UInt8]) {
    unsafe run(UnsafeBufferPointer(start: nil, count: 0), Z_SYNC_FLUSH, to: &output)
  }

  /// Ends the stream; ``reset()`` begins another.
  package func finish(to output: inout [UInt8]) {
    unsafe run(UnsafeBufferPointer(start: nil, count: 0), Z_FINISH, to: &output)
  }

  private func run(_ input: UnsafeBufferPointer<UInt8>, _ flush: Int32, to output: inout [UInt8]) {
    unsafe stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress)
    unsafe stream.pointee.avail_in = UInt32(input.count)
    // zlib writes to this memory only, and what it has written is copied before it is gone.
    unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: Self.pieceBytes) { piece in
      repeat {
        unsafe stream.pointee.next_out = piece.baseAddress
        unsafe stream.pointee.avail_out = UInt32(Self.pieceBytes)
        _ = unsafe deflate(stream, flush)
        let written = unsafe Self.pieceBytes - Int(stream.pointee.avail_out)
        unsafe output.append(contentsOf: piece[..<written])
      } while unsafe stream.pointee.avail_out == 0
    }
    unsafe stream.pointee.next_in = nil
  }
}
