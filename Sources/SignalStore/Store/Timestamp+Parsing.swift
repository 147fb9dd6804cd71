// SPDX-License-Identifier: MIT

import JSON

extension Timestamp {
  /// Reads a time as RFC 3339 §5.6 writes it, such as `2026-01-02T03:04:05.678Z` or `2026-01-02T04:04:05+01:00`; nil
  /// when the text is none.
  ///
  /// What is finer than a millisecond is cut off. A leap second counts as the second after it.
  public init?(_ text: String) {
    guard let time = TimeText(Array(text.utf8)) else { return nil }
    self.init(milliseconds: time.seconds * 1000 + Int64(time.nanoseconds / 1_000_000))
  }
}
