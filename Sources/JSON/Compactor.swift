// SPDX-License-Identifier: MIT

/// Collects what is left of a source when insignificant white space is removed, while it is being validated.
///
/// Nothing is copied until there is white space *inside* a text; then a buffer of the size of the source takes the
/// runs between the gaps, and the result is copied from it to storage of exactly its size.
///
/// Safe because every write goes to `used..<used + n` with `used` never above the source offset it copies from, so it
/// ends inside a buffer that is as large as the source.
@safe
struct Compactor: ~Copyable {
  private var buffer: UnsafeMutableRawPointer? = nil
  /// Bytes in the buffer.
  private var used = 0
  /// The start of the run that comes next, in the source.
  private var runStart: Int

  /// - Parameter start: Where in the source the text begins.
  init(from start: Int = 0) { runStart = start }

  /// Whether there has been no white space before the end of the value.
  var isCompact: Bool { runStart == 0 }

  deinit {
    unsafe buffer?.deallocate()
  }

  /// Steps over white space at `start`, ends the run before it, and returns where the next one starts, at a byte that
  /// is not white space.
  @inline(never)
  mutating func skipGap(_ source: Span<UInt8>, from start: Int) throws(JSONError) -> Int {
    let end = source.skipWhiteSpace(from: start)
    guard end < source.count else { throw JSONError(.unexpectedEnd, at: end) }
    if end > start {
      if start > runStart { copyRun(source, to: start) }
      runStart = end
    }
    return end
  }

  /// Appends the source from the start of the run up to `end`.
  private mutating func copyRun(_ source: Span<UInt8>, to end: Int) {
    precondition(end <= source.count && used <= runStart)
    let target = unsafe buffer ?? .allocate(byteCount: source.count, alignment: 1)
    unsafe buffer = target
    let length = end - runStart
    if length <= 16, runStart + 16 <= source.count {
      // Most runs are a token or two: copying two words, whatever the length, is faster than asking how to copy.
      unsafe target.storeBytes(of: source.word(at: runStart), toByteOffset: used, as: UInt64.self)
      unsafe target.storeBytes(of: source.word(at: runStart + 8), toByteOffset: used + 8, as: UInt64.self)
    } else {
      unsafe source.extracting(runStart..<end).withUnsafeBytes { run in
        unsafe target.advanced(by: used).copyMemory(from: run.baseAddress!, byteCount: length)
      }
    }
    used += length
  }

  /// The compact text of a source whose value ends at `end`, in storage of exactly its size.
  consuming func finish(_ source: Span<UInt8>, valueEnd end: Int) -> [UInt8] {
    let rest = source.extracting(runStart..<end)
    guard let buffer = unsafe buffer else {
      // The pointer is used only for the copy.
      return unsafe rest.withUnsafeBufferPointer { unsafe [UInt8]($0) }
    }
    let used = used
    return unsafe [UInt8](unsafeUninitializedCapacity: used + rest.count) { target, count in
      let base = UnsafeMutableRawPointer(target.baseAddress!)
      unsafe base.copyMemory(from: buffer, byteCount: used)
      unsafe rest.withUnsafeBytes { rest in
        unsafe base.advanced(by: used).copyMemory(from: rest.baseAddress!, byteCount: rest.count)
      }
      count = used + rest.count
    }
  }
}

extension Span<UInt8> {
  /// The offset of the first byte from `start` on that is not white space (RFC 8259 §2), or `count`.
  @inline(__always)
  func skipWhiteSpace(from start: Int) -> Int {
    var position = start
    while position < count, Validator.isWhiteSpace(byte(at: position)) {
      position += 1
      // Indentation: what is a space becomes zero, so the zero bits at the low end count the spaces.
      while position + 8 <= count {
        let others = word(at: position) ^ (SWAR.ones &* 0x20)
        if others != 0 {
          position += others.trailingZeroBitCount >> 3
          break
        }
        position += 8
      }
    }
    return position
  }
}
