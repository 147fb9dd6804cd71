// SPDX-License-Identifier: MIT

/// What a terminal can do with a text (ECMA-48 §8.3.117).
enum Rendition: Int, Sendable {
  case bold = 1
  case dim = 2
  case reversed = 7
  case red = 31
  case green = 32
  case yellow = 33
  case cyan = 36
}

extension String {
  /// The text in a rendition, if colours are wanted and there is any text.
  func `in`(_ rendition: Rendition?, isColoured: Bool) -> String {
    guard let rendition, isColoured, !isEmpty else { return self }
    return "\u{1B}[\(rendition.rawValue)m\(self)\u{1B}[0m"
  }
}
