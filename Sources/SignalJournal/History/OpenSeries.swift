// SPDX-License-Identifier: MIT

internal import SignalStore

/// The open end of a series, which the next change extends: what is not yet written as rows of its own.
struct OpenSeries: Equatable {
  /// A row that a change has completed.
  enum Row {
    case block(SampleBlock, until: Int64)
    /// - `held`: Whether the last value still held at the end of the bucket.
    case bucket(SeriesBucket, step: Int64, held: Bool, until: Int64)
  }

  /// The current kind of the property.
  private(set) var kind = Sample.Kind.unknown
  /// Its value; nil when it has none.
  private(set) var value: SeriesValue?
  /// The time of the last change.
  private(set) var time: Int64 = 0
  /// The revision of the last change.
  private(set) var revision: UInt64 = 0
  private(set) var block: SampleBlock?
  private(set) var buckets: [OpenBucket] = []

  init() {}

  /// Adds the next change, and returns the rows that it completes.
  mutating func apply(
    _ sample: Sample, _ rule: HistoryRule, _ complete: (Row) throws(StorageError) -> Void
  ) throws(StorageError) {
    let new = sample.value.map(\.shortened)
    if rule.raw != nil {
      if let block, block.isFull {
        try complete(.block(block, until: sample.time))
        self.block = nil
      }
      // Moved out while it is mutated, to avoid a copy.
      var block = block ?? SampleBlock(start: sample.time, first: sample.revision)
      self.block = nil
      block.append(sample)
      self.block = block
    } else {
      block = nil
    }
    try changeBuckets(to: new, at: sample.time, rule, complete)
    (kind, value, time, revision) = (sample.kind, new, sample.time, sample.revision)
  }

  private mutating func changeBuckets(
    to new: SeriesValue?, at time: Int64, _ rule: HistoryRule, _ complete: (Row) throws(StorageError) -> Void
  ) throws(StorageError) {
    if !buckets.elementsEqual(rule.tiers, by: { $0.step == $1.step }) {
      // The rule has changed since the last change: buckets that it drops end, and new ones start.
      let known = value.map { ($0, since: self.time) }
      buckets = rule.tiers.map { tier in
        buckets.first { $0.step == tier.step } ?? OpenBucket(step: tier.step, at: time, held: known)
      }
    }
    for index in buckets.indices {
      let step = buckets[index].step
      guard let ended = buckets[index].change(to: new, at: time, held: value) else { continue }
      let next = buckets[index].bucket.start
      try complete(.bucket(ended, step: step, held: value != nil, until: next))
    }
  }

  // MARK: Encoding

  var bytes: [UInt8] {
    var writer = RecordWriter()
    writer.append(number: UInt64(kind.rawValue))
    writer.append(signed: time)
    writer.append(number: revision)
    writer.append(optional: value)
    writer.append(number: block == nil ? 0 : 1)
    if let block {
      writer.append(signed: block.start)
      writer.append(number: block.first)
      writer.append(text: block.bytes)
    }
    writer.append(number: UInt64(buckets.count))
    for open in buckets {
      writer.append(signed: open.step)
      writer.append(signed: open.bucket.start)
      writer.append(signed: open.filled)
      writer.append(number: UInt64(open.bucket.count))
      writer.append(optional: open.bucket.minimum)
      writer.append(optional: open.bucket.maximum)
      writer.append(optional: open.bucket.integral)
      writer.append(signed: open.bucket.known)
      writer.append(optional: open.bucket.first)
      writer.append(optional: open.bucket.last)
    }
    return writer.bytes
  }

  init(_ bytes: [UInt8]) throws(RecordError) {
    var reader = RecordReader(bytes)
    guard let kind = Sample.Kind(rawValue: UInt8(clamping: try reader.number())) else {
      throw RecordError(offset: 0, what: "a kind of value")
    }
    self.kind = kind
    time = try reader.signed()
    revision = try reader.number()
    value = try reader.value()
    if try reader.number() != 0 {
      let (start, first) = (try reader.signed(), try reader.number())
      block = try SampleBlock(start: start, first: first, bytes: Array(try reader.text()))
    }
    for _ in 0..<min(try reader.number(), UInt64(HistoryRule.mostTiers)) {
      let step = try reader.signed()
      guard HistoryRule.steps ~= step else { throw RecordError(offset: 0, what: "the length of a bucket") }
      var bucket = SeriesBucket(start: try reader.signed())
      let filled = try reader.signed()
      bucket.count = Int(clamping: try reader.number())
      bucket.minimum = try reader.real()
      bucket.maximum = try reader.real()
      bucket.integral = try reader.real() ?? 0
      bucket.known = try reader.signed()
      bucket.first = try reader.value()
      bucket.last = try reader.value()
      buckets.append(OpenBucket(step: step, bucket: bucket, filled: filled))
    }
    guard reader.isAtEnd else { throw RecordError(offset: 0, what: "the end") }
  }
}

extension SeriesValue {
  /// The same without its text when that is too long for a bucket; then it is not a number either.
  var shortened: SeriesValue {
    text.count <= HistoryLimits.valueBytes ? self : SeriesValue([])
  }
}

extension RecordWriter {
  /// Appends the text of a value, preceded by its length plus one; 0 for none.
  fileprivate mutating func append(optional value: SeriesValue?) {
    append(number: value == nil ? 0 : 1)
    if let value { append(text: value.text) }
  }

  fileprivate mutating func append(optional number: Double?) {
    append(number: number == nil ? 0 : 1)
    if let number { append(number: number.bitPattern) }
  }
}

extension RecordReader {
  fileprivate mutating func value() throws(RecordError) -> SeriesValue? {
    try number() == 0 ? nil : SeriesValue(try text())
  }

  fileprivate mutating func real() throws(RecordError) -> Double? {
    try number() == 0 ? nil : Double(bitPattern: try number())
  }
}
