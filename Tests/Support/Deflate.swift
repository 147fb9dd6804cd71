// SPDX-License-Identifier: MIT
internal import CZlib

/// Decompresses messages as a client does that keeps what came before (RFC 7692 §7.2.3.2), with zlib itself.
@safe package final class ContextInflater {
  private let stream: UnsafeMutablePointer<z_stream>

  /// - Parameter windowBits: How far back messages may refer; one that refers further back is a fault.
  package convenience init(windowBits: Int32 = 15) { self.init(format: -windowBits) }

  fileprivate init(format windowBits: Int32) {
    unsafe stream = .allocate(capacity: 1)
    unsafe stream.initialize(to: z_stream())
    let status = unsafe inflateInit2_(stream, windowBits, ZLIB_VERSION, Int32(MemoryLayout<z_stream>.size))
    precondition(status == Z_OK)
  }

  deinit {
    unsafe inflateEnd(stream)
    unsafe stream.deallocate()
  }

  /// The content; nil when the message refers to what has not come, or is damaged.
  package func inflate(_ message: [UInt8]) -> [UInt8]? { run(message + [0, 0, 0xFF, 0xFF]) }

  fileprivate func run(_ bytes: [UInt8]) -> [UInt8]? {
    var input = bytes
    var content: [UInt8] = []
    let isWhole = unsafe input.withUnsafeMutableBufferPointer { bytes in
      unsafe stream.pointee.next_in = bytes.baseAddress
      unsafe stream.pointee.avail_in = UInt32(bytes.count)
      var room = [UInt8](repeating: 0, count: 1 << 16)
      repeat {
        let (status, left) = unsafe room.withUnsafeMutableBufferPointer { piece in
          unsafe stream.pointee.next_out = piece.baseAddress
          unsafe stream.pointee.avail_out = UInt32(piece.count)
          return unsafe (CZlib.inflate(stream, Z_SYNC_FLUSH), Int(stream.pointee.avail_out))
        }
        content += room[..<(room.count - left)]
        if status == Z_STREAM_END { return unsafe stream.pointee.avail_in == 0 }
        guard status == Z_OK || status == Z_BUF_ERROR else { return false }
        if left > 0 { return unsafe stream.pointee.avail_in == 0 }
      } while true
    }
    return isWhole ? content : nil
  }
}

/// The content of gzip (RFC 1952); nil when it is damaged or not whole.
package func gunzipped(_ bytes: [UInt8]) -> [UInt8]? { ContextInflater(format: 15 + 16).run(bytes) }

/// Compresses messages as a client may, with any window.
package func deflated(_ content: [UInt8], level: Int32 = 6, windowBits: Int32 = 15, memory: Int32 = 8) -> [UInt8] {
  var stream = unsafe z_stream()
  var input = content
  var output = [UInt8](repeating: 0, count: content.count + content.count / 8 + 256)
  let count = unsafe withUnsafeMutablePointer(to: &stream) { stream in
    _ = unsafe deflateInit2_(
      stream, level, Z_DEFLATED, -windowBits, memory, Z_DEFAULT_STRATEGY, ZLIB_VERSION,
      Int32(MemoryLayout<z_stream>.size))
    defer { unsafe deflateEnd(stream) }
    return unsafe input.withUnsafeMutableBufferPointer { bytes in
      unsafe output.withUnsafeMutableBufferPointer { room in
        unsafe stream.pointee.next_in = bytes.baseAddress
        unsafe stream.pointee.avail_in = UInt32(bytes.count)
        unsafe stream.pointee.next_out = room.baseAddress
        unsafe stream.pointee.avail_out = UInt32(room.count)
        _ = unsafe deflate(stream, Z_SYNC_FLUSH)
        return unsafe room.count - Int(stream.pointee.avail_out)
      }
    }
  }
  precondition(output[..<count].suffix(4).elementsEqual([0, 0, 0xFF, 0xFF]))
  return Array(output[..<(count - 4)])
}
