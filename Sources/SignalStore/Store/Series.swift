// SPDX-License-Identifier: MIT

package import JSON

/// A query of the past values of a property.
package struct SeriesQuery: Sendable {
  /// A bound of the queried range.
  package enum Place: Sendable, Equatable {
    /// A moment; a change at it is after the bound.
    case time(Timestamp)
    /// Directly after the change of this revision.
    case behind(Revision)
  }

  /// The property.
  package let path: PropertyPath
  /// Where it begins; with a step it is a time, rounded to the beginning of its bucket.
  package let from: Place
  /// Where it ends; nil is now.
  ///
  /// With a step it is a time, rounded to the end of its bucket.
  package let to: Place?
  /// The time of the query: a value that has not changed since holds until then.
  package let now: Timestamp
  /// The length of a bucket in milliseconds; nil queries the changes themselves.
  package let step: Int64?
  /// Maximum number of rows of the page.
  package let limit: Int
  /// The number of bytes of values after which a page of changes ends.
  package let bytes: Int
  /// Selects a part of each value; nil for the whole.
  package let pointer: JSONPointer?

  package init(
    _ path: PropertyPath, from: Place, to: Place? = nil, now: Timestamp, step: Int64? = nil, limit: Int,
    bytes: Int = .max, pointer: JSONPointer? = nil
  ) {
    self.path = path
    self.from = from
    self.to = to
    self.now = now
    self.step = step
    self.limit = limit
    self.bytes = bytes
    self.pointer = pointer
  }
}

/// A value in a series.
package struct SeriesValue: Sendable, Equatable {
  /// The JSON text; empty when it is longer than a series keeps.
  package let text: ArraySlice<UInt8>
  /// The value as a number; nil when it is not a number, or not finite.
  package let number: Double?

  package init(_ text: ArraySlice<UInt8>) {
    self.text = text
    let number = Double(jsonNumber: text.span)
    self.number = number.flatMap { $0.isFinite ? $0 : nil }
  }
}

/// A change as a series keeps it.
package struct SeriesChange: Sendable, Equatable {
  package enum Operation: Sendable, Equatable {
    /// The property got a value.
    case set(SeriesValue)
    /// It is gone.
    case delete
    /// From here on its value is not known.
    case gap
  }

  package let time: Timestamp
  package let revision: Revision
  package let operation: Operation

  package init(_ operation: Operation, time: Timestamp, revision: Revision) {
    self.time = time
    self.revision = revision
    self.operation = operation
  }
}

/// Aggregates of a property over an interval of time.
///
/// A property is a step function of time. Its values in a bucket are the one that it had at the beginning, unless it
/// was changed at that very moment, and those that it was set to.
package struct SeriesBucket: Sendable, Equatable {
  /// The beginning, a whole number of buckets after 1970-01-01T00:00:00Z, in milliseconds.
  package var start: Int64
  /// The number of changes, including deletions.
  package var count = 0
  /// The least of the numbers.
  package var minimum: Double?
  /// The greatest of them.
  package var maximum: Double?
  /// The sum of the numbers, each multiplied by the milliseconds for which it held.
  package var integral = 0.0
  /// The number of milliseconds for which the value was a number.
  package var known: Int64 = 0
  /// The first value, a number or not.
  package var first: SeriesValue?
  /// The last value.
  package var last: SeriesValue?

  package init(start: Int64) { self.start = start }

  /// The mean of the numbers, weighted by time; nil when none held for any time.
  package var average: Double? {
    guard known > 0, let minimum, let maximum else { return nil }
    let average = integral / Double(known)
    // Rounding must not make the mean of equal numbers differ from them.
    return average.isFinite ? min(max(average, minimum), maximum) : nil
  }
}

/// An answer to a ``SeriesQuery``.
package struct SeriesPage: Sendable {
  package enum Rows: Sendable {
    case changes([SeriesChange])
    /// The buckets with a value or a change.
    case buckets([SeriesBucket])
  }

  package let rows: Rows
  /// The length of the buckets it was computed from, in milliseconds; nil when computed from the changes.
  package let tier: Int64?
  /// The beginning of the next page; nil when this is the last.
  package let next: SeriesQuery.Place?
  /// The revision up to which it includes all changes.
  package let through: Revision
  /// The last record of the store that it includes.
  package let record: UInt64

  package init(_ rows: Rows, tier: Int64?, next: SeriesQuery.Place?, through: Revision, record: UInt64) {
    self.rows = rows
    self.tier = tier
    self.next = next
    self.through = through
    self.record = record
  }
}

/// Why a ``SeriesQuery`` has no answer.
package enum SeriesRefusal: Error, Equatable, Sendable {
  /// No rule keeps the property.
  case notKept
  /// The limit of series is reached, and this property has none.
  case tooManySeries(Int)
  /// The step is not a multiple of any tier; the shortest one, in milliseconds.
  case noTier(shortest: Int64)
  /// The changes themselves are not kept, and buckets cannot answer the query.
  case notRaw
  /// A single bucket has more changes than the limit.
  case tooManyChanges(Int)
  /// Too many queries are waiting.
  case busy
  /// What was kept cannot be read.
  case failed
}

/// Keeps series and answers queries of them, on a thread of its own.
package protocol SeriesSource: AnyObject, Sendable {
  /// Answers a query.
  ///
  /// - Parameters:
  ///   - isAbandoned: Whether the caller no longer waits, and `body` need not be called; called on another thread.
  ///   - body: Called once, on another thread or on this one.
  func answer(
    _ query: SeriesQuery, unless isAbandoned: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable (Result<SeriesPage, SeriesRefusal>) -> Void)
}
