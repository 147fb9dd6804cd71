// SPDX-License-Identifier: MIT

/// The order in which the lines of an export are imported, and how many of them have been.
struct ImportProgress {
  /// The lines in the order of the file.
  private let lines: [Int]
  /// The lines with values, those with formulas, and the others, each in the order of the file.
  private let kinds: [[Int]]
  /// How many have been imported: values come first, then formulas.
  private(set) var done = 0
  /// How much was deleted for what is imported, or because it is not in the file.
  var deleted = 0

  init(_ items: [(line: Int, item: ExportedItem)]) {
    var kinds: [[Int]] = [[], [], []]
    for (line, item) in items {
      switch item {
      case .property: kinds[0].append(line)
      case .computed: kinds[1].append(line)
      case .timer, .signal: kinds[2].append(line)
      }
    }
    lines = items.map(\.line)
    self.kinds = kinds
  }

  /// Notes that so many more lines have been imported.
  mutating func advance(by count: Int) { done += count }

  /// What has been imported, in a clause.
  ///
  /// - Parameter isCertain: Whether it is known what has become of the last request.
  func text(isCertain: Bool) -> String {
    let deleted = deleted > 0 ? "; \(deleted) deleted" : ""
    if isCertain { return imported + deleted }
    let known = done == 0 ? "nothing is known to have been imported" : imported
    return known + deleted + "; what became of the last request is not known"
  }

  private var imported: String {
    if done == 0 { return "nothing has been imported" }
    if done == lines.count { return "all lines have been imported" }
    let order = kinds.flatMap(\.self)
    let last = order[done - 1]
    // As many lines as there are up to the last of them.
    if order[..<done].max() == lines[done - 1] { return "the lines up to \(lines[done - 1]) have been imported" }
    let (values, formulas) = (kinds[0].count, kinds[0].count + kinds[1].count)
    let whole = done >= formulas ? "values and formulas" : "values"
    if done < values { return "of the lines with values those up to \(last) have been imported, and no others" }
    if done == values || done == formulas { return "the lines with \(whole) have been imported, and no others" }
    let others = done > formulas ? "the others" : "those with formulas"
    return "the lines with \(whole) have been imported, and of \(others) those up to \(last)"
  }
}
