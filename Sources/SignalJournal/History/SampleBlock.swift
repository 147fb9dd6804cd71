// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// A change of a series as it is stored.
struct Sample {
  enum Kind: UInt8 {
    /// The property is gone.
    case absent = 0
    /// From here on its value is unknown.
    case unknown = 1
    case value = 2
  }

  let time: Int64
  let revision: UInt64
  let kind: Kind
  /// The JSON text; empty unless it is a ``Kind/value``.
  let text: ArraySlice<UInt8>

  init(time: Int64, revision: UInt64, kind: Kind, text: ArraySlice<UInt8>) {
    self.time = time
    self.revision = revision
    self.kind = kind
    self.text = text
  }

  /// The value that a property has since it was set.
  init(_ property: StoredValue) {
    self.init(
      time: property.time.milliseconds, revision: property.revision.number, kind: .value,
      text: property.value.bytes[...])
  }

  /// The value; nil when there is none.
  var value: SeriesValue? { kind == .value ? SeriesValue(text) : nil }
}

/// Consecutive changes of one series, encoded: a row of the table `raw`, or the beginning of one.
///
/// Each is the milliseconds since the previous one, the revisions since it, and a number that is its kind or, for a
/// value, its length plus two.
struct SampleBlock: Equatable {
  /// The time of the first.
  let start: Int64
  /// The revision of the first.
  let first: UInt64
  private(set) var bytes: [UInt8] = []
  private(set) var count = 0
  /// Time and revision of the last.
  private(set) var time: Int64
  private(set) var revision: UInt64

  init(start: Int64, first: UInt64) {
    self.start = start
    self.first = first
    (time, revision) = (start, first)
  }

  /// Whether the next change begins another block.
  var isFull: Bool { bytes.count >= HistoryLimits.blockBytes || count >= HistoryLimits.blockSamples }

  mutating func append(_ sample: Sample) {
    append(UInt64(max(0, sample.time - time)))
    append(sample.revision - revision)
    switch sample.kind {
    case .absent, .unknown: append(UInt64(sample.kind.rawValue))
    case .value:
      append(UInt64(sample.text.count) + UInt64(Sample.Kind.value.rawValue))
      bytes.append(contentsOf: sample.text)
    }
    (time, revision) = (max(time, sample.time), sample.revision)
    count += 1
  }

  private mutating func append(_ number: UInt64) {
    var rest = number
    while rest >= 0x80 {
      bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
      rest >>= 7
    }
    bytes.append(UInt8(truncatingIfNeeded: rest))
  }

  /// Continues a stored block.
  init(start: Int64, first: UInt64, bytes: [UInt8]) throws(RecordError) {
    self.init(start: start, first: first)
    var reader = SampleReader(bytes, start: start, first: first)
    while let sample = try reader.next() {
      (time, revision) = (sample.time, sample.revision)
      count += 1
    }
    self.bytes = bytes
  }
}

/// Reads the changes of a ``SampleBlock``; it validates all input.
struct SampleReader {
  private let bytes: [UInt8]
  private var index = 0
  private var time: Int64
  private var revision: UInt64

  init(_ bytes: [UInt8], start: Int64, first: UInt64) {
    self.bytes = bytes
    time = start
    revision = first
  }

  /// The next change; nil at the end.
  mutating func next() throws(RecordError) -> Sample? {
    if index == bytes.count { return nil }
    let elapsed = try number()
    let revisions = try number()
    let code = try number()
    let (time, late) = time.addingReportingOverflow(Int64(clamping: elapsed))
    let (revision, large) = revision.addingReportingOverflow(revisions)
    guard !late, !large, revision <= RecordFormat.numberLimit else { throw error("a time and a revision") }
    (self.time, self.revision) = (time, revision)
    guard code >= UInt64(Sample.Kind.value.rawValue) else {
      return Sample(time: time, revision: revision, kind: code == 0 ? .absent : .unknown, text: [])
    }
    let length = code - UInt64(Sample.Kind.value.rawValue)
    guard length > 0, length <= UInt64(bytes.count - index) else { throw error("a value") }
    index += Int(length)
    return Sample(time: time, revision: revision, kind: .value, text: bytes[index - Int(length)..<index])
  }

  private mutating func number() throws(RecordError) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while index < bytes.count, shift < 63 {
      let byte = bytes[index]
      index += 1
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
    throw error("a number")
  }

  private func error(_ what: String) -> RecordError { RecordError(offset: index, what: what) }
}
