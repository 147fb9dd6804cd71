// SPDX-License-Identifier: MIT

/// A point in time shared by several waits.
package struct Deadline: Sendable, Comparable {
  private let instant: ContinuousClock.Instant

  /// The deadline after a timeout from now.
  package init(after timeout: Duration) { instant = .now + timeout }

  package static func < (a: Deadline, b: Deadline) -> Bool { a.instant < b.instant }

  /// The remaining time, rounded up to whole milliseconds and at least 0, as `poll` takes it.
  var milliseconds: Int32 {
    let left = ContinuousClock.now.duration(to: instant)
    return Int32(clamping: (left.nanosecondsClamped + 999_999) / 1_000_000)
  }
}
