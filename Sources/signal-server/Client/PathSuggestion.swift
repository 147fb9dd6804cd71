// SPDX-License-Identifier: MIT

/// What there is near a path at which there is nothing: the property that was probably meant, or what is below it.
struct PathSuggestion {
  /// How many properties are looked at for it.
  private static let examined = 200
  /// How many patterns a server takes at least, with the two that are always asked for left out.
  private static let variants = 30

  private let path: String
  private let segments: [Substring]

  init(_ path: String) {
    self.path = path
    segments = path.split(separator: "/", omittingEmptySubsequences: false)
  }

  /// What to tell, as the second half of a sentence; nil when there is nothing near, or the server does not say.
  ///
  /// One request, for one page.
  func hint(from client: ClientOptions) -> String? {
    let query = patterns.map { (name: "match", value: $0) } + [(name: "limit", value: "\(Self.examined)")]
    var pages = PropertyPages(client, query)
    guard let found = try? pages.next() else { return nil }
    return hint(among: found.map(\.path))
  }

  /// Where to look: one segment may be another one, the last may be somewhere else, and there may be more behind.
  var patterns: [String] {
    let variants = segments.indices.suffix(Self.variants).map { place in
      var variant = segments
      variant[place] = "*"
      return variant.joined(separator: "/")
    }
    return variants + ["\(path)/**", "**/\(segments.last ?? "")"]
  }

  /// What to tell when these are there.
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
