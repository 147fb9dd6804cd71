// SPDX-License-Identifier: MIT
import JSON

/// Writes what `watch` has to tell as one line per event, for people.
///
///     kitchen/temperature  21.5
///     kitchen/temperature  21.5  → 22.0
///     attic/temperature    23.0  → 20.0  (left)
///     attic/temperature    20.0  → (deleted)
///
/// Columns are as wide as the widest so far, within a bound: lines come one by one, and none waits for the next.
struct WatchPrinter: Sendable {
  private var pathWidth = 0
  private var valueWidth = 0
  private static let widestPath = 48
  private static let widestValue = 24

  /// The line, without its end.
  mutating func text(for line: WatchFold.Line) -> String {
    switch line {
    case .present(let path, let value), .signal(let path, let value): row(path, value, "")
    case .set(let path, let old, let new, let entered):
      row(path, old, " → \(shown(new))" + (entered ? "  (entered)" : ""))
    case .deleted(let path, let old): row(path, old, " → (deleted)")
    case .expired(let path, let old): row(path, old, " → (expired)")
    case .left(let path, let old, let new): row(path, old, " → " + (new.map { "\(shown($0))  (left)" } ?? "(left)"))
    }
  }

  private mutating func row(_ path: String, _ old: JSONText?, _ rest: String) -> String {
    let path = path.printable
    pathWidth = max(pathWidth, min(path.count, Self.widestPath))
    guard !rest.isEmpty else {
      // A value that stands alone is shown whole, and makes room for itself as an old one.
      let value = old.map(shown) ?? ""
      valueWidth = max(valueWidth, min(value.count, Self.widestValue))
      return padded(path, pathWidth) + "  " + value
    }
    var before = old.map(shown) ?? ""
    if before.count > Self.widestValue { before = before.prefix(Self.widestValue - 1) + "…" }
    valueWidth = max(valueWidth, before.count)
    return padded(path, pathWidth) + "  " + padded(before, valueWidth) + " " + rest
  }

  private func shown(_ value: JSONText) -> String { value.description.printable }

  private func padded(_ text: String, _ width: Int) -> String {
    text + String(repeating: " ", count: max(0, width - text.count))
  }
}
