// SPDX-License-Identifier: MIT

/// What ends a property by itself: its time to live, the end of its holder, or whichever of both comes first.
package final class Lease: Sendable {
  /// A time to live.
  package struct Term: Sendable, Equatable {
    /// When it is over, by the clock that changes are noted with.
    package let end: Timestamp
    /// How long it was when it began.
    package let length: Duration

    package init(end: Timestamp, length: Duration) {
      self.end = end
      self.length = length
    }

    /// What is left of it at a time, for a store that begins anew: a clock that has been set back, or that does not know
    /// the time yet, makes it no longer than it was, and `grace`.
    func remaining(at now: Timestamp, grace: Duration) -> Duration {
      max(.zero, min(length, .milliseconds(end.milliseconds - now.milliseconds)) + grace)
    }
  }

  /// Its time to live; nil when it has none.
  package let term: Term?
  /// Whose end is its end, nil when nobody holds it.
  package let holder: Holder?
  /// Where the judge that made it found room for its end: a hint, which another judge does not share.
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
