// SPDX-License-Identifier: MIT

/// A point in time that several waits share.
package struct Deadline: Sendable {
  private let instant: ContinuousClock.Instant

  /// So long from now.
  package init(after timeout: Duration) { instant = .now + timeout }

  /// What is left, rounded up to whole milliseconds and at least 0, as `poll` takes it.
  var milliseconds: Int32 {
    let left = ContinuousClock.now.duration(to: instant)
    return Int32(clamping: (left.nanosecondsClamped + 999_999) / 1_000_000)
  }
}
