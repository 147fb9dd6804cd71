// SPDX-License-Identifier: MIT

/// Validates UTF-8 (RFC 3629) piece by piece and fails at the first byte that cannot belong to it.
///
/// Overlong forms, surrogates and everything above U+10FFFF are refused, at the earliest byte that shows it. ASCII is
/// skipped 32 or 8 bytes at a time; the rest goes through an automaton of nine states that needs one table load and one
/// shift per byte, with no branch.
package struct UTF8Validator: Sendable {
  private var state = State.accept

  /// At the beginning of a text.
  package init() {}

  /// Whether the text may end here: not in the middle of a character.
  @inline(__always)
  package var isComplete: Bool { state == State.accept }

  /// Takes the next piece, and returns whether everything so far can be UTF-8.
  ///
  /// After `false` the validator must not be used again.
  @inline(__always)
  package mutating func consume(_ bytes: Span<UInt8>) -> Bool {
    var position = 0
    if state == State.accept {
      position = Self.asciiPrefix(of: bytes)
      if position == bytes.count { return true }
    }
    return consumeSlowly(bytes, from: position)
  }

  /// The number of leading bytes that are certainly ASCII: a multiple of eight when something follows.
  @inline(__always)
  private static func asciiPrefix(of bytes: Span<UInt8>) -> Int {
    let count = bytes.count
    var position = 0
    while position &+ 32 <= count {
      let first = bytes.word8(at: position) | bytes.word8(at: position &+ 8)
      let second = bytes.word8(at: position &+ 16) | bytes.word8(at: position &+ 24)
      if (first | second) & nonASCII != 0 { break }
      position &+= 32
    }
    while position &+ 8 <= count {
      if bytes.word8(at: position) & nonASCII != 0 { return position }
      position &+= 8
    }
    while position < count, bytes[position] < 0x80 { position &+= 1 }
    return position
  }

  private mutating func consumeSlowly(_ bytes: Span<UInt8>, from start: Int) -> Bool {
    let table = Self.table.span
    let count = bytes.count
    var position = start
    var state = self.state
    while position &+ 16 <= count {
      let first = bytes.word8(at: position)
      let second = bytes.word8(at: position &+ 8)
      if state == State.accept, (first | second) & Self.nonASCII == 0 {
        position &+= 16
        continue
      }
      state = Self.step(first, from: state, table)
      state = Self.step(second, from: state, table)
      if state == State.reject { break }
      position &+= 16
    }
    while position < count, state != State.reject {
      state = Self.step(bytes[position], from: state, table)
      position &+= 1
    }
    self.state = state
    return state != State.reject
  }

  @inline(__always)
  private static func step(_ word: UInt64, from state: UInt64, _ table: Span<UInt64>) -> UInt64 {
    var state = state
    for shift in stride(from: 0 as UInt64, to: 64, by: 8) {
      state = step(UInt8(truncatingIfNeeded: word >> shift), from: state, table)
    }
    return state
  }

  @inline(__always)
  private static func step(_ byte: UInt8, from state: UInt64, _ table: Span<UInt64>) -> UInt64 {
    // A byte is always a valid index of a table of 256, so the check is left out.
    unsafe (table[unchecked: Int(byte)] &>> state) & 63
  }

  private static let nonASCII: UInt64 = 0x8080_8080_8080_8080

  /// The states; each value is the bit position of its own entry in a row of the table.
  private enum State {
    /// Zero, so that what a row does not define is refused, and so that no byte leads out of it.
    static let reject: UInt64 = 0
    /// At a character boundary.
    static let accept: UInt64 = 6
    /// One, two or three bytes 80…BF are missing.
    static let oneMore: UInt64 = 12
    static let twoMore: UInt64 = 18
    static let threeMore: UInt64 = 24
    /// After E0: A0…BF, or it would be overlong.
    static let afterE0: UInt64 = 30
    /// After ED: 80…9F, or it would be a surrogate.
    static let afterED: UInt64 = 36
    /// After F0: 90…BF, or it would be overlong.
    static let afterF0: UInt64 = 42
    /// After F4: 80…8F, or it would be above U+10FFFF.
    static let afterF4: UInt64 = 48
  }

  /// For each byte, the next state of every state, six bits each: the grammar of RFC 3629 §4.
  private static let table: [UInt64] = {
    var rows = [UInt64](repeating: 0, count: 256)
    func allow(_ bytes: ClosedRange<Int>, in state: UInt64, then next: UInt64) {
      for byte in bytes { rows[byte] |= next << state }
    }
    allow(0x00...0x7F, in: State.accept, then: State.accept)
    allow(0xC2...0xDF, in: State.accept, then: State.oneMore)
    allow(0xE0...0xE0, in: State.accept, then: State.afterE0)
    allow(0xE1...0xEC, in: State.accept, then: State.twoMore)
    allow(0xED...0xED, in: State.accept, then: State.afterED)
    allow(0xEE...0xEF, in: State.accept, then: State.twoMore)
    allow(0xF0...0xF0, in: State.accept, then: State.afterF0)
    allow(0xF1...0xF3, in: State.accept, then: State.threeMore)
    allow(0xF4...0xF4, in: State.accept, then: State.afterF4)
    allow(0x80...0xBF, in: State.oneMore, then: State.accept)
    allow(0x80...0xBF, in: State.twoMore, then: State.oneMore)
    allow(0x80...0xBF, in: State.threeMore, then: State.twoMore)
    allow(0xA0...0xBF, in: State.afterE0, then: State.oneMore)
    allow(0x80...0x9F, in: State.afterED, then: State.oneMore)
    allow(0x90...0xBF, in: State.afterF0, then: State.twoMore)
    allow(0x80...0x8F, in: State.afterF4, then: State.twoMore)
    return rows
  }()
}

extension Span<UInt8> {
  /// Eight bytes from an offset, the first in the lowest position; the caller has compared `offset + 8` with `count`.
  @inline(__always)
  fileprivate func word8(at offset: Int) -> UInt64 {
    assert(offset >= 0 && offset + 8 <= count)
    // Unchecked, because of the caller's comparison, which the assertion repeats. Any eight bytes are a valid UInt64.
    return UInt64(littleEndian: unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: offset, as: UInt64.self))
  }
}
