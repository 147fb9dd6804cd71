// SPDX-License-Identifier: MIT

/// A temporary view of bytes owned by something else: a piece of a receive buffer, of an array, of a literal.
///
/// A view is valid only during the call that it was passed to, like the pointer it is made of: code that keeps the
/// bytes copies them (`array`, `string`). Making one is therefore marked unsafe; using one is not: every access from
/// outside is checked against `count`.
@safe
package struct ByteView: RandomAccessCollection {
  private let start: UnsafePointer<UInt8>
  package let count: Int

  /// Views `bytes`, which must stay where they are, unchanged, while the view is in use.
  @unsafe @inline(__always)
  package init(_ bytes: UnsafeRawBufferPointer) {
    // A nil address means an empty buffer: it is replaced by one that is never read from.
    unsafe self.init(start: bytes.baseAddress ?? UnsafeRawPointer(bitPattern: 1).unsafelyUnwrapped, count: bytes.count)
  }

  @unsafe @inline(__always)
  private init(start: UnsafeRawPointer, count: Int) {
    // Any memory holds valid bytes, and a view only reads them.
    unsafe self.start = start.assumingMemoryBound(to: UInt8.self)
    self.count = count
  }

  /// Views the characters of a literal, which live as long as the program.
  @inline(__always)
  package init(_ literal: StaticString) {
    // A literal of one scalar has no address; the strings used here are longer.
    precondition(literal.hasPointerRepresentation, "a view needs a literal of more than one character")
    unsafe self.init(start: literal.utf8Start, count: literal.utf8CodeUnitCount)
  }

  package var startIndex: Int { 0 }
  package var endIndex: Int { count }

  package subscript(position: Int) -> UInt8 {
    precondition(position >= 0 && position < count, "index outside the view")
    // Checked on the line above.
    return unsafe start[position]
  }

  /// The bytes from `lower` to before `upper`, as a view of the same memory.
  @inline(__always)
  package subscript(bounds: Range<Int>) -> ByteView {
    precondition(bounds.lowerBound >= 0 && bounds.upperBound <= count, "range outside the view")
    // Checked on the line above.
    return unsafe ByteView(start: start + bounds.lowerBound, count: bounds.count)
  }

  // MARK: For parsers that have just compared the offset with `count`

  @inline(__always)
  func byte(at offset: Int) -> UInt8 {
    assert(offset >= 0 && offset < count)
    // Unchecked in release: every caller has compared the offset with `count`; the assertion repeats that.
    return unsafe start[offset]
  }

  /// Eight bytes from an offset, the first in the lowest position; the caller knows that `offset + 8 <= count`.
  @inline(__always)
  func word(at offset: Int) -> UInt64 {
    assert(offset >= 0 && offset + 8 <= count)
    // Unchecked in release, as above. Any eight bytes are a valid UInt64.
    return UInt64(littleEndian: unsafe UnsafeRawPointer(start + offset).loadUnaligned(as: UInt64.self))
  }

  /// The last offset at which eight bytes begin; negative when there are fewer.
  ///
  /// Offsets are between 0 and `count`, so that sums of them and a few bytes cannot overflow.
  @inline(__always)
  private var lastWord: Int { count &- 8 }

  /// The first control character from an offset on that is not a tab; `count` when there is none.
  @inline(__always)
  func firstControl(from offset: Int) -> Int {
    var index = offset
    while true {
      while index <= lastWord {
        let marks = ByteWord.controls(word(at: index))
        if marks != 0 {
          index &+= ByteWord.firstIndex(marks)
          break
        }
        index &+= 8
      }
      while index < count {
        let byte = byte(at: index)
        if byte == ASCII.tab { break }
        if byte < 0x20 || byte == 0x7F { return index }
        index &+= 1
      }
      if index >= count { return count }
      index &+= 1
    }
  }

  /// The first byte from an offset on that is not visible ASCII; `count` when there is none.
  @inline(__always)
  func firstInvisible(from offset: Int) -> Int {
    var index = offset
    while index <= lastWord {
      let marks = ByteWord.invisibles(word(at: index))
      if marks != 0 { return index + ByteWord.firstIndex(marks) }
      index &+= 8
    }
    while index < count, byte(at: index) &- 0x21 < 0x5E { index += 1 }
    return index
  }

  /// The end of the token that begins at an offset; `count` when it is the rest.
  @inline(__always)
  func tokenEnd(from offset: Int) -> Int { end(of: .token, ByteWord.notNameLetters, from: offset) }

  /// The first byte from an offset on that is not in the set of path characters.
  @inline(__always)
  func pathEnd(from offset: Int) -> Int { end(of: .path, ByteWord.notPathCharacters, from: offset) }

  /// The first byte from an offset on that is not in the set; `others` leaves nearly all members of the set unmarked.
  @inline(__always)
  private func end(of set: ByteSet, _ others: (UInt64) -> UInt64, from offset: Int) -> Int {
    var index = offset
    while index <= lastWord {
      let marks = others(word(at: index))
      if marks == 0 {
        index &+= 8
        continue
      }
      index &+= ByteWord.firstIndex(marks)
      if !set.contains(byte(at: index)) { return index }
      index += 1
    }
    while index < count, set.contains(byte(at: index)) { index += 1 }
    return index
  }

  /// The first byte from an offset on that is not in the set; `count` when there is none.
  @inline(__always)
  func firstIndex(notIn set: ByteSet, from offset: Int) -> Int {
    var index = offset
    while index < count, set.contains(byte(at: index)) { index += 1 }
    return index
  }

  /// Whether the last four bytes are CRLF CRLF.
  @inline(__always)
  var endsWithEmptyLine: Bool {
    count >= 4 && byte(at: count - 4) == ASCII.cr && byte(at: count - 3) == ASCII.lf
      && byte(at: count - 2) == ASCII.cr && byte(at: count - 1) == ASCII.lf
  }

  // MARK: Comparing and trimming

  package func equals(_ other: ByteView) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where byte(at: index) != other.byte(at: index) { return false }
    return true
  }

  /// Whether the bytes are those of a literal.
  @inline(__always)
  package func equals(_ literal: StaticString) -> Bool {
    let other = ByteView(literal)
    guard count == other.count else { return false }
    guard count >= 8 else {
      for index in 0..<count where byte(at: index) != other.byte(at: index) { return false }
      return true
    }
    var index = 0
    while index < lastWord {
      if word(at: index) != other.word(at: index) { return false }
      index &+= 8
    }
    // The last eight, which may overlap with those before.
    return word(at: count - 8) == other.word(at: count - 8)
  }

  /// Whether the bytes are the same, ignoring the case of ASCII letters.
  package func equalsIgnoringCase(_ other: ByteView) -> Bool {
    guard count == other.count else { return false }
    for index in 0..<count where ASCII.lowercased(byte(at: index)) != ASCII.lowercased(other.byte(at: index)) {
      return false
    }
    return true
  }

  /// Whether the bytes are those of a literal, ignoring the case of ASCII letters; the literal is in lower case and may
  /// contain any of the characters below `@`.
  @inline(__always)
  package func equalsIgnoringCase(_ literal: StaticString) -> Bool {
    let other = ByteView(literal)
    assert(other.allSatisfy { $0 < 0x40 || $0 &- 0x61 < 26 }, "compare with a literal in small letters")
    guard count == other.count else { return false }
    guard count >= 8 else {
      for index in 0..<count where !ByteWord.isSameLetter(byte(at: index), other.byte(at: index)) { return false }
      return true
    }
    var index = 0
    while index < lastWord {
      if !ByteWord.areSameLetters(word(at: index), other.word(at: index)) { return false }
      index &+= 8
    }
    return ByteWord.areSameLetters(word(at: count - 8), other.word(at: count - 8))
  }

  /// The view without spaces and tabs at either end.
  package var trimmed: ByteView {
    var lower = 0
    var upper = count
    while lower < upper, ASCII.isBlank(byte(at: lower)) { lower += 1 }
    while lower < upper, ASCII.isBlank(byte(at: upper - 1)) { upper -= 1 }
    return self[lower..<upper]
  }

  /// Whether the bytes are one token (RFC 9110 §5.6.2): at least one character, all of them `tchar`.
  package var isToken: Bool { count > 0 && firstIndex(notIn: .token, from: 0) == count }

  // MARK: Copying out

  /// Copies the bytes to `place` and advances it past them; there must be room for `count` bytes.
  @unsafe @inline(__always)
  fileprivate func copy(to place: inout UnsafeMutableRawPointer) {
    unsafe place.copyMemory(from: start, byteCount: count)
    unsafe place += count
  }

  package var array: [UInt8] { unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)) }

  /// The text; what is not UTF-8 becomes U+FFFD.
  package var string: String { unsafe String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self) }

  /// Calls `body` with the memory of the view, valid during the call.
  @inline(__always)
  package func withUnsafeBytes<Result>(_ body: (UnsafeBufferPointer<UInt8>) -> Result) -> Result {
    unsafe body(UnsafeBufferPointer(start: start, count: count))
  }
}

extension Array<UInt8> {
  /// Calls `body` with a view of the elements, valid during the call.
  @inline(__always)
  package func withView<Result, Failure>(_ body: (ByteView) throws(Failure) -> Result) throws(Failure) -> Result {
    // The array keeps its storage in place while the closure runs.
    try unsafe withUnsafeBufferPointer { (buffer) throws(Failure) in
      try body(unsafe ByteView(UnsafeRawBufferPointer(buffer)))
    }
  }

  @inline(__always)
  package mutating func append(_ view: ByteView) {
    unsafe view.withUnsafeBytes { unsafe append(contentsOf: $0) }
  }

  @inline(__always)
  package mutating func append(_ literal: StaticString) { append(ByteView(literal)) }

  /// Appends four pieces, reserving capacity once.
  @inline(__always)
  package mutating func append(_ first: ByteView, _ second: ByteView, _ third: ByteView, _ fourth: ByteView) {
    let count = first.count + second.count + third.count + fourth.count
    append(addingCapacity: count) { span in
      unsafe span.withUnsafeMutableBufferPointer { (buffer, initialized) in
        // The buffer has room for `count` bytes, which the four copies fill without a gap. The buffer of a growing
        // array has an address.
        guard var place = unsafe buffer.baseAddress.map({ UnsafeMutableRawPointer($0) }) else { return }
        unsafe first.copy(to: &place)
        unsafe second.copy(to: &place)
        unsafe third.copy(to: &place)
        unsafe fourth.copy(to: &place)
        initialized = count
      }
    }
  }

  /// Appends a number in decimal digits.
  package mutating func append(decimal number: Int) {
    precondition(number >= 0, "only counts are written to the wire")
    // 19 digits are enough for any Int; they are found from the last to the first.
    var digits = InlineArray<20, UInt8>(repeating: 0)
    var rest = UInt(number)
    var index = 20
    repeat {
      index -= 1
      digits[index] = ASCII.zero + UInt8(truncatingIfNeeded: rest % 10)
      rest /= 10
    } while rest > 0
    for place in index..<20 { append(digits[place]) }
  }
}
