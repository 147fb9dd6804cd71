// SPDX-License-Identifier: MIT

extension Pattern {
  /// The places of a program at which a match may be, each once, in an array as large as the program.
  private struct Places {
    var list: [Int] = []
    private var marks: [UInt32]
    private var generation: UInt32 = 1

    init(_ count: Int) {
      marks = [UInt32](repeating: 0, count: count)
      list.reserveCapacity(count)
    }

    mutating func insert(_ place: Int) -> Bool {
      if marks[place] == generation { return false }
      marks[place] = generation
      return true
    }

    mutating func removeAll() {
      list.removeAll(keepingCapacity: true)
      // A text is shorter than 2^32 code points.
      generation &+= 1
    }
  }

  /// Whether a part of the UTF-8 text matches, and what finding that out has cost; nil when it costs more than a
  /// limit.
  ///
  /// All places at which the program could be are followed at once, one code point after the other: the time is at
  /// most the length of the text times that of the program.
  func matches(_ text: Span<UInt8>, limit: Int) -> (matches: Bool?, cost: Int) {
    var current = Places(instructions.count)
    var following = Places(instructions.count)
    var pending: [Int] = []
    var previous: UInt32?
    var position = 0
    var cost = instructions.count
    while true {
      let (scalar, length) = Self.scalar(in: text, at: position)
      // A match may begin at every place of the text.
      if follow(0, into: &current, &pending, previous, scalar) { return (true, cost) }
      guard let scalar else { return (false, cost) }
      cost += 1 + current.list.count
      if cost > limit { return (nil, cost) }
      position += length
      let (next, _) = Self.scalar(in: text, at: position)
      for place in current.list where accepts(instructions[place], scalar) {
        if follow(place + 1, into: &following, &pending, scalar, next) { return (true, cost) }
      }
      swap(&current, &following)
      following.removeAll()
      previous = scalar
    }
  }

  private func accepts(_ instruction: Instruction, _ scalar: UInt32) -> Bool {
    switch instruction {
    case .scalar(let wanted): wanted == scalar
    case .any: true
    case .set(let index): sets[index].contains(scalar)
    default: false
    }
  }

  /// Adds the places that are reached without a code point; true when one of them is the end.
  private func follow(
    _ start: Int, into places: inout Places, _ pending: inout [Int], _ previous: UInt32?, _ next: UInt32?
  ) -> Bool {
    pending.append(start)
    defer { pending.removeAll(keepingCapacity: true) }
    while let place = pending.popLast() {
      guard places.insert(place) else { continue }
      switch instructions[place] {
      case .match: return true
      case .jump(let target): pending.append(target)
      case .split(let first, let second):
        pending.append(second)
        pending.append(first)
      case .assert(let assertion):
        if Self.holds(assertion, previous, next) { pending.append(place + 1) }
      case .scalar, .any, .set: places.list.append(place)
      }
    }
    return false
  }

  private static func holds(_ assertion: Assertion, _ previous: UInt32?, _ next: UInt32?) -> Bool {
    switch assertion {
    case .textStart: previous == nil
    case .textEnd: next == nil
    case .lineStart: previous == nil || previous == 10
    case .lineEnd: next == nil || next == 10
    case .wordBoundary: isWord(previous) != isWord(next)
    case .notWordBoundary: isWord(previous) == isWord(next)
    }
  }

  /// ASCII only, as in RE2.
  private static func isWord(_ code: UInt32?) -> Bool {
    guard let code, let byte = UInt8(exactly: code) else { return false }
    return Lexer.isNamePart(byte)
  }

  /// The code point at a place and its length; bytes that are no UTF-8 read as U+FFFD, one at a time.
  static func scalar(in text: Span<UInt8>, at position: Int) -> (scalar: UInt32?, length: Int) {
    guard position < text.count else { return (nil, 0) }
    let first = text[position]
    if first < 0x80 { return (UInt32(first), 1) }
    let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
    guard first >= 0xC2, first < 0xF5, position + length <= text.count else { return (0xFFFD, 1) }
    var code = UInt32(first) & (0xFF >> UInt32(length + 1))
    for offset in 1..<length {
      let byte = text[position + offset]
      guard byte & 0xC0 == 0x80 else { return (0xFFFD, 1) }
      code = code << 6 | UInt32(byte & 0x3F)
    }
    return (code, length)
  }
}
