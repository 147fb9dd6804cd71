// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@Suite struct `Numbers of a tree` {
  @Test(arguments: [
    ("0", 0), ("-0", 0), ("1", 1), ("-1", -1), ("21", 21), ("9007199254740993", 9_007_199_254_740_993),
    ("9223372036854775807", Int64.max), ("-9223372036854775808", Int64.min),
    ("1000000000000000000", 1_000_000_000_000_000_000),
  ])
  func `an integer that fits is exact`(source: String, value: Int64) throws {
    let tree = try tree(source)
    #expect(tree.isInteger(.root))
    #expect(tree.int64(.root) == value)
    #expect(tree.uint64(.root) == UInt64(exactly: value))
  }

  @Test(arguments: [
    "9223372036854775808", "-9223372036854775809", "10000000000000000000", "99999999999999999999",
    "-99999999999999999999", "100000000000000000000", "18446744073709551616", "340282366920938463463374607431768211456",
    "-18446744073709551616",
  ])
  func `an integer that does not fit 64 bits with a sign is nil`(source: String) throws {
    let tree = try tree(source)
    #expect(tree.isInteger(.root))
    #expect(tree.int64(.root) == nil)
  }

  @Test func `unsigned integers reach further, and stop at zero`() throws {
    #expect(try tree("18446744073709551615").uint64(.root) == .max)
    #expect(try tree("9223372036854775808").uint64(.root) == 1 << 63)
    #expect(try tree("18446744073709551616").uint64(.root) == nil)
    #expect(try tree("18446744073709551620").uint64(.root) == nil)
    #expect(try tree("20000000000000000000").uint64(.root) == nil)
    #expect(try tree("-1").uint64(.root) == nil)
    #expect(try tree("-0").uint64(.root) == 0)
  }

  @Test(arguments: ["1.0", "1e2", "1E2", "-0.0", "0e0", "1.5", "1e-2", "9007199254740993.0"])
  func `a number with fraction or exponent is not an integer, whatever its value`(source: String) throws {
    for tree in [try tree(source), try tree("[\(source),1]")] {
      let node = tree.firstChild(of: .root) ?? .root
      #expect(!tree.isInteger(node))
      #expect(tree.int64(node) == nil && tree.uint64(node) == nil)
    }
  }

  static let nearest: [(source: String, value: Double)] = [
    // Exact, and the ways to write zero.
    ("0", 0.0), ("-0", -0.0), ("-0.0", -0.0), ("0e400", 0.0), ("0.000e-400", 0.0), ("1", 1), ("21.5", 21.5),
    ("-21.50", -21.5), ("1e22", 1e22), ("1e23", 1e23), ("0.1", 0.1), ("0.30000000000000004", 0.30000000000000004),
    ("123456789012345678", 123_456_789_012_345_680), ("6.02214076e23", 6.02214076e23),
    // Ties: to even, up when anything follows.
    ("9007199254740993", 9_007_199_254_740_992), ("9007199254740993.0000000000000000000000001", 9_007_199_254_740_994),
    ("9007199254740995", 9_007_199_254_740_996), ("9007199254740992.5", 9_007_199_254_740_992),
    ("1.00000000000000011102230246251565", 1), ("1.00000000000000011102230246251566", 1.0000000000000002),
    ("1.00000000000000033306690738754696212708950042724609375", 1.0000000000000004),
    // The edges of the format.
    ("1.7976931348623157e308", .greatestFiniteMagnitude), ("1.7976931348623158e308", .greatestFiniteMagnitude),
    ("1.7976931348623159e308", .infinity), ("-1.8e308", -.infinity), ("1e309", .infinity),
    ("2.2250738585072014e-308", .leastNormalMagnitude), ("2.2250738585072011e-308", .leastNormalMagnitude.nextDown),
    ("5e-324", .leastNonzeroMagnitude), ("4.9406564584124654e-324", .leastNonzeroMagnitude),
    ("2.4703282292062328e-324", .leastNonzeroMagnitude), ("2.4703282292062327e-324", 0.0), ("-1e-324", -0.0),
    // Beyond it.
    ("1e400", .infinity), ("-1e400", -.infinity), ("1e-400", 0.0), ("-1e-400", -0.0),
    ("1e999999999999999999999", .infinity),
    ("1e-999999999999999999999", 0.0), ("123.456e-789", 0.0), ("-123123e100000", -.infinity),
  ]

  @Test(arguments: nearest)
  func `a double is the nearest one`(source: String, value: Double) throws {
    for tree in [try tree(source), try tree("[\(source),1]")] {
      let node = tree.firstChild(of: .root) ?? .root
      #expect(tree.double(node)?.bitPattern == value.bitPattern, "\(source)")
    }
  }

  @Test func `digits and exponent can be far apart`() throws {
    let zeros = String(repeating: "0", count: 400)
    #expect(try tree("1\(zeros)e-400").double(.root) == 1)
    #expect(try tree("0.\(zeros)1e401").double(.root) == 1)
    #expect(try tree("12\(zeros).0e-401").double(.root) == 1.2)
    #expect(try tree("0.\(zeros)\(zeros)").double(.root) == 0)
    // The digit that decides a tie is the last of a thousand.
    let tie = "9007199254740993" + "." + String(repeating: "0", count: 1000)
    #expect(try tree(tie).double(.root) == 9_007_199_254_740_992)
    #expect(try tree(tie + "1").double(.root) == 9_007_199_254_740_994)
    #expect(try tree(tie + "1e10").double(.root) == Double("90071992547409930000000000.1"))
  }

  // Each takes some milliseconds without optimization; what grows with the square of the digits would not end in hours.
  @Test func `a number of many digits is converted in bounded time`() throws {
    let digits = String(repeating: "7", count: 1_000_000)
    let expected = 0.77777777777777777777777777
    let cases: [(source: String, value: Double)] = [
      (digits, .infinity), ("0." + digits, expected), (digits + "e-1000000", expected), ("1e" + digits, .infinity),
      ("1e-" + digits, 0), ("0." + digits + "e1000000", .infinity),
    ]
    for (source, value) in cases {
      let tree = JSONTree(try JSONText(validating: source, limits: JSONLimits(bytes: .max, digits: .max)))
      #expect(tree.double(.root) == value)
      #expect(tree.int64(.root) == nil)
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `random numbers are read as the C library reads them`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let digits = (0..<Int.random(in: 1...25, using: &generator)).map { _ in
        String(Int.random(in: 0...9, using: &generator))
      }
      let whole = digits.joined().drop { $0 == "0" }
      var source = whole.isEmpty ? "0" : String(whole)
      if generator.once(in: 2) {
        source +=
          "."
          + String(UInt64.random(in: 0...UInt64.max >> UInt64.random(in: 0...63, using: &generator), using: &generator))
      }
      if generator.once(in: 2) {
        let bound = [5, 30, 330][Int.random(in: 0...2, using: &generator)]
        source += "e" + String(Int.random(in: -bound...bound, using: &generator))
      }
      if generator.once(in: 2) { source = "-" + source }
      // The pointer lives for the call.
      let expected = unsafe strtod(source, nil)
      #expect(try tree(source).double(.root)?.bitPattern == expected.bitPattern, "\(source), seed \(seed)")
    }
  }

  @Test(arguments: [1, 2, 3] as [UInt64])
  func `every double that is written reads back as itself`(seed: UInt64) throws {
    var generator = SeededGenerator(seed: seed)
    for _ in 0..<5_000 {
      let value = Double(bitPattern: generator.next())
      guard let text = JSONText(value) else {
        #expect(!value.isFinite)
        continue
      }
      #expect(refusal(text.bytes) == nil, "\(text)")
      #expect(JSONTree(text).double(.root)?.bitPattern == value.bitPattern, "\(text), seed \(seed)")
    }
  }
}
