// SPDX-License-Identifier: MIT

/// Removes insignificant white space from a text that is known to be valid.
enum Compaction {
  /// The bytes of `source` without the white space outside strings, in storage of exactly that size.
  ///
  /// A second pass, taken only when the first one counted white space: it needs no grammar, only to know where
  /// strings are, and in exchange the size is known before memory is taken.
  static func compact(_ source: Span<UInt8>, removing whiteSpace: Int) -> [UInt8] {
    let size = source.count - whiteSpace
    // Uninitialized storage: every one of its bytes is written below, or the count says less.
    return unsafe [UInt8](unsafeUninitializedCapacity: size) { target, count in
      var position = 0
      while position < source.count {
        let byte = source.byte(at: position)
        if byte == UInt8(ascii: "\"") {
          let end = endOfString(source, from: position + 1)
          let length = end - position
          precondition(count + length <= size)
          // Bounds: `end` is at most `source.count`, and the target has room by the line above.
          unsafe source.extracting(position..<end).withUnsafeBufferPointer { run in
            unsafe target.baseAddress!.advanced(by: count).update(from: run.baseAddress!, count: length)
          }
          count += length
          position = end
        } else {
          if !Validator.isWhiteSpace(byte) {
            unsafe target[count] = byte
            count += 1
          }
          position += 1
        }
      }
    }
  }

  /// The offset after the closing quote of a valid string whose content starts at `start`, or the end of the source.
  @inline(__always)
  static func endOfString(_ source: Span<UInt8>, from start: Int) -> Int {
    var position = start
    while true {
      while position + 8 <= source.count {
        let marks = Word.quoteOrBackslash(source.word(at: position))
        if marks != 0 {
          position += Word.firstIndex(marks)
          break
        }
        position += 8
      }
      guard position < source.count else { return source.count }
      let byte = source.byte(at: position)
      if byte == UInt8(ascii: "\"") { return position + 1 }
      position += byte == UInt8(ascii: "\\") ? 2 : 1
    }
  }
}
