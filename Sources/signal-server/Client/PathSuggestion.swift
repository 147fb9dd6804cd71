// SPDX-License-Identifier: MIT

/// A suggestion for a path without a property: the one that was probably meant, or those beneath the path.
struct PathSuggestion {
  /// The number of properties examined for it.
  private static let examined = 200
  /// The minimum number of patterns that a server accepts, minus the two that are always sent.
  private static let variants = 30

  private let path: String
  private let segments: [Substring]

  init(_ path: String) {
    self.path = path
    segments = path.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// The hint, as the second half of a sentence; nil when there is none, or the server does not answer.
  ///
  /// One request, for one page.
  func hint(from client: ClientOptions) -> String? {
    let query = patterns.map { (name: "match", value: $0) } + [(name: "limit", value: "\(Self.examined)")]
    var pages = PropertyPages(client, query)
    guard let found = try? pages.next() else { return nil }
    return hint(among: found.map(\.path))
  }

  /// The patterns to search: one segment may differ, the last may be elsewhere, and more may follow.
  var patterns: [String] {
    let variants = segments.indices.suffix(Self.variants).map { place in
      var variant = segments
      variant[place] = "*"
      return variant.joined(separator: "/")
    }
    return variants + ["\(path)/**", "**/\(segments.last ?? "")"]
  }

  /// The hint when these paths exist.
  func hint(among paths: [String]) -> String? {
    let wanted = Array(path.utf8)
    let below = paths.contains { $0.hasPrefix(path + "/") }
    let others = paths.filter { !$0.hasPrefix(path + "/") }
    let near = others.map { ($0, Suggestion.editDistance(wanted, Array($0.utf8))) }.min { $0.1 < $1.1 }
    if let near, near.1 <= max(1, wanted.count / 3) { return "did you mean \(near.0)?" }
    if below { return "there are properties below it: list '\(path)/**'" }
    let last = segments.last ?? ""
    return others.first { $0.hasSuffix("/\(last)") }.map { "did you mean \($0)?" }
  }
}
