// SPDX-License-Identifier: MIT

import JSON
import Testing

/// Limits, and the cases that JSONTestSuite leaves to the reader (`i_`).
@Suite struct `Limits and free choices` {
  @Test func `a source of as many bytes as the limit is accepted, one more is not`() {
    let limits = JSONLimits(bytes: 8)
    #expect(refusal(Array("[1,2,34]".utf8), limits: limits) == nil)
    #expect(refusal(Array("[1,2,345]".utf8), limits: limits) == JSONError(.tooLarge, at: 8))
    // White space counts: it was sent.
    #expect(refusal(Array("[1,2,34]\n".utf8), limits: limits) == JSONError(.tooLarge, at: 8))
  }

  @Test func `size is judged before content`() {
    #expect(refusal([0xFF, 0xFF, 0xFF], limits: JSONLimits(bytes: 2))?.reason == .tooLarge)
  }

  @Test func `the default limits are a mebibyte and 256 levels`() {
    #expect(JSONLimits() == JSONLimits(bytes: 1_048_576, depth: 256, digits: 1000))
    let string = [UInt8(ascii: "\"")] + [UInt8](repeating: UInt8(ascii: "a"), count: 1_048_574) + [UInt8(ascii: "\"")]
    #expect(refusal(string) == nil)
    #expect(refusal(string + [0x20]) == JSONError(.tooLarge, at: 1_048_576))
  }

  @Test(arguments: [0, 1, 2, 63, 64, 65, 127, 128, 129, 256, 1000])
  func `as many levels as the limit are accepted, one more is not`(depth: Int) {
    let limits = JSONLimits(depth: depth)
    for (open, close) in [("[", "]"), (#"{"a":"#, "}"), (#"[{"":"#, "}]")] {
      let levels = open.contains("[{") ? 2 : 1
      guard depth % levels == 0 else { continue }
      func nested(_ count: Int) -> [UInt8] {
        Array((String(repeating: open, count: count) + "0" + String(repeating: close, count: count)).utf8)
      }
      #expect(refusal(nested(depth / levels), limits: limits) == nil)
      let error = refusal(nested(depth / levels + 1), limits: limits)
      #expect(error == JSONError(.tooDeep, at: open.utf8.count * (depth / levels)), "\(open) \(depth)")
    }
  }

  /// Every form of a number, with so many digits in one of its parts; the position is that of the last digit of the part.
  @Test(arguments: [
    ("", "", 0), ("-", "", 0), ("[", "]", 0), (#"{"a":"#, #","b":1}"#, 0), ("0.", "", 1), ("1.", "e5", 1),
    ("-1.", "E-5", 1),
    ("1e", "", 1), ("12.5e+", " ", 3), ("[1,2, 3e-", "]", 1),
  ])
  func `a number of as many digits as the limit is accepted, one more is not`(
    before: String, after: String, others: Int
  ) {
    // Digits of the exponent behind the part count as well.
    let behind = after.hasPrefix("e5") || after.hasPrefix("E-5") ? 1 : 0
    for limit in [20, 64, 1000] {
      let limits = JSONLimits(digits: limit)
      func source(_ count: Int) -> [UInt8] { Array((before + String(repeating: "7", count: count) + after).utf8) }
      let most = limit - others - behind
      #expect(refusal(source(most), limits: limits) == nil, "\(before) \(limit)")
      let error = refusal(source(most + 1), limits: limits)
      #expect(error?.reason == .tooManyDigits)
      // The first that is too many: the last of the part, or the one behind it.
      let place = before.utf8.count + most + (behind == 0 ? 0 : 1 + after.utf8.count - 1)
      #expect(error?.offset == place, "\(before) \(limit)")
    }
  }

  @Test func `digits are counted for each number, and in numbers only`() {
    let limits = JSONLimits(digits: 20)
    let twenty = String(repeating: "1", count: 20)
    for source in ["[\(twenty),\(twenty),-\(twenty)]", "\"\(twenty)1\"", #"{"\#(twenty)1":\#(twenty)}"#] {
      #expect(refusal(Array(source.utf8), limits: limits) == nil, "\(source)")
    }
    // Signs, point and exponent mark are no digits.
    #expect(refusal(Array("-1.\(twenty.dropLast(2))e+1".utf8), limits: limits) == nil)
    #expect(refusal(Array("[1]x".utf8), limits: JSONLimits(digits: 0)) == JSONError(.tooManyDigits, at: 1))
  }

  @Test func `a number of a million digits is refused at its thousand and first`() {
    let source = [UInt8](repeating: UInt8(ascii: "9"), count: 1_000_000)
    #expect(refusal(source) == JSONError(.tooManyDigits, at: 1000))
    #expect(refusal(source, limits: JSONLimits(digits: 1_000_000)) == nil)
    #expect(JSONError(.tooManyDigits, at: 1000).description == "a number has too many digits, from byte 1000 on")
  }

  @Test func `an empty container counts as a level`() {
    #expect(refusal(Array("[[]]".utf8), limits: JSONLimits(depth: 1)) == JSONError(.tooDeep, at: 1))
    #expect(refusal(Array("[{}]".utf8), limits: JSONLimits(depth: 1)) == JSONError(.tooDeep, at: 1))
    #expect(refusal(Array("[]".utf8), limits: JSONLimits(depth: 1)) == nil)
    #expect(refusal(Array("1".utf8), limits: JSONLimits(depth: 0)) == nil)
  }

  @Test func `containers that close leave their level to others, across the 64 that fit a word`() throws {
    let limits = JSONLimits(depth: 200)
    for depth in [62, 63, 64, 65, 126, 127, 128, 129] {
      let open = String(repeating: "[", count: depth)
      let close = String(repeating: "]", count: depth)
      // Down, up by one, down again as an object, up again, and on in the array.
      let source = open + #"[1],{"a":[2]},[3]"# + close
      #expect(try JSONText(validating: source, limits: limits).description == source)
      let crossed = open + #"{"a":[2}]"# + close
      #expect(refusal(Array(crossed.utf8), limits: limits) == JSONError(.unexpectedByte, at: depth + 7))
    }
  }

  @Test func `a hundred thousand open brackets are an error, not a crash`() {
    #expect(refusal([UInt8](repeating: UInt8(ascii: "["), count: 100_000)) == JSONError(.tooDeep, at: 256))
    let pairs = Array(String(repeating: #"[{"":"#, count: 50_000).utf8)
    #expect(refusal(pairs) == JSONError(.tooDeep, at: 5 * 128))
    let unlimited = JSONLimits(bytes: .max, depth: .max)
    #expect(refusal(pairs, limits: unlimited) == JSONError(.unexpectedEnd, at: pairs.count))
  }

  @Test func `without a limit 200 000 levels are walked without recursion`() throws {
    let depth = 200_000
    let source =
      [UInt8](repeating: UInt8(ascii: "["), count: depth) + [UInt8](repeating: UInt8(ascii: "]"), count: depth)
    let text = try JSONText(validating: source, limits: JSONLimits(bytes: .max, depth: .max))
    let tree = JSONTree(text)
    var node = tree.root
    var levels = 1
    while let child = tree.firstChild(of: node) {
      node = child
      levels += 1
    }
    #expect(levels == depth)
    #expect(tree.range(of: node) == depth - 1..<depth + 1)
  }

  @Test(arguments: [
    "[123.456e-789]", "[0.4e006699999999999999999999999999999999999999999999999999999999999999999999999999999999]",
    "[-1e+9999]", "[1.5e+9999]", "[-123123e100000]", "[123123e100000]", "[123e-10000000]",
    "[-123123123123123123123123123123]", "[100000000000000000000]",
    "[-237462374673276894279832749832423479823246327846]",
  ])
  func `a number of any size is kept, digit for digit`(source: String) throws {
    #expect(try JSONText(validating: source).description == source)
  }

  @Test(arguments: [
    #"{"\uDFAA":0}"#, #"["\uDADA"]"#, #"["\uD888\u1234"]"#, #"["\uD800\n"]"#, #"["\uDd1ea"]"#, #"["\uD800\uD800\n"]"#,
    #"["\ud800"]"#, #"["\ud800abc"]"#, #"["\uDd1e\uD834"]"#, #"["\uDFAA"]"#,
  ])
  func `an escape of half a surrogate pair is kept`(source: String) throws {
    #expect(try JSONText(validating: source).description == source)
  }

  @Test func `a byte order mark is refused`() {
    #expect(refusal(raw("«ef»«bb»«bf»{}")) == JSONError(.unexpectedByte, at: 0))
  }

  @Test func `500 nested arrays are one limit away`() {
    let nested = Array((String(repeating: "[", count: 500) + String(repeating: "]", count: 500)).utf8)
    #expect(refusal(nested) == JSONError(.tooDeep, at: 256))
    #expect(refusal(nested, limits: JSONLimits(depth: 500)) == nil)
  }
}
