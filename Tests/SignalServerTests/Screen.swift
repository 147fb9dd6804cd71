// SPDX-License-Identifier: MIT

@testable import signal_server

/// What stands on a terminal after what was written to it: text, line ends, and the few commands of ``Canvas``.
final class Screen {
  var size: Canvas.Size?
  private(set) var lines: [[Character]] = [[]]
  /// What was written, as it came.
  private(set) var written: [String] = []
  private var row = 0
  private var column = 0

  init(_ size: Canvas.Size?) { self.size = size }

  func canvas(isColoured: Bool = false) -> Canvas {
    Canvas(isColoured: isColoured, size: { self.size }, write: { self.write(String(decoding: $0, as: UTF8.self)) })
  }

  /// The lines that are not empty.
  var text: [String] {
    lines.map { String($0).replacing(/[ ]+$/, with: "") }.filter { !$0.isEmpty }
  }

  private func write(_ text: String) {
    written.append(text)
    var rest = text[...]
    while let match = rest.firstMatch(of: /\u{1B}\[(\d*)([A-Za-z])/) {
      put(rest[..<match.range.lowerBound])
      obey(match.2, Int(match.1) ?? 0)
      rest = rest[match.range.upperBound...]
    }
    put(rest)
  }

  private func put(_ text: Substring) {
    for character in text {
      switch character {
      case "\r": column = 0
      case "\n", "\r\n":
        row += 1
        column = 0
        if row == lines.count { lines.append([]) }
      default:
        lines[row] += Array(repeating: " ", count: max(0, column + 1 - lines[row].count))
        lines[row][column] = character
        column += 1
      }
    }
  }

  private func obey(_ command: Substring, _ number: Int) {
    switch command {
    case "A": row -= number
    case "K": lines[row].removeSubrange(min(column, lines[row].count)...)
    case "J" where number == 2:
      lines = [[]]
      (row, column) = (0, 0)
    case "J":
      lines[row].removeSubrange(min(column, lines[row].count)...)
      lines.removeSubrange((row + 1)...)
    case "H": (row, column) = (0, 0)
    case "m": break
    default: fatalError("an unknown command: \(command)")
    }
  }
}
