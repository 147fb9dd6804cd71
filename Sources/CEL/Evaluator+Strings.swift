// SPDX-License-Identifier: MIT

/// The string extension.
///
/// Positions count code points.
extension Evaluator {
  func callString(_ activation: borrowing Activation, _ function: Function, _ arguments: Arguments) -> Value {
    let (a, b, c, d) = (arguments.a, arguments.b, arguments.c, arguments.d)
    guard a.kind == .string else { return error(.noMatchingOverload) }
    charge(a.byteCount / 8)
    switch function {
    case .charAt:
      guard b.kind == .int else { return error(.noMatchingOverload) }
      let length = length(activation, of: a)
      if b.int == Int64(length) { return create([UInt8]()) }
      return substring(activation, a, b.int, b.int < .max ? b.int + 1 : b.int, length)
    case .substring:
      guard b.kind == .int, arguments.count == 2 || c.kind == .int else { return error(.noMatchingOverload) }
      let length = length(activation, of: a)
      return substring(activation, a, b.int, arguments.count == 2 ? Int64(length) : c.int, length)
    case .indexOf, .lastIndexOf:
      guard b.kind == .string, arguments.count == 2 || c.kind == .int else { return error(.noMatchingOverload) }
      return index(activation, function, a, b, from: arguments.count == 2 ? nil : c.int)
    case .lowerAscii: return create(copy(activation, a).map { $0 &- 65 < 26 ? $0 | 0x20 : $0 })
    case .upperAscii: return create(copy(activation, a).map { $0 &- 97 < 26 ? $0 & 0xDF : $0 })
    case .trim: return create(Texts.trimmed(copy(activation, a)))
    case .quote: return create(Texts.quoted(copy(activation, a)))
    case .replace:
      guard b.kind == .string, c.kind == .string, arguments.count == 3 || d.kind == .int else {
        return error(.noMatchingOverload)
      }
      return replace(activation, a, b, c, limit: arguments.count == 3 || d.int < 0 ? .max : Int(d.int))
    case .split:
      guard b.kind == .string, arguments.count == 2 || c.kind == .int else { return error(.noMatchingOverload) }
      return split(activation, a, b, limit: arguments.count == 2 || c.int < 0 ? .max : Int(c.int))
    default: return error(.noMatchingOverload)
    }
  }

  private func substring(
    _ activation: borrowing Activation, _ text: Value, _ start: Int64, _ end: Int64, _ length: Int
  ) -> Value {
    guard start >= 0, start <= end, end <= length else { return error(.indexOutOfRange) }
    return create(
      withText(activation, text) { text in
        let first = Texts.offset(ofCodePoint: Int(start), in: text)
        let last = Texts.offset(ofCodePoint: Int(end - start), in: text, from: first)
        // The pointer is used only for the copy.
        return unsafe text.extracting(first..<last).withUnsafeBufferPointer { unsafe Array($0) }
      })
  }

  private func index(
    _ activation: borrowing Activation, _ function: Function, _ text: Value, _ part: Value, from start: Int64?
  ) -> Value {
    let length = length(activation, of: text)
    let partLength = self.length(activation, of: part)
    let isFirst = function == .indexOf
    let from = start ?? (isFirst ? 0 : Int64(length))
    guard from >= 0, from <= length else { return error(.indexOutOfRange) }
    if partLength == 0 { return Value(from) }
    guard partLength <= length else { return Value(-1) }
    let text = copy(activation, text)
    let part = copy(activation, part)
    let (place, cost) = Texts.place(of: part.span, in: text.span, from: Int(from), isFirst: isFirst, limit: budget)
    charge(cost)
    return Value(place ?? -1)
  }

  private func replace(
    _ activation: borrowing Activation, _ text: Value, _ old: Value, _ new: Value, limit: Int
  ) -> Value {
    let (text, old, new) = (copy(activation, text), copy(activation, old), copy(activation, new))
    var result: [UInt8] = []
    var position = 0
    var replaced = 0
    while replaced < limit, position <= text.count {
      guard result.count <= room else {
        return exceeded()
      }
      if old.isEmpty {
        // An empty text is found before each code point and at the end.
        result += new
        replaced += 1
        guard position < text.count else { return create(result) }
        let next = Texts.offset(ofCodePoint: 1, in: text.span, from: position)
        result += text[position..<next]
        position = next
        continue
      }
      let (found, cost) = Texts.find(old.span, in: text.span, from: position, limit: budget)
      charge(cost)
      guard let found else { break }
      result += text[position..<found]
      result += new
      position = found + old.count
      replaced += 1
    }
    result += text[min(position, text.count)...]
    return create(result)
  }

  private func split(
    _ activation: borrowing Activation, _ text: Value, _ separator: Value, limit: Int
  ) -> Value {
    guard limit > 0 else { return create([Value]()) }
    let bytes = copy(activation, text)
    let separator = copy(activation, separator)
    var parts: [Value] = []
    var position = 0
    while parts.count < limit - 1, fatal == nil {
      let found: Int?
      if separator.isEmpty {
        let next = Texts.offset(ofCodePoint: 1, in: bytes.span, from: position)
        found = next < bytes.count ? next : nil
      } else {
        let search = Texts.find(separator.span, in: bytes.span, from: position, limit: budget)
        charge(search.cost)
        found = search.offset
      }
      guard let found else { break }
      parts.append(create(bytes[position..<found]))
      position = found + separator.count
    }
    if !separator.isEmpty || !bytes.isEmpty { parts.append(create(bytes[position...])) }
    guard fatal == nil else { return error(.tooLarge) }
    return create(parts)
  }

  func reversed(_ activation: borrowing Activation, _ text: Value) -> Value {
    let bytes = copy(activation, text)
    var result: [UInt8] = []
    result.reserveCapacity(bytes.count)
    var end = bytes.count
    while end > 0 {
      var start = end - 1
      while start > 0, bytes[start] & 0xC0 == 0x80 { start -= 1 }
      result += bytes[start..<end]
      end = start
    }
    return create(result)
  }
}
