// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import SignalHTTP

/// The steps over eight bytes at a time do what a step over each byte would do.
@Suite struct `Byte views` {
  /// Texts of all lengths around a word, mostly plain, with any byte in any place.
  private static func samples() -> [[UInt8]] {
    var samples: [[UInt8]] = []
    for length in 0...20 {
      let plain = [UInt8](repeating: UInt8(ascii: "a"), count: length)
      samples.append(plain)
      for place in 0..<length {
        for byte in UInt8.min...UInt8.max {
          var sample = plain
          sample[place] = byte
          samples.append(sample)
        }
      }
    }
    var generator = SplitMix(state: 7)
    for _ in 0..<2000 {
      samples.append(
        (0..<Int.random(in: 1...40, using: &generator)).map { _ in
          .random(in: .min ... .max, using: &generator)
        })
    }
    return samples
  }

  private func expectSearch(
    _ search: (ByteView, Int) -> Int, findsFirst isFound: (UInt8) -> Bool
  ) {
    for sample in Self.samples() {
      let start = sample.count / 3
      let expected = sample[start...].firstIndex(where: isFound) ?? sample.count
      let actual = sample.withView { search($0, start) }
      if actual != expected { Issue.record("\(sample) from \(start): \(actual), not \(expected)") }
    }
  }

  @Test func `the first control character is found, tabs are passed over`() {
    expectSearch({ $0.firstControl(from: $1) }, findsFirst: { ($0 < 0x20 && $0 != 0x09) || $0 == 0x7F })
  }

  @Test func `the first byte that is not visible ASCII is found`() {
    expectSearch({ $0.firstInvisible(from: $1) }, findsFirst: { $0 < 0x21 || $0 > 0x7E })
  }

  @Test func `the end of a token is found`() {
    expectSearch({ $0.tokenEnd(from: $1) }, findsFirst: { !ByteSet.token.contains($0) })
  }

  @Test func `the end of a path is found`() {
    expectSearch({ $0.pathEnd(from: $1) }, findsFirst: { !ByteSet.path.contains($0) })
  }

  @Test func `a literal is compared byte by byte with letters of either case`() {
    // Short, of one word, and longer: the three ways of comparing.
    for literal in ["te", "a-b1/+.", "if-match", "transfer-encoding"] as [StaticString] {
      let text = Array(literal.description.utf8)
      for place in text.indices {
        for byte in UInt8.min...UInt8.max {
          var sample = text
          sample[place] = byte
          let isLetter = (0x61...0x7A).contains(text[place])
          let isSame = byte == text[place] || (isLetter && byte == text[place] - 0x20)
          #expect(sample.withView { $0.equalsIgnoringCase(literal) } == isSame, "\(literal), \(byte) at \(place)")
          #expect(sample.withView { $0.equals(literal) } == (byte == text[place]))
        }
      }
      #expect(!(text + [0x61]).withView { $0.equalsIgnoringCase(literal) })
      #expect(!text.dropLast().map { $0 }.withView { $0.equals(literal) })
    }
  }

  @Test func `two views are compared without the case of ASCII letters only`() {
    func isSame(_ left: String, _ right: String) -> Bool {
      Array(left.utf8).withView { left in Array(right.utf8).withView { left.equalsIgnoringCase($0) } }
    }
    #expect(isSame("Content_Length", "cONTENT_lENGTH"))
    #expect(!isSame("@[`{", "`{@["))
    #expect(!isSame("É", "é"))
    #expect(!isSame("a", "ab"))
  }

  @Test func `trimming takes spaces and tabs off both ends`() {
    func trimmed(_ text: String) -> String { Array(text.utf8).withView { $0.trimmed.string } }
    #expect(trimmed(" \t a b\t ") == "a b")
    #expect(trimmed(" \t ") == "")
    #expect(trimmed("\u{B}a") == "\u{B}a")
  }

  @Test func `an empty view has no bytes and no tokens`() {
    [UInt8]().withView { view in
      #expect(view.count == 0 && view.array == [] && view.string == "" && !view.isToken)
      #expect(view.equals(view) && view[0..<0].count == 0)
    }
  }

  @Test func `an index outside a view traps`() async {
    await #expect(processExitsWith: .failure) { [UInt8](repeating: 0, count: 3).withView { _ = $0[3] } }
    await #expect(processExitsWith: .failure) { [UInt8](repeating: 0, count: 3).withView { _ = $0[1..<4] } }
  }

  @Test(arguments: [0, 7, 10, 99, 100, 1_048_576, Int.max]) func `numbers are appended in decimal digits`(number: Int) {
    var output = Array("n=".utf8)
    output.append(decimal: number)
    #expect(String(decoding: output, as: UTF8.self) == "n=\(number)")
  }

  @Test func `four pieces are appended one behind the other`() {
    var output = Array("x".utf8)
    output.append(ByteView("ab"), ByteView("c:"), ByteView(""), ByteView("\r\n"))
    #expect(output == Array("xabc:\r\n".utf8))
  }
}
