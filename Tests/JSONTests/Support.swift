// SPDX-License-Identifier: MIT

import JSON

/// The bytes of a test case: UTF-8, with `«e5»` for a byte that text cannot show.
func raw(_ text: String) -> [UInt8] {
  var bytes: [UInt8] = []
  var rest = Substring(text)
  while let open = rest.firstIndex(of: "«"), let close = rest[open...].firstIndex(of: "»") {
    bytes += rest[..<open].utf8
    guard let byte = UInt8(rest[rest.index(after: open)..<close], radix: 16) else {
      preconditionFailure("not a byte in hexadecimal: \(text)")
    }
    bytes.append(byte)
    rest = rest[rest.index(after: close)...]
  }
  return bytes + rest.utf8
}

/// The error a source is refused with; nil when it is accepted.
func refusal(_ source: [UInt8], limits: JSONLimits = JSONLimits()) -> JSONError? {
  do throws(JSONError) {
    _ = try JSONText(validating: source.span, limits: limits)
    return nil
  } catch {
    return error
  }
}

/// The tree of a text that the test knows to be valid.
func tree(_ source: String) throws -> JSONTree {
  JSONTree(try JSONText(validating: source, limits: JSONLimits(digits: .max)))
}

/// Random numbers that a seed repeats (SplitMix64).
struct SeededGenerator: RandomNumberGenerator {
  private var state: UInt64

  init(seed: UInt64) { state = seed }

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return mixed ^ (mixed >> 31)
  }

  /// True once in `times`.
  mutating func once(in times: Int) -> Bool { Int.random(in: 0..<times, using: &self) == 0 }
}

/// Forms that take arrays and strings: the macros of the testing library cannot hold a span.
extension JSONTree {
  func order(_ node: Node, _ other: [UInt8]) -> Int? { compare(node, with: other.span)?.signum() }
  func equals(_ node: Node, _ other: [UInt8]) -> Bool? { string(node, equals: other.span) }
  func find(_ name: [UInt8], in node: Node) -> Node? { member(name.span, of: node) }

  func copyOfUTF8(_ node: Node) -> [UInt8]? {
    withUTF8(of: node) { bytes in bytes.indices.map { bytes[$0] } }
  }
}
