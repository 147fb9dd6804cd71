// SPDX-License-Identifier: MIT

package import JSON

/// A question about what a property was.
package struct SeriesQuery: Sendable {
  /// A bound of what is asked for.
  package enum Place: Sendable, Equatable {
    /// From this moment on, or up to it: a change at it is behind the bound.
    case time(Timestamp)
    /// Behind the change of this revision.
    case behind(Revision)
  }

  /// The property.
  package let path: PropertyPath
  /// Where it begins; with a step it is a time, and moved to the beginning of its bucket.
  package let from: Place
  /// Where it ends; nil is now.
  ///
  /// With a step it is a time, and moved to the end of its bucket.
  package let to: Place?
  /// The time of the question: a value that nobody has changed holds until then.
  package let now: Timestamp
  /// How long a bucket is, in milliseconds; nil asks for the changes themselves.
  package let step: Int64?
  /// Most rows of the page.
  package let limit: Int
  /// After how many bytes of values a page of changes ends.
  package let bytes: Int
  /// The part of each value that is meant; nil for the whole.
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
  /// The JSON text; empty when it is longer than what is kept of it.
  package let text: ArraySlice<UInt8>
  /// The number that it is; nil when it is none, or not finite.
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
    /// From here on it is not known what it was.
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

/// What a property was during a length of time.
///
/// A property is a step function of time. Its values in a bucket are the one that it had at the beginning, unless it was
/// changed at that very moment, and those that it got.
package struct SeriesBucket: Sendable, Equatable {
  /// The beginning, a whole number of buckets after 1970-01-01T00:00:00Z, in milliseconds.
  package var start: Int64
  /// How many changes there were, deletions among them.
  package var count = 0
  /// The least of the numbers.
  package var minimum: Double?
  /// The greatest of them.
  package var maximum: Double?
  /// The sum of the numbers, each times the milliseconds for which it was there.
  package var integral = 0.0
  /// For how many milliseconds there was a number.
  package var known: Int64 = 0
  /// The first value, a number or not.
  package var first: SeriesValue?
  /// The last value.
  package var last: SeriesValue?

  package init(start: Int64) { self.start = start }

  /// The mean of the numbers, weighted by time; nil when there was none for any time.
  package var average: Double? {
    guard known > 0, let minimum, let maximum else { return nil }
    let average = integral / Double(known)
    // Rounding must not make the mean of one number another one.
    return average.isFinite ? min(max(average, minimum), maximum) : nil
  }
}

/// An answer to a ``SeriesQuery``.
package struct SeriesPage: Sendable {
  package enum Rows: Sendable {
    case changes([SeriesChange])
    /// Those in which there was a value or a change.
    case buckets([SeriesBucket])
  }

  package let rows: Rows
  /// How long the buckets are that it was made of, in milliseconds; nil when it was made of the changes.
  package let tier: Int64?
  /// Where the next page begins; nil when this is the last.
  package let next: SeriesQuery.Place?
  /// Up to which revision all changes are in it.
  package let through: Revision
  /// The last record of the store that is in it.
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
  /// There are so many series already, and this is none of them.
  case tooManySeries(Int)
  /// The step is not a multiple of any tier; the shortest one, in milliseconds.
  case noTier(shortest: Int64)
  /// The changes themselves are not kept, and nothing else can tell.
  case notRaw
  /// A single bucket has more changes than are looked at.
  case tooManyChanges(Int)
  /// So many questions wait that there is no room for another one.
  case busy
  /// What was kept cannot be read.
  case failed
}

/// What keeps series and answers questions about them, on a thread of its own.
package protocol SeriesSource: AnyObject, Sendable {
  /// Answers a question.
  ///
  /// - Parameters:
  ///   - isAbandoned: Whether nobody waits any more, and `body` need not be called; called on another thread.
  ///   - body: Called once, on another thread or on this one.
  func answer(
    _ query: SeriesQuery, unless isAbandoned: @escaping @Sendable () -> Bool,
    _ body: @escaping @Sendable (Result<SeriesPage, SeriesRefusal>) -> Void)
}
