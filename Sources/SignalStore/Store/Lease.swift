// SPDX-License-Identifier: MIT

/// What makes a property end automatically: its time to live, the end of its holder, or whichever of both comes first.
package final class Lease: Sendable {
  /// A time to live.
  package struct Term: Sendable, Equatable {
    /// When it ends, by the clock that timestamps changes.
    package let end: Timestamp
    /// Its full length.
    package let length: Duration

    package init(end: Timestamp, length: Duration) {
      self.end = end
      self.length = length
    }

    /// The remaining time to live for a store that restarts: never longer than the full length plus `grace`, even if
    /// the clock has been set back or is not set yet.
    func remaining(at now: Timestamp, grace: Duration) -> Duration {
      max(.zero, min(length, .milliseconds(end.milliseconds - now.milliseconds)) + grace)
    }
  }

  /// Its time to live; nil when it has none.
  package let term: Term?
  /// The holder with which it ends; nil when it has none.
  package let holder: Holder?
  /// Its place in the wheel of the judge that made it: only a hint for another judge.
  let place: TimerWheel<PropertyPath>.Place

  init(term: Term?, holder: Holder?, place: TimerWheel<PropertyPath>.Place) {
    self.term = term
    self.holder = holder
    self.place = place
  }

  package convenience init(term: Term?, holder: Holder?) { self.init(term: term, holder: holder, place: -1) }
}

extension Lease: Equatable {
  /// Whether end, length and holder are equal.
  package static func == (a: Lease, b: Lease) -> Bool { a === b || (a.term == b.term && a.holder == b.holder) }
}
