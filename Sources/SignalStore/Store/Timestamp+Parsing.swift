// SPDX-License-Identifier: MIT

import JSON

extension Timestamp {
  /// Parses a time in the format of RFC 3339 §5.6, such as `2026-01-02T03:04:05.678Z` or `2026-01-02T04:04:05+01:00`;
  /// nil when the text is not one.
  ///
  /// Digits below a millisecond are truncated. A leap second counts as the second after it.
  public init?(_ text: String) {
    guard let time = TimeText(Array(text.utf8)) else { return nil }
    self.init(milliseconds: time.seconds * 1000 + Int64(time.nanoseconds / 1_000_000))
  }
}
