// SPDX-License-Identifier: MIT

internal import SignalStore

/// `history.sqlite`: series of the properties that a rule names, as of a position in the journal.
///
/// Changes of a series are collected in its ``OpenSeries``, one row of the table `series` that is rewritten each time;
/// what they complete, a block of changes or a bucket, is written once. Each row has a checksum.
final class HistoryFile {
  /// The changes of one series to be added.
  struct Changes {
    /// The time since which the value was unknown until the first of them; nil when nothing is missing.
    var gap: Int64?
    var samples: [Sample] = []
  }

  let database: Database
  private(set) var head: HistoryHead
  /// The series by their paths.
  private(set) var numbers: [PropertyPath: Int64]
  /// Numbers below the highest that are not in use.
  private var unused: [Int64]
  private let selection: Statement
  private let insertion: Statement
  private let update: Statement
  private let lastBlock: Statement
  private let blockInsertion: Statement
  private let bucketInsertion: Statement
  private let deletion: Statement
  private let blockDeletion: Statement
  private let nextStep: Statement
  private let bucketDeletion: Statement

  init(_ database: Database) throws(StorageError) {
    self.database = database
    head = try HistoryHead(database)
    var numbers: [PropertyPath: Int64] = [:]
    let statement = try database.prepare("SELECT path, number FROM series")
    while try statement.step() {
      let number = statement.integer(1)
      guard let path = statement.withBytes(0, { PropertyPath(written: $0) }), SeriesKey.numbers ~= number else {
        throw .damaged(.init(database.file, "the series \(number)", "it is none"))
      }
      numbers[path] = number
    }
    self.numbers = numbers
    let used = Set(numbers.values)
    unused = (0..<(used.max() ?? 0)).filter { !used.contains($0) }.reversed()
    selection = try database.prepare("SELECT path, body, crc FROM series WHERE number = ?")
    insertion = try database.prepare("INSERT INTO series VALUES (?, ?, ?, ?)")
    update = try database.prepare("UPDATE series SET body = ?2, crc = ?3 WHERE number = ?1")
    lastBlock = try database.prepare("SELECT max(key) FROM raw WHERE key BETWEEN ? AND ?")
    blockInsertion = try database.prepare("INSERT INTO raw VALUES (?, ?, ?, ?, ?, ?)")
    bucketInsertion = try database.prepare("INSERT INTO rollup VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
    deletion = try database.prepare("DELETE FROM series WHERE number = ?")
    blockDeletion = try database.prepare(
      """
      DELETE FROM raw WHERE key IN (
        SELECT key FROM raw WHERE key BETWEEN ?1 AND ?2 AND until <= ?3 ORDER BY key LIMIT ?4)
      """)
    nextStep = try database.prepare("SELECT min(step) FROM rollup WHERE series = ? AND step > ?")
    bucketDeletion = try database.prepare(
      """
      DELETE FROM rollup WHERE series = ?1 AND step = ?2 AND start IN (
        SELECT start FROM rollup WHERE series = ?1 AND step = ?2 AND start < ?3 AND until <= ?3 ORDER BY start LIMIT ?4)
      """)
  }

  // MARK: Writing

  /// Adds changes in one commit.
  ///
  /// Those that a series already has, by their revision, are skipped.
  ///
  /// - Parameters:
  ///   - place: The end of the part of the journal that is now included; nil when more of it follows.
  ///   - isDurable: Whether the commit, and all before it, survive a power failure when this returns.
  /// - Returns: The number of properties left out because there are too many series.
  @discardableResult
  func apply(
    _ changes: [PropertyPath: Changes], _ configuration: HistoryConfiguration, through place: JournalPlace?,
    isDurable: Bool
  ) throws(StorageError) -> Int {
    var next = head
    if let place {
      next.journal = place
      next.rules = configuration.text
    }
    var made: [PropertyPath: Int64] = [:]
    var unused = unused
    var leftOut = 0
    try database.setDurable(isDurable)
    try database.transaction { () throws(StorageError) in
      // Existing series in the order of their rows, so that each page is written once.
      let known = changes.keys.compactMap { path in numbers[path].map { (number: $0, path: path) } }
      for (number, path) in known.sorted(by: { $0.number < $1.number }) {
        guard let changes = changes[path], let rule = configuration.rule(for: path) else { continue }
        var series = try open(number, path)
        let before = series
        try apply(changes, to: &series, number, configuration.rules[rule])
        guard series != before else { continue }
        let body = series.bytes
        try update.run(.integer(number), .blob(body), .integer(HistoryFile.checksum(number, path, body)))
      }
      for (path, changes) in changes where numbers[path] == nil {
        // Without a value, there is nothing to start a series with.
        guard let rule = configuration.rule(for: path), changes.samples.contains(where: { $0.kind == .value }) else {
          continue
        }
        guard numbers.count + made.count < configuration.limits.series else {
          leftOut += 1
          continue
        }
        let number = unused.popLast() ?? Int64(numbers.count + made.count)
        made[path] = number
        var series = OpenSeries()
        try apply(changes, to: &series, number, configuration.rules[rule])
        let body = series.bytes
        try insertion.run(
          .integer(number), .text(path.bytes), .blob(body), .integer(HistoryFile.checksum(number, path, body)))
      }
      if isDurable || next != head { try next.write(database) }
    }
    head = next
    self.unused = unused
    numbers.merge(made) { $1 }
    return leftOut
  }

  private func apply(
    _ changes: Changes, to series: inout OpenSeries, _ number: Int64, _ rule: HistoryRule
  ) throws(StorageError) {
    func write(_ row: OpenSeries.Row) throws(StorageError) {
      switch row {
      case .block(let block, let until):
        // Two blocks may begin in the same millisecond.
        let key = max(SeriesKey.key(number, block.start), try lastKey(number).map { $0 + 1 } ?? .min)
        try blockInsertion.run(BlockRow(key: key, block, until: until).values)
      case .bucket(let bucket, let step, let held, let until):
        try bucketInsertion.run(RollupRow(series: number, step: step, bucket, held: held, until: until).values)
      }
    }
    let isNew = changes.samples.isEmpty || changes.samples.contains { $0.revision > series.revision }
    if let gap = changes.gap, series.kind != .unknown, isNew {
      let sample = Sample(time: max(gap, series.time), revision: series.revision, kind: .unknown, text: [])
      try series.apply(sample, rule, write)
    }
    for sample in changes.samples where sample.revision > series.revision {
      let time = max(sample.time, series.time)
      try series.apply(
        Sample(time: time, revision: sample.revision, kind: sample.kind, text: sample.text), rule, write)
    }
  }

  /// The open end of a series.
  private func open(_ number: Int64, _ path: PropertyPath) throws(StorageError) -> OpenSeries {
    try selection.begin(.integer(number))
    defer { selection.reset() }
    guard try selection.step() else {
      throw .damaged(.init(database.file, "the series \(path)", "it is missing"))
    }
    return try HistoryFile.open(selection, number, in: database.file).series
  }

  /// Reads the row of a series that a statement is at: path, body, checksum.
  static func open(
    _ statement: Statement, _ number: Int64, in file: String
  ) throws(StorageError) -> (path: PropertyPath, series: OpenSeries) {
    let body = statement.bytes(1)
    guard let path = statement.withBytes(0, { PropertyPath(written: $0) }),
      statement.integer(2) == checksum(number, path, body), let series = try? OpenSeries(body)
    else { throw .damaged(.init(file, "the series \(number)", "the checksum does not match")) }
    return (path, series)
  }

  private static func checksum(_ number: Int64, _ path: PropertyPath, _ body: [UInt8]) -> Int64 {
    var checksum = Checksum()
    checksum.append(number)
    checksum.append(UInt64(path.bytes.count))
    checksum.append(path.bytes)
    checksum.append(body)
    return Int64(checksum.value)
  }

  /// The key of the last block of a series; nil when it has none.
  private func lastKey(_ number: Int64) throws(StorageError) -> Int64? {
    let range = SeriesKey.range(number)
    return try lastBlock.integer(for: .integer(range.lowerBound), .integer(range.upperBound))
  }

  // MARK: Deleting

  /// Deletes what is older than the retention of its rule, of one series, in one commit.
  ///
  /// - Parameters:
  ///   - rule: nil when it is not kept any more.
  ///   - limit: Most rows that are deleted.
  /// - Returns: The number of deleted rows; fewer than `limit` when nothing is left to delete.
  func sweep(
    _ path: PropertyPath, _ rule: HistoryRule?, now: Int64, limit: Int
  ) throws(StorageError) -> Int {
    guard let number = numbers[path] else { return 0 }
    var left = limit
    var isGone = false
    try database.transaction { () throws(StorageError) in
      try deleteBlocks(number, before: rule.map { $0.raw.map { now - $0 } ?? .max } ?? .max, &left)
      try deleteBuckets(number, rule, now, &left)
      guard left > 0 else { return }
      let series = try open(number, path)
      isGone = rule.map { series.kind == .absent && series.time < now - $0.longest } ?? true
      if isGone { try deletion.run(.integer(number)) }
    }
    if isGone {
      numbers[path] = nil
      unused.append(number)
    }
    return limit - left
  }

  private func deleteBlocks(_ number: Int64, before time: Int64, _ left: inout Int) throws(StorageError) {
    let range = SeriesKey.range(number)
    // A block that ended by that time began before it.
    let end = time == .max ? range.upperBound : SeriesKey.key(number, time)
    try blockDeletion.run(
      .integer(range.lowerBound), .integer(end), .integer(time), .integer(Int64(left)))
    left -= Int(database.changes)
  }

  private func deleteBuckets(
    _ number: Int64, _ rule: HistoryRule?, _ now: Int64, _ left: inout Int
  ) throws(StorageError) {
    // For each length that exists, starting with the shortest.
    var step: Int64 = 0
    while left > 0, let next = try nextStep.integer(for: .integer(number), .integer(step)) {
      step = next
      let time = rule?.tiers.first { $0.step == step }.map { now - $0.retention } ?? .max
      try bucketDeletion.run(.integer(number), .integer(step), .integer(time), .integer(Int64(left)))
      left -= Int(database.changes)
    }
  }
}
