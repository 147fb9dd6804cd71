// SPDX-License-Identifier: MIT

/// One line of a ``Canvas``: texts, each in a rendition of its own.
struct CanvasLine: Equatable, Sendable {
  struct Part: Equatable, Sendable {
    var text: String
    var rendition: Rendition?
  }

  private(set) var parts: [Part] = []

  init(_ text: String = "", _ rendition: Rendition? = nil) { add(text, rendition) }

  mutating func add(_ text: String, _ rendition: Rendition? = nil) {
    if !text.isEmpty { parts.append(Part(text: text, rendition: rendition)) }
  }

  /// The line for a terminal.
  ///
  /// - Parameter width: How many columns there are; nil for as many as it takes.
  func text(width: Int?, isColoured: Bool) -> String {
    var left = width ?? .max
    var line = ""
    for part in parts where left > 0 {
      let text = width == nil ? part.text : part.text.cut(toColumns: left)
      left -= width == nil ? 0 : text.columns
      line += text.in(part.rendition, isColoured: isColoured)
    }
    return line
  }
}

/// Where lines are drawn again and again: in place on a terminal, elsewhere one drawing after the other.
///
/// On a terminal the cursor stays below the lines, so that whatever ends the process leaves the last drawing to read, and
/// nothing to restore.
struct Canvas {
  /// The size of a terminal, in characters.
  struct Size: Equatable, Sendable {
    var columns: Int
    var rows: Int
  }

  /// The present size; nil where the cursor cannot be moved.
  let size: () -> Size?
  let isColoured: Bool
  private let write: ([UInt8]) -> Void
  private var drawn = 0
  private var lastSize: Size?

  init(isColoured: Bool, size: @escaping () -> Size?, write: @escaping ([UInt8]) -> Void) {
    self.isColoured = isColoured
    self.size = size
    self.write = write
  }

  /// The standard output.
  static var standardOutput: Canvas {
    Canvas(isColoured: Terminal.isColoured, size: { Terminal.size }, write: Terminal.print(raw:))
  }

  /// Draws lines instead of those before, or behind them where the cursor cannot be moved.
  ///
  /// Lines that do not fit on the terminal are left out, and long ones cut: the cursor could not come back over them.
  mutating func draw(_ lines: [CanvasLine]) {
    guard let size = size() else {
      return write(Array(lines.map { $0.text(width: nil, isColoured: isColoured) + "\n" }.joined().utf8))
    }
    // After a change of its size nobody knows where the terminal has put the lines of before.
    var text = size == lastSize || lastSize == nil ? "" : "\u{1B}[2J\u{1B}[H"
    if text.isEmpty, drawn > 0 { text += "\u{1B}[\(drawn)A" }
    let shown = lines.prefix(max(size.rows - 1, 1))
    for line in shown { text += "\r" + line.text(width: size.columns, isColoured: isColoured) + "\u{1B}[K\n" }
    write(Array((text + "\u{1B}[J").utf8))
    drawn = shown.count
    lastSize = size
  }
}
