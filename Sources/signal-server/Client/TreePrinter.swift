// SPDX-License-Identifier: MIT

/// Writes properties, which come in the order of their paths, as a tree for people.
///
///     kitchen
///       light        {"on":true}
///       temperature  21.5
struct TreePrinter {
  private static let widest = 48
  private var last: [Substring] = []

  /// The lines of a page; its values stand below each other.
  mutating func lines(for page: [(path: String, value: String)]) -> [String] {
    var rows: [(name: String, value: String)] = []
    for (path, value) in page {
      let segments = path.split(separator: "/")
      var shared = zip(segments, last).prefix { $0 == $1 }.count
      while shared < segments.count - 1 {
        rows.append((Self.indented(segments[shared], by: shared), ""))
        shared += 1
      }
      rows.append((Self.indented(segments[segments.count - 1], by: segments.count - 1), value.printable))
      last = segments
    }
    let width = min(rows.filter { !$0.value.isEmpty }.map(\.name.count).max() ?? 0, Self.widest)
    return rows.map { name, value in
      value.isEmpty ? name : name + String(repeating: " ", count: max(0, width - name.count)) + "  " + value
    }
  }

  private static func indented(_ segment: Substring, by depth: Int) -> String {
    String(repeating: "  ", count: depth) + String(segment).printable
  }
}
