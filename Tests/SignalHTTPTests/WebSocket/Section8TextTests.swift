// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

/// The grammar of RFC 3629 section 4, written down once more and used naively.
private let grammar: [[ClosedRange<UInt8>]] = [
  [0x00...0x7F],
  [0xC2...0xDF, 0x80...0xBF],
  [0xE0...0xE0, 0xA0...0xBF, 0x80...0xBF],
  [0xE1...0xEC, 0x80...0xBF, 0x80...0xBF],
  [0xED...0xED, 0x80...0x9F, 0x80...0xBF],
  [0xEE...0xEF, 0x80...0xBF, 0x80...0xBF],
  [0xF0...0xF0, 0x90...0xBF, 0x80...0xBF, 0x80...0xBF],
  [0xF1...0xF3, 0x80...0xBF, 0x80...0xBF, 0x80...0xBF],
  [0xF4...0xF4, 0x80...0x8F, 0x80...0xBF, 0x80...0xBF],
]

enum Verdict: Equatable {
  case whole
  /// Ends inside of a character that can still become one.
  case open
  /// No continuation makes it UTF-8; the index of the first byte that shows it.
  case bad(Int)
}

/// What a text is, by the grammar.
func judge(_ text: [UInt8]) -> Verdict {
  var start = 0
  while start < text.count {
    var longest = 0
    var next: Int?
    for form in grammar {
      var matched = 0
      while matched < form.count, start + matched < text.count, form[matched].contains(text[start + matched]) {
        matched += 1
      }
      if matched == form.count { next = start + matched }
      longest = max(longest, matched)
    }
    if let next {
      start = next
    } else if start + longest == text.count {
      return .open
    } else {
      return .bad(start + longest)
    }
  }
  return .whole
}

/// What the validator says when fed byte by byte, which also tells where it fails.
private func validateBytewise(_ text: [UInt8]) -> Verdict {
  var validator = UTF8Validator()
  for (index, byte) in text.enumerated() where !validator.consume([byte].span) { return .bad(index) }
  return validator.isComplete ? .whole : .open
}

private func validate(_ pieces: [[UInt8]]) -> Verdict? {
  var validator = UTF8Validator()
  for piece in pieces {
    if !validator.consume(piece.span) { return nil }
  }
  return validator.isComplete ? .whole : .open
}

@Suite("Handling of text, RFC 6455 section 8.1")
struct Section8TextTests {
  @Suite("UTF-8, RFC 3629")
  struct Validator {
    /// Each class of byte, with the borders of every range.
    static let edges: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
      0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF7, 0xF8, 0xFB, 0xFC, 0xFE, 0xFF,
    ]

    @Test func `all texts of one and two bytes are judged by the grammar`() {
      for first in UInt8.min...UInt8.max {
        #expect(validateBytewise([first]) == judge([first]))
        for second in UInt8.min...UInt8.max where validateBytewise([first, second]) != judge([first, second]) {
          Issue.record("\([first, second])")
        }
      }
    }

    @Test func `all texts of three and four bytes from the edges are judged by the grammar`() {
      for first in Self.edges {
        for second in Self.edges {
          for third in Self.edges {
            let three = [first, second, third]
            if validateBytewise(three) != judge(three) { Issue.record("\(three)") }
            guard first >= 0xED else { continue }
            for fourth in [0x41, 0x7F, 0x80, 0xBF, 0xC0, 0xF0, 0xFF] as [UInt8] {
              let four = three + [fourth]
              if validateBytewise(four) != judge(four) { Issue.record("\(four)") }
            }
          }
        }
      }
    }

    @Test func `every character there is comes through, and its encoding is the library's`() {
      var validator = UTF8Validator()
      var surrogates = 0
      for value in UInt32(0)...0x10FFFF {
        guard let scalar = Unicode.Scalar(value) else {
          surrogates += 1
          continue
        }
        let bytes = Array(UTF8.encode(scalar)!)
        if !validator.consume(bytes.span) || !validator.isComplete {
          Issue.record("U+\(String(value, radix: 16)) refused")
          return
        }
      }
      #expect(surrogates == 2048)
    }

    @Test func `every surrogate is refused at its second byte`() {
      for value in UInt32(0xD800)...0xDFFF {
        let bytes = [0xED, UInt8(0x80 | (value >> 6 & 0x3F)), UInt8(0x80 | (value & 0x3F))]
        #expect(validateBytewise(bytes) == .bad(1))
      }
    }

    @Test func `a character is found, and a wrong byte refused, wherever it stands among ASCII`() {
      let specials: [[UInt8]] = [
        [], [0xC3, 0xA9], [0xE6, 0xBC, 0xA2], [0xF0, 0x9F, 0x9C, 0x81], [0x80], [0xC0, 0x80], [0xED, 0xA0, 0x80],
        [0xF4, 0x90], [0xF8], [0xE6, 0xBC, 0x41], [0xE6],
      ]
      for special in specials {
        for before in 0...70 {
          for after in [0, 1, 7, 8, 15, 16, 17, 40] {
            let text = [UInt8](repeating: 0x61, count: before) + special + [UInt8](repeating: 0x7A, count: after)
            let verdict = judge(text)
            let expected: Verdict? = if case .bad = verdict { nil } else { verdict }
            if validate([text]) != expected { Issue.record("\(special) behind \(before), before \(after)") }
          }
        }
      }
    }

    @Test func `ASCII inside of a character is refused, however much of it there is`() {
      // The character in front keeps the validator from passing over the beginning as ASCII.
      for before in 0...40 {
        for inside in 1...40 {
          let text =
            [0xC3, 0xA9] + [UInt8](repeating: 0x61, count: before) + [0xE6] + [UInt8](repeating: 0x61, count: inside)
            + [0xBC, 0xA2]
          if validate([text]) != nil { Issue.record("\(inside) bytes inside, behind \(before)") }
        }
      }
    }

    @Test func `random texts are judged by the grammar however they are cut`() throws {
      var generator = SplitMix(state: 3629)
      for round in 0..<80 {
        var text: [UInt8] = []
        for _ in 0..<Int.random(in: 0...60, using: &generator) {
          switch Int.random(in: 0...9, using: &generator) {
          case 0...3: text += [UInt8](repeating: 0x20, count: Int.random(in: 1...20, using: &generator))
          case 4: text.append(contentsOf: "é".utf8)
          case 5: text.append(contentsOf: "漢".utf8)
          case 6...8: text.append(contentsOf: "🜁".utf8)
          default:
            if round % 2 == 0 { text.append(Self.edges.randomElement(using: &generator)!) }
          }
        }
        let verdict = judge(text)
        let expected: Verdict? = if case .bad = verdict { nil } else { verdict }
        #expect(try Splits.all(of: text, seed: UInt64(round)) { validate($0) } == expected)
      }
    }
  }

  @Suite("Text messages")
  struct Messages {
    static let valid: [String] = [
      "", "Hello", "κόσμε", "Hello-µ@ßöäüàá-UTF-8!!", "\u{0}", "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{FFFD}",
      "\u{FFFF}", "\u{10000}", "\u{10FFFF}", "\u{D7FF}", "\u{E000}", "\u{FFFE}", "\u{1FFFE}", "\u{10FFFE}",
    ]

    @Test(arguments: valid)
    func `valid text is delivered, fragmented at every place and cut at every place`(string: String) throws {
      let payload = Array(string.utf8)
      #expect(try everyWay(frame(.text, payload)).told == [.text(payload)])
      for place in 0...payload.count {
        let input =
          frame(.text, Array(payload[..<place]), fin: false) + frame(.ping, [0xFF])
          + frame(.continuation, Array(payload[place...]))
        #expect(try everyWay(input).told == [.replied, .text(payload)])
      }
      let single = payload.enumerated().flatMap { index, byte in
        frame(index == 0 ? .text : .continuation, [byte], fin: index == payload.count - 1)
      }
      if !payload.isEmpty { #expect(receive([single]).told == [.text(payload)]) }
    }

    static let invalid: [[UInt8]] = [
      // Unexpected continuation bytes, lonely starts.
      [0x80], [0xBF], [0x80, 0xBF, 0x80], [0xC0, 0x20], [0xE0, 0x20], [0xF0, 0x20], [0xC3], [0xE6, 0xBC], [0xF0, 0x9F],
      // Impossible bytes.
      [0xFE], [0xFF], [0xFE, 0xFE, 0xFF, 0xFF], [0xF5, 0x80, 0x80, 0x80], [0xF8, 0x88, 0x80, 0x80, 0x80],
      [0xFC, 0x84, 0x80, 0x80, 0x80, 0x80],
      // Overlong.
      [0xC0, 0xAF], [0xE0, 0x80, 0xAF], [0xF0, 0x80, 0x80, 0xAF], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF],
      [0xF0, 0x8F, 0xBF, 0xBF], [0xC0, 0x80], [0xE0, 0x80, 0x80], [0xF0, 0x80, 0x80, 0x80],
      // Surrogates, alone and in pairs.
      [0xED, 0xA0, 0x80], [0xED, 0xAD, 0xBF], [0xED, 0xAE, 0x80], [0xED, 0xAF, 0xBF], [0xED, 0xB0, 0x80],
      [0xED, 0xBE, 0x80], [0xED, 0xBF, 0xBF], [0xED, 0xA0, 0x80, 0xED, 0xB0, 0x80],
      // Above U+10FFFF.
      [0xF4, 0x90, 0x80, 0x80], [0xF7, 0xBF, 0xBF, 0xBF],
    ]

    @Test(arguments: invalid)
    func `text that is not UTF-8 is answered 1007`(bad: [UInt8]) throws {
      for text in [bad, Array("κό".utf8) + bad, Array("plain ASCII, more than sixteen".utf8) + bad] {
        #expect(try everyWay(frame(.text, text)) == failure(.invalidText))
        for place in 0...text.count {
          let input =
            frame(.text, Array(text[..<place]), fin: false) + frame(.continuation, Array(text[place...]))
          #expect(receive([input]) == failure(.invalidText))
          #expect(receive(input.map { [$0] }) == failure(.invalidText))
        }
      }
    }

    @Test(arguments: invalid)
    func `the same bytes in a binary message are nobody's business`(bad: [UInt8]) {
      #expect(receive([frame(.binary, bad)]).told == [.binary(bad)])
    }

    @Test(arguments: invalid)
    func `the connection fails at the first wrong byte, inside of a frame and of a message`(bad: [UInt8]) {
      let text = Array("κόσμε".utf8) + bad + Array("edited".utf8)
      guard case .bad(let place) = judge(text) else {
        Issue.record("not bad")
        return
      }
      for fin in [true, false] {
        let input = frame(.text, text, fin: fin)
        let header = input.count - text.count
        #expect(receive([Array(input[..<(header + place)])]).told.isEmpty)
        #expect(receive([Array(input[...(header + place)])]) == failure(.invalidText))
      }
    }

    @Test func `a character that the last fragment leaves open is refused`() throws {
      let input = frame(.text, [0xE6], fin: false) + frame(.continuation, [0xBC])
      #expect(try everyWay(input) == failure(.invalidText))
    }

    @Test func `a character left open does not reach into the next message`() {
      let input = frame(.text, [0xC3, 0xA9]) + frame(.binary, [0xC3]) + frame(.text, [0xA9])
      #expect(
        receive([input]) == failure(.invalidText, after: [.text([0xC3, 0xA9]), .binary([0xC3])]))
    }
  }
}
