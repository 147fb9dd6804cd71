// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The format of an answer about past values.
struct HistoryFormat: Sendable {
  enum Kind: Sendable {
    case json, lines, csv
  }

  let kind: Kind
  /// The identity of the history to which revisions belong.
  let epoch: Epoch

  /// The media types in the order of the kinds.
  static let mediaTypes: [StaticString] = ["application/json", "application/x-ndjson", "text/csv"]

  /// The kind whose media type is at an index of ``mediaTypes``.
  init(_ place: Int, _ epoch: Epoch) {
    kind = [.json, .lines, .csv][place]
    self.epoch = epoch
  }

  fileprivate var mediaType: StaticString {
    switch kind {
    case .json: "application/json"
    case .lines: "application/x-ndjson"
    case .csv: "text/csv"
    }
  }
}

/// An answer about past values, as text.
struct HistoryAnswer: Sendable {
  /// The last record of the store that it includes.
  let record: UInt64
  private let format: HistoryFormat
  private let through: Cursor
  /// The start of the next page, as the parameter `from` takes it.
  private let next: String?
  private let text: [UInt8]

  private static let bucketColumns: [StaticString] = ["time", "count", "min", "max", "avg", "first", "last"]
  private static let changeColumns: [StaticString] = ["time", "value", "revision", "op"]

  init(_ page: SeriesPage, to query: SeriesQuery, _ format: HistoryFormat) {
    record = page.record
    self.format = format
    through = Cursor(epoch: format.epoch, revision: page.through)
    next = page.next.map { next in
      switch next {
      case .time(let time): time.description
      case .behind(let revision): Cursor(epoch: format.epoch, revision: revision).description
      }
    }
    var writer = RowWriter(format.kind, query.step == nil ? Self.changeColumns : Self.bucketColumns)
    if case .json = format.kind { Self.appendHead(page, query, through, writer.columns, to: &writer.text) }
    if case .csv = format.kind { writer.appendColumns() }
    switch page.rows {
    case .changes(let changes): for change in changes { Self.append(change, to: &writer) }
    case .buckets(let buckets): for bucket in buckets { Self.append(bucket, to: &writer) }
    }
    if case .json = format.kind {
      writer.text.append(literal: "]")
      if let next {
        writer.text.append(literal: #","next":""#)
        writer.text.append(contentsOf: next.utf8)
        writer.text.append(UInt8(ascii: "\""))
      }
      writer.text.append(UInt8(ascii: "}"))
    }
    text = writer.text
  }

  func write(_ response: inout ResponseWriter) {
    response.begin(.ok)
    response.field("Content-Type", format.mediaType)
    response.field("Vary", "Accept")
    response.field("Cache-Control", "no-cache")
    response.field("Signal-Revision") { through.write(to: &$0) }
    if let next, format.kind != .json {
      response.field("Signal-Next") { Query.appendEncoded(Array(next.utf8), to: &$0) }
    }
    response.end(text)
  }

  private static func appendHead(
    _ page: SeriesPage, _ query: SeriesQuery, _ through: Cursor, _ columns: [StaticString], to text: inout [UInt8]
  ) {
    text.append(literal: #"{"path":"#)
    let path = query.path.bytes
    text.appendJSON(utf8: path.span)
    if let step = query.step { text += Array(#","step":"\#(WireDuration.text(.milliseconds(step)))""#.utf8) }
    text += Array(#","tier":"\#(page.tier.map { WireDuration.text(.milliseconds($0)) } ?? "raw")","through":""#.utf8)
    through.write(to: &text)
    text.append(literal: #"","columns":["#)
    for (index, column) in columns.enumerated() {
      text.append(literal: index == 0 ? "\"" : ",\"")
      text.append(literal: column)
      text.append(UInt8(ascii: "\""))
    }
    text.append(literal: #"],"rows":["#)
  }

  private static func append(_ change: SeriesChange, to writer: inout RowWriter) {
    writer.begin()
    writer.append(change.time)
    switch change.operation {
    case .set(let value): writer.append(value)
    case .delete, .gap: writer.appendNothing()
    }
    writer.append(Int(clamping: change.revision.number))
    switch change.operation {
    case .set: writer.append(word: "set")
    case .delete: writer.append(word: "delete")
    case .gap: writer.append(word: "gap")
    }
    writer.end()
  }

  private static func append(_ bucket: SeriesBucket, to writer: inout RowWriter) {
    writer.begin()
    writer.append(Timestamp(milliseconds: bucket.start))
    writer.append(bucket.count)
    for number in [bucket.minimum, bucket.maximum, bucket.average] { writer.append(number) }
    writer.append(bucket.first)
    writer.append(bucket.last)
    writer.end()
  }
}

/// Writes rows: as arrays in an array, as objects on lines of their own, or as lines of CSV (RFC 4180).
private struct RowWriter {
  let kind: HistoryFormat.Kind
  let columns: [StaticString]
  var text: [UInt8] = []
  private var column = 0
  private var isFirst = true

  init(_ kind: HistoryFormat.Kind, _ columns: [StaticString]) {
    self.kind = kind
    self.columns = columns
  }

  mutating func appendColumns() {
    for (index, column) in columns.enumerated() {
      if index > 0 { text.append(UInt8(ascii: ",")) }
      text.append(literal: column)
    }
    text.append(literal: "\r\n")
  }

  mutating func begin() {
    column = 0
    switch kind {
    case .json: text.append(literal: isFirst ? "[" : ",[")
    case .lines: text.append(UInt8(ascii: "{"))
    case .csv: break
    }
    isFirst = false
  }

  mutating func end() {
    switch kind {
    case .json: text.append(UInt8(ascii: "]"))
    case .lines: text.append(literal: "}\n")
    case .csv: text.append(literal: "\r\n")
    }
  }

  mutating func append(_ time: Timestamp) {
    next()
    if kind != .csv { text.append(UInt8(ascii: "\"")) }
    time.write(to: &text)
    if kind != .csv { text.append(UInt8(ascii: "\"")) }
  }

  mutating func append(_ number: Int) {
    next()
    text.appendJSON(number)
  }

  mutating func append(_ number: Double?) {
    guard let number else { return appendNothing() }
    next()
    text.appendJSON(number)
  }

  /// Writes nothing for a value that was too long to be kept.
  mutating func append(_ value: SeriesValue?) {
    guard let value, !value.text.isEmpty else { return appendNothing() }
    next()
    guard kind == .csv, value.text.contains(where: { $0 == UInt8(ascii: ",") || $0 == UInt8(ascii: "\"") }) else {
      text.append(contentsOf: value.text)
      return
    }
    text.append(UInt8(ascii: "\""))
    for byte in value.text {
      if byte == UInt8(ascii: "\"") { text.append(byte) }
      text.append(byte)
    }
    text.append(UInt8(ascii: "\""))
  }

  mutating func append(word: StaticString) {
    next()
    if kind != .csv { text.append(UInt8(ascii: "\"")) }
    text.append(literal: word)
    if kind != .csv { text.append(UInt8(ascii: "\"")) }
  }

  mutating func appendNothing() {
    next()
    if kind != .csv { text.append(literal: "null") }
  }

  /// Writes what precedes the value of a column.
  private mutating func next() {
    if column > 0 { text.append(UInt8(ascii: ",")) }
    if kind == .lines {
      text.append(UInt8(ascii: "\""))
      text.append(literal: columns[column])
      text.append(literal: "\":")
    }
    column += 1
  }
}
