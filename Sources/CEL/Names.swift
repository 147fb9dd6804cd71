// SPDX-License-Identifier: MIT

/// Names: which are reserved, and which the author of a misspelt one may have meant.
enum Names {
  /// Whether it is a word of the grammar: never a name, not even of a field.
  static func isKeyword(_ name: String) -> Bool {
    switch name.utf8.count {
    case 2: name == "in"
    case 4: name == "null" || name == "true"
    case 5: name == "false"
    default: false
    }
  }

  /// Words kept free for languages that embed expressions; fine as names of fields.
  static let reserved: Set<String> = [
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void", "while",
  ]

  /// The candidate that differs from the name in the fewest edits, if it is near enough to be meant.
  static func nearest(to name: String, among candidates: some Sequence<String>) -> String? {
    let wanted = Array(name.utf8.prefix(64))
    var best: (name: String, distance: Int)?
    for candidate in candidates {
      let distance = distance(wanted, Array(candidate.utf8.prefix(64)))
      if distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    guard let best, best.distance <= max(1, wanted.count / 3) else { return nil }
    return best.name
  }

  /// `; did you mean 'x'?`, or nothing.
  static func suggestion(for name: String, among candidates: some Sequence<String>) -> String {
    nearest(to: name, among: candidates).map { "; did you mean '\($0)'?" } ?? ""
  }

  /// Edits that make one of the other: insert, delete, replace, swap of neighbours.
  ///
  /// Case costs nothing.
  private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    let lower = { (byte: UInt8) in byte &- 65 < 26 ? byte | 0x20 : byte }
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var cost = min(last[j + 1], row[j]) + 1
        cost = min(cost, last[j] + (lower(a[i]) == lower(b[j]) ? 0 : 1))
        if i > 0, j > 0, lower(a[i]) == lower(b[j - 1]), lower(a[i - 1]) == lower(b[j]) {
          cost = min(cost, beforeLast[j - 1] + 1)
        }
        row.append(cost)
      }
      (beforeLast, last) = (last, row)
    }
    return last[b.count]
  }
}
