// SPDX-License-Identifier: MIT

/// The seconds after which a server wants to be asked again; zero when it names none.
enum NamedDelay {
  /// What names more is not obeyed further.
  static let longest = Duration.seconds(3600)

  /// What the field `Retry-After` of a refused upgrade names.
  ///
  /// A date in it is not read, as clocks differ.
  static func inField(_ value: String?) -> Duration { value.map { time(of: $0[...]) } ?? .zero }

  /// The reason of a close: `too much, connect again in 30 s` (docs/protocol.md §7).
  static func inReason(_ reason: String) -> Duration {
    let words = reason.split(separator: " ")
    guard words.count > 2, words.last == "s", words[words.count - 3] == "in" else { return .zero }
    return time(of: words[words.count - 2])
  }

  private static func time(of digits: Substring) -> Duration {
    guard !digits.isEmpty, digits.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else {
      return .zero
    }
    return min(Int(digits).map { .seconds($0) } ?? longest, longest)
  }
}
