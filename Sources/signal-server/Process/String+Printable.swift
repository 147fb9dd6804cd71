// SPDX-License-Identifier: MIT

extension String {
  /// The text with everything replaced by an escape that a terminal would act on instead of showing: control
  /// characters, which could move the cursor or start a command, and marks that reverse the direction of writing.
  var printable: String {
    let isHarmless = utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    if isHarmless { return self }
    return unicodeScalars.reduce(into: "") { line, scalar in
      switch scalar.properties.generalCategory {
      case .control, .lineSeparator, .paragraphSeparator: line += scalar.escaped(asASCII: true)
      case .format where scalar.isDirectionMark: line += scalar.escaped(asASCII: true)
      default: line.unicodeScalars.append(scalar)
      }
    }
  }
}

extension Unicode.Scalar {
  /// Embeddings, overrides and isolates of UAX #9.
  ///
  /// Other format characters, such as the joiners of emoji, are content.
  fileprivate var isDirectionMark: Bool {
    (0x202A...0x202E).contains(value) || (0x2066...0x2069).contains(value) || value == 0x200E || value == 0x200F
  }
}
