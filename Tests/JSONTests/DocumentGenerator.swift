// SPDX-License-Identifier: MIT

/// Random documents, each with the compact form it must have.
struct DocumentGenerator {
  private var random: SeededGenerator
  private var names = 0

  init(seed: UInt64) { random = SeededGenerator(seed: seed) }

  /// A valid document with white space between its tokens, and the same without.
  ///
  /// Member names differ within a document; strings have no half surrogate pairs, numbers stay in the range of a
  /// double: so that every reader agrees on what it means.
  mutating func document() -> (spaced: [UInt8], compact: [UInt8]) {
    var tokens: [String] = []
    appendValue(to: &tokens, depth: 0)
    let isSpaced = random.once(in: 2)
    var spaced = isSpaced ? space() : ""
    for token in tokens {
      spaced += token
      if isSpaced { spaced += space() }
    }
    return (Array(spaced.utf8), Array(tokens.joined().utf8))
  }

  /// One to three bytes changed, removed, inserted, or the rest cut off.
  mutating func damage(_ source: [UInt8]) -> [UInt8] {
    var source = source
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      guard !source.isEmpty else { return source }
      let place = Int.random(in: source.indices, using: &random)
      let likely =
        Array(#"[]{}",:\0123456789-+.eEtfnu "#.utf8) + [0x00, 0x1F, 0x7F, 0x80, 0xC0, 0xE2, 0xED, 0xF4, 0xFF]
      let byte = likely[Int.random(in: likely.indices, using: &random)]
      switch Int.random(in: 0..<8, using: &random) {
      case 0...2: source[place] = byte
      case 3, 4: source.insert(byte, at: place)
      case 5, 6: source.remove(at: place)
      default: source.removeSubrange(place...)
      }
    }
    return source
  }

  private mutating func space() -> String {
    let length = random.once(in: 3) ? Int.random(in: 0...20, using: &random) : 0
    return String((0..<length).map { _ in random.once(in: 4) ? "\n" : random.once(in: 6) ? "\t" : " " })
  }

  private mutating func appendValue(to tokens: inout [String], depth: Int) {
    switch Int.random(in: 0..<(depth < 5 ? 10 : 6), using: &random) {
    case 0: tokens.append(["null", "true", "false"][Int.random(in: 0...2, using: &random)])
    case 1...3: tokens.append(number())
    case 4, 5: tokens.append(string(prefix: ""))
    case 6, 7:
      tokens.append("[")
      for index in 0..<Int.random(in: 0...6, using: &random) {
        if index > 0 { tokens.append(",") }
        appendValue(to: &tokens, depth: depth + 1)
      }
      tokens.append("]")
    default:
      tokens.append("{")
      for index in 0..<Int.random(in: 0...6, using: &random) {
        if index > 0 { tokens.append(",") }
        names += 1
        tokens.append(string(prefix: "\(names)"))
        tokens.append(":")
        appendValue(to: &tokens, depth: depth + 1)
      }
      tokens.append("}")
    }
  }

  private mutating func number() -> String {
    var digits = String(Int.random(in: 0...[9, 1000, 1 << 53][Int.random(in: 0...2, using: &random)], using: &random))
    if random.once(in: 3) { digits += "." + String(UInt32.random(in: 0 ... .max, using: &random)) }
    if random.once(in: 4) {
      let sign = ["", "+", "-"][Int.random(in: 0...2, using: &random)]
      digits += (random.once(in: 2) ? "e" : "E") + sign + String(Int.random(in: 0...40, using: &random))
    }
    return (random.once(in: 3) ? "-" : "") + digits
  }

  private mutating func string(prefix: String) -> String {
    let pieces = [
      "a", "B", "7", " ", "/", "{", "}", "[", "]", ":", ",", "plain text", "é", "ß", "€", "日本", "😀", "𝄞", "\u{7F}",
      #"\""#, #"\\"#, #"\/"#, #"\b"#, #"\f"#, #"\n"#, #"\r"#, #"\t"#, #"\u0041"#, #"\u00e9"#, #"\u20AC"#,
      #"\ud83d\ude00"#, #"\u0000"#, #"\u001f"#,
    ]
    let count = random.once(in: 5) ? Int.random(in: 0...40, using: &random) : Int.random(in: 0...4, using: &random)
    let body = (0..<count).map { _ in pieces[Int.random(in: pieces.indices, using: &random)] }.joined()
    return "\"" + prefix + body + "\""
  }
}
