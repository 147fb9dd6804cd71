// SPDX-License-Identifier: MIT

/// Finds the name that a mistyped one was probably meant to be.
enum Suggestion {
  /// The candidate nearest to `name`, or nil when none is near enough to be worth saying.
  ///
  /// Case and the separators `.`, `_` and `-` do not count, and a setting written without its group is recognised:
  /// `head_bytes` is near `http.head-bytes`. Of equally near candidates the first one wins.
  static func nearest(to name: String, among candidates: [String]) -> String? {
    let wanted = folded(name)
    var best: (candidate: String, distance: Int)?
    for candidate in candidates {
      let whole = folded(candidate)
      var distance = editDistance(wanted, whole)
      if let dot = candidate.firstIndex(of: ".") {
        // One more than an exact match, so that a full name always wins over a tail.
        distance = min(distance, editDistance(wanted, folded(String(candidate[dot...].dropFirst()))) + 1)
      }
      if distance < best?.distance ?? Int.max { best = (candidate, distance) }
    }
    guard let best, best.distance <= max(1, wanted.count / 3) else { return nil }
    return best.candidate
  }

  private static func folded(_ name: String) -> [UInt8] {
    name.lowercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "_") && $0 != UInt8(ascii: ".") }
  }

  /// Optimal string alignment: insertions, deletions, replacements and swaps of neighbours, each counting one.
  static func editDistance(_ a: [UInt8], _ b: [UInt8]) -> Int {
    if a.isEmpty || b.isEmpty { return a.count + b.count }
    var twoBack = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    var current = previous
    for i in 1...a.count {
      current[0] = i
      for j in 1...b.count {
        let replaced = previous[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)
        current[j] = min(previous[j] + 1, current[j - 1] + 1, replaced)
        if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
          current[j] = min(current[j], twoBack[j - 2] + 1)
        }
      }
      (twoBack, previous, current) = (previous, current, twoBack)
    }
    return previous[b.count]
  }
}
