// SPDX-License-Identifier: MIT

internal import SignalStore

extension SeriesBucket {
  /// The beginning of the bucket that a time is in.
  static func start(of time: Int64, step: Int64) -> Int64 {
    let rest = time % step
    return time - (rest < 0 ? rest + step : rest)
  }

  /// Adds a value that held for some milliseconds of it.
  mutating func hold(_ value: SeriesValue, for milliseconds: Int64) {
    take(value)
    guard let number = value.number else { return }
    integral += number * Double(milliseconds)
    known += milliseconds
  }

  /// Adds a change of the property.
  mutating func change(to value: SeriesValue?) {
    count += 1
    if let value { take(value) }
  }

  private mutating func take(_ value: SeriesValue) {
    if first == nil { first = value }
    last = value
    guard let number = value.number else { return }
    minimum = minimum.map { min($0, number) } ?? number
    maximum = maximum.map { max($0, number) } ?? number
  }

  /// Adds a shorter bucket that follows everything added before.
  mutating func add(_ other: SeriesBucket) {
    count += other.count
    if let number = other.minimum { minimum = minimum.map { min($0, number) } ?? number }
    if let number = other.maximum { maximum = maximum.map { max($0, number) } ?? number }
    integral += other.integral
    known += other.known
    first = first ?? other.first
    last = other.last ?? last
  }

  /// Whether it has neither a change nor a value.
  var isEmpty: Bool { count == 0 && first == nil }
}

/// The bucket under construction: the one of the last change of a series.
struct OpenBucket: Equatable {
  /// Its length in milliseconds.
  let step: Int64
  private(set) var bucket: SeriesBucket
  /// The time up to which it is filled.
  private(set) var filled: Int64

  init(step: Int64, bucket: SeriesBucket, filled: Int64) {
    self.step = step
    self.bucket = bucket
    self.filled = filled
  }

  /// Starts the bucket with the first change since it is kept.
  ///
  /// - Parameters:
  ///   - held: The value before the change, and the time since which it held.
  init(step: Int64, at time: Int64, held: (value: SeriesValue, since: Int64)?) {
    self.step = step
    bucket = SeriesBucket(start: SeriesBucket.start(of: time, step: step))
    filled = time
    guard let held else { return }
    let since = max(bucket.start, held.since)
    if time > since { bucket.hold(held.value, for: time - since) }
  }

  /// Adds a change; one after the end of the bucket starts the next.
  ///
  /// - Parameter held: The value before it.
  /// - Returns: The bucket that has ended, if any.
  mutating func change(to value: SeriesValue?, at time: Int64, held: SeriesValue?) -> SeriesBucket? {
    var ended: SeriesBucket?
    let start = SeriesBucket.start(of: time, step: step)
    if start > bucket.start {
      let end = bucket.start + step
      if let held, end > filled { bucket.hold(held, for: end - filled) }
      ended = bucket
      bucket = SeriesBucket(start: start)
      filled = start
    }
    if let held, time > filled { bucket.hold(held, for: time - filled) }
    filled = max(filled, time)
    bucket.change(to: value)
    return ended
  }
}

/// Builds the rows of an answer from changes, or from shorter buckets, in order.
struct BucketRows {
  let step: Int64
  /// Where the answer begins.
  let start: Int64
  /// Where it ends: nothing is known after it.
  let end: Int64
  let limit: Int
  private(set) var rows: [SeriesBucket] = []
  private var bucket: SeriesBucket
  private var filled: Int64
  private var held: SeriesValue?

  /// - Parameter start: The beginning of a bucket.
  init(step: Int64, from start: Int64, to end: Int64, limit: Int) {
    self.step = step
    self.start = start
    self.end = end
    self.limit = limit
    bucket = SeriesBucket(start: start)
    filled = start
  }

  /// Whether the answer is complete.
  var isComplete: Bool { rows.count >= limit || filled >= end }

  /// The beginning of the first bucket that is not among the rows; nil when it is after the end.
  var next: Int64? { bucket.start < end ? bucket.start : nil }

  /// Sets the value that holds from here on, without a change.
  mutating func hold(_ value: SeriesValue?) { held = value }

  /// Sets the value that holds from a time on, without counting a change.
  mutating func hold(_ value: SeriesValue?, from time: Int64) {
    advance(to: time)
    held = value
  }

  /// Advances to a time at which nothing has changed.
  mutating func pass(to time: Int64) { advance(to: time) }

  /// Advances to a change.
  mutating func change(to value: SeriesValue?, at time: Int64) {
    advance(to: time)
    guard !isComplete else { return }
    bucket.change(to: value)
    held = value
  }

  /// Advances to the end of a shorter bucket, or to the time up to which it is filled.
  ///
  /// - Parameter value: The value that holds there.
  mutating func add(_ other: SeriesBucket, filledTo time: Int64, held value: SeriesValue?) {
    advance(to: other.start)
    guard !isComplete else { return }
    bucket.add(other)
    filled = max(filled, min(time, end))
    held = value
    closeIfOver()
  }

  /// Advances to the end.
  mutating func finish() {
    advance(to: end)
    guard rows.count < limit else { return }
    // The current bucket.
    if !bucket.isEmpty { rows.append(bucket) }
    bucket = SeriesBucket(start: end)
  }

  private mutating func advance(to time: Int64) {
    let time = min(time, end)
    while filled < time, rows.count < limit {
      guard let held else {
        // The range up to there is empty.
        let start = SeriesBucket.start(of: time, step: step)
        if start > bucket.start {
          close()
          bucket = SeriesBucket(start: start)
        }
        filled = time
        return
      }
      let until = min(time, bucket.start + step)
      bucket.hold(held, for: until - filled)
      filled = until
      closeIfOver()
    }
  }

  private mutating func closeIfOver() {
    let over = bucket.start + step
    guard filled >= over else { return }
    close()
    bucket = SeriesBucket(start: over)
  }

  private mutating func close() {
    if !bucket.isEmpty { rows.append(bucket) }
  }
}
