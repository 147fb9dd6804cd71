// SPDX-License-Identifier: MIT

extension Character {
  /// How many columns of a terminal it takes: two for wide letters (UAX #11) and emoji, otherwise one.
  var columns: Int {
    guard let scalar = unicodeScalars.first, scalar.value >= 0x1100 else { return 1 }
    if scalar.properties.isEmojiPresentation { return 2 }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97F, 0xAC00...0xD7A3,
      0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6, 0x1B000...0x1B2FF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }
}

extension String {
  /// How many columns of a terminal it takes.
  var columns: Int { reduce(0) { $0 + $1.columns } }

  /// As much of it as fits into so many columns, with `…` at the end when that is not all.
  func cut(toColumns limit: Int) -> String {
    // Hardly any line is that long, and counting bytes is cheap.
    guard utf8.count > limit, columns > limit else { return self }
    var text = ""
    var width = 1
    for character in self {
      width += character.columns
      if width > limit { break }
      text.append(character)
    }
    return limit > 0 ? text + "…" : ""
  }

  /// The text, filled up with spaces.
  func padded(toColumns width: Int, atStart: Bool = false) -> String {
    let space = String(repeating: " ", count: max(0, width - columns))
    return atStart ? space + self : self + space
  }
}
