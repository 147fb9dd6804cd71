// SPDX-License-Identifier: MIT

internal import SignalStore

/// The keys of the table `raw`: ordered by series, then by the beginning of the block.
enum SeriesKey {
  private static let timeBits: Int64 = 46

  /// The numbers that a series can have.
  static let numbers: Range<Int64> = 0..<1 << (63 - timeBits)

  /// The key of a block that begins at a time; times that do not fit, before 1970 and after 4199, are clamped.
  static func key(_ number: Int64, _ time: Int64) -> Int64 {
    number << timeBits | min(max(0, time), 1 << timeBits - 1)
  }

  /// The keys of all blocks of a series.
  static func range(_ number: Int64) -> ClosedRange<Int64> { key(number, 0)...key(number, .max) }
}

/// The head of `history.sqlite`.
struct HistoryHead: Equatable {
  /// The identifier that all files of a folder share.
  let identity: [UInt8]
  /// The end of the part of the journal that it includes.
  var journal = JournalPlace()
  /// The rules by which it was kept; empty before it has started.
  var rules = ""

  init(identity: [UInt8]) { self.identity = identity }

  private var checksum: UInt32 {
    var checksum = Checksum()
    checksum.append(identity)
    for number in [journal.position, journal.revision.number, UInt64(journal.checksum)] { checksum.append(number) }
    checksum.append(journal.time.milliseconds)
    checksum.append(Array(rules.utf8))
    return checksum.value
  }

  /// Reads the only row of the table.
  ///
  /// - Throws: A damage, when the row is missing or corrupt.
  init(_ database: Database) throws(StorageError) {
    try self.init(try database.prepare("SELECT * FROM history"), in: database.file)
  }

  /// Reads the row that a statement selects.
  init(_ statement: Statement, in file: String) throws(StorageError) {
    guard try statement.step() else { throw .damaged(.init(file, "the table history", "it is empty")) }
    identity = statement.bytes(0)
    let numbers = (1...4).map { UInt64(bitPattern: statement.integer(Int32($0))) }
    journal = JournalPlace(
      position: numbers[0], revision: Revision(numbers[1]), time: Timestamp(milliseconds: statement.integer(3)),
      checksum: UInt32(truncatingIfNeeded: numbers[3]))
    rules = String(decoding: statement.bytes(5), as: UTF8.self)
    guard statement.integer(6) == Int64(checksum), numbers[0] <= RecordFormat.numberLimit,
      numbers[1] <= RecordFormat.numberLimit
    else { throw .damaged(.init(file, "the table history", "the checksum does not match")) }
  }

  /// Replaces the row.
  func write(_ database: Database) throws(StorageError) {
    try database.execute("DELETE FROM history")
    try database.prepare("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?)").run(
      .text(identity), .integer(Int64(journal.position)), .integer(Int64(journal.revision.number)),
      .integer(journal.time.milliseconds), .integer(Int64(journal.checksum)), .text(Array(rules.utf8)),
      .integer(Int64(checksum)))
  }
}

/// A row of the table `raw`.
struct BlockRow {
  let key: Int64
  /// The time of the first change.
  let start: Int64
  /// The revision of the first change.
  let first: UInt64
  /// The time of the first change after it.
  let until: Int64
  let bytes: [UInt8]

  init(key: Int64, _ block: SampleBlock, until: Int64) {
    self.key = key
    self.until = until
    (start, first, bytes) = (block.start, block.first, block.bytes)
  }

  /// The columns, in the order of the table.
  var values: [Statement.Value] {
    [
      .integer(key), .integer(Int64(first)), .integer(start), .integer(until), .blob(bytes),
      .integer(Int64(checksum)),
    ]
  }

  /// Reads the row that a statement is at; nil when it is corrupt.
  init?(_ statement: Statement) {
    key = statement.integer(0)
    first = UInt64(bitPattern: statement.integer(1))
    start = statement.integer(2)
    until = statement.integer(3)
    bytes = statement.bytes(4)
    guard statement.integer(5) == Int64(checksum) else { return nil }
  }

  private var checksum: UInt32 {
    var checksum = Checksum()
    for number in [key, Int64(bitPattern: first), start, until] { checksum.append(number) }
    checksum.append(bytes)
    return checksum.value
  }
}

/// A row of the table `rollup`.
struct RollupRow {
  let series: Int64
  let step: Int64
  let bucket: SeriesBucket
  /// Whether the last value still held at the end.
  let held: Bool
  /// The beginning of the next bucket in which there was a change.
  let until: Int64

  init(series: Int64, step: Int64, _ bucket: SeriesBucket, held: Bool, until: Int64) {
    self.series = series
    self.step = step
    self.bucket = bucket
    self.held = held
    self.until = until
  }

  /// The columns, in the order of the table.
  var values: [Statement.Value] {
    [
      .integer(series), .integer(step), .integer(bucket.start), .integer(until), .integer(held ? 1 : 0),
      .integer(Int64(bucket.count)), .number(bucket.minimum), .number(bucket.maximum), .number(bucket.integral),
      .integer(bucket.known), .json(bucket.first), .json(bucket.last), .integer(Int64(checksum)),
    ]
  }

  /// Reads the row that a statement is at; nil when it is corrupt.
  init?(_ statement: Statement) {
    series = statement.integer(0)
    step = statement.integer(1)
    until = statement.integer(3)
    held = statement.integer(4) != 0
    var bucket = SeriesBucket(start: statement.integer(2))
    bucket.count = Int(statement.integer(5))
    bucket.minimum = statement.isNull(6) ? nil : statement.real(6)
    bucket.maximum = statement.isNull(7) ? nil : statement.real(7)
    // A sum that is not a number, which SQLite stores as NULL.
    bucket.integral = statement.isNull(8) ? .nan : statement.real(8)
    bucket.known = statement.integer(9)
    bucket.first = statement.isNull(10) ? nil : SeriesValue(statement.bytes(10)[...])
    bucket.last = statement.isNull(11) ? nil : SeriesValue(statement.bytes(11)[...])
    self.bucket = bucket
    guard statement.integer(12) == Int64(checksum) else { return nil }
  }

  private var checksum: UInt32 {
    var checksum = Checksum()
    for number in [series, step, bucket.start, until, held ? 1 : 0, Int64(bucket.count), bucket.known] {
      checksum.append(number)
    }
    for number in [bucket.minimum, bucket.maximum, bucket.integral] {
      checksum.append(number.map { $0.isNaN ? 1 : $0 == 0 ? 0 : $0.bitPattern } ?? 2)
    }
    for value in [bucket.first, bucket.last] {
      checksum.append(value.map { Int64($0.text.count) } ?? -1)
      if let value { checksum.append(Array(value.text)) }
    }
    return checksum.value
  }
}

extension Statement.Value {
  fileprivate static func number(_ number: Double?) -> Statement.Value {
    guard let number, !number.isNaN else { return .null }
    return .real(number)
  }

  fileprivate static func json(_ value: SeriesValue?) -> Statement.Value {
    value.map { .text(Array($0.text)) } ?? .null
  }
}
