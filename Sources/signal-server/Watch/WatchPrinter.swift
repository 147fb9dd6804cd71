// SPDX-License-Identifier: MIT
import JSON

/// Formats the events of `watch`, one line each, for people.
///
///     08:15:02.114  kitchen/temperature  21.5
///     08:15:09.870  kitchen/temperature  21.5  → 22.0
///     08:16:31.002  attic/temperature    23.0  → 20.0  (left)
///     08:17:00.551  attic/temperature    20.0  → (deleted)
///
/// Columns are as wide as the widest so far, within a bound: lines are printed one by one, and none waits for the next.
/// The initial snapshot comes at once, and the columns are sized for it before its first line.
struct WatchPrinter: Sendable {
  /// How it looks.
  struct Style: Sendable {
    /// What is written for the time of an event; nil to leave it out.
    var time: (@Sendable (String) -> String)?
    var isColoured = false
  }

  private let style: Style
  private var pathWidth = 0
  private var valueWidth = 0
  private static let widestPath = 48
  private static let widestValue = 24

  init(_ style: Style = Style()) { self.style = style }

  /// Makes the columns as wide as a line needs.
  mutating func makeRoom(for line: WatchFold.Line) { _ = text(for: line, at: "") }

  /// The line, without its end.
  ///
  /// - Parameter time: When it happened, as the server wrote it; empty when that is not known.
  mutating func text(for line: WatchFold.Line, at time: String = "") -> String {
    let text =
      switch line {
      case .present(let path, let value), .signal(let path, let value): row(path, value, "")
      case .set(let path, let old, let new, let entered):
        row(path, old, " → " + new.shown.in(.bold, style) + (entered ? "  " + "(entered)".in(.green, style) : ""))
      case .deleted(let path, let old): row(path, old, " → " + "(deleted)".in(.red, style))
      case .expired(let path, let old): row(path, old, " → " + "(expired)".in(.red, style))
      case .left(let path, let old, let new):
        row(path, old, " → " + (new.map { $0.shown + "  " } ?? "") + "(left)".in(.yellow, style))
      }
    guard let shown = style.time?(time) else { return text }
    return shown.in(.dim, style) + "  " + text
  }

  private mutating func row(_ path: String, _ old: JSONText?, _ rest: String) -> String {
    let path = path.printable
    pathWidth = max(pathWidth, min(path.count, Self.widestPath))
    let start = path.in(.cyan, style) + Self.space(pathWidth - path.count) + "  "
    guard !rest.isEmpty else {
      // A value that stands alone is shown whole, and makes room for itself as an old one.
      let value = old.map(\.shown) ?? ""
      valueWidth = max(valueWidth, min(value.count, Self.widestValue))
      return start + value
    }
    var before = old.map(\.shown) ?? ""
    if before.count > Self.widestValue { before = before.prefix(Self.widestValue - 1) + "…" }
    valueWidth = max(valueWidth, before.count)
    return start + before.in(.dim, style) + Self.space(valueWidth - before.count) + " " + rest
  }

  private static func space(_ width: Int) -> String { String(repeating: " ", count: max(0, width)) }
}

extension String {
  fileprivate func `in`(_ rendition: Rendition, _ style: WatchPrinter.Style) -> String {
    self.in(rendition, isColoured: style.isColoured)
  }
}

extension JSONText {
  fileprivate var shown: String { description.printable }
}
