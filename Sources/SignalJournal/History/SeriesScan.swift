// SPDX-License-Identifier: MIT

internal import SignalStore

/// Answers queries from `history.sqlite`, by a read-only connection; each sees a snapshot of the file.
final class SeriesScan {
  private let database: Database
  private let limits: HistoryLimits
  private let head: Statement
  private let series: Statement
  private let lastBlock: Statement
  private let nextBlock: Statement
  private let blocks: Statement
  private let lastBucket: Statement
  private let buckets: Statement

  init(_ database: Database, _ limits: HistoryLimits) throws(StorageError) {
    self.database = database
    self.limits = limits
    head = try database.prepare("SELECT * FROM history")
    series = try database.prepare("SELECT path, body, crc, number FROM series WHERE path = ?")
    lastBlock = try database.prepare("SELECT max(key) FROM raw WHERE key BETWEEN ? AND ?")
    nextBlock = try database.prepare("SELECT key, first FROM raw WHERE key BETWEEN ? AND ? ORDER BY key LIMIT 1")
    blocks = try database.prepare("SELECT * FROM raw WHERE key BETWEEN ? AND ? ORDER BY key")
    lastBucket = try database.prepare("SELECT max(start) FROM rollup WHERE series = ? AND step = ? AND start < ?")
    buckets = try database.prepare(
      "SELECT * FROM rollup WHERE series = ? AND step = ? AND start BETWEEN ? AND ? ORDER BY start")
  }

  /// The time of the last change that is in the file.
  func newest() throws(StorageError) -> Timestamp { try place().time }

  /// The position in the journal up to which the file goes.
  private func place() throws(StorageError) -> JournalPlace {
    defer { head.reset() }
    return try HistoryHead(head, in: database.file).journal
  }

  /// Reads one page.
  ///
  /// - Parameters:
  ///   - isCurrent: Whether the file includes everything up to the time of the query.
  ///   - isFull: Whether there are properties that have no series because there are too many.
  func page(
    _ query: SeriesQuery, _ rule: HistoryRule, isCurrent: Bool, isFull: Bool
  ) throws(StorageError) -> Result<SeriesPage, SeriesRefusal> {
    try database.execute("BEGIN")
    defer { database.rollBack() }
    let place = try place()
    func page(_ rows: SeriesPage.Rows, tier: Int64? = nil, next: SeriesQuery.Place? = nil) -> SeriesPage {
      SeriesPage(rows, tier: tier, next: next, through: place.revision, record: place.position)
    }
    let tier: Int64?
    if let step = query.step {
      let divisors = query.pointer == nil ? rule.tiers.filter { step % $0.step == 0 } : []
      tier = divisors.last?.step
      if tier == nil, rule.raw == nil {
        return .failure(query.pointer == nil ? .noTier(shortest: rule.tiers.first?.step ?? step) : .notRaw)
      }
    } else {
      tier = nil
      if rule.raw == nil { return .failure(.notRaw) }
    }
    let end = (isCurrent ? max(query.now, place.time) : place.time).milliseconds + 1
    guard let (number, open) = try open(query.path) else {
      if isFull { return .failure(.tooManySeries(limits.series)) }
      return .success(page(query.step == nil ? .changes([]) : .buckets([]), tier: tier))
    }
    guard let step = query.step else {
      let (rows, next) = try changes(query, number, open)
      return .success(page(.changes(rows), next: next))
    }
    var rows = BucketRows(step: step, query, end: end)
    let isCut =
      if let tier {
        try fill(&rows, number, open, tier)
      } else {
        try fill(&rows, query, number, open)
      }
    if isCut, rows.rows.isEmpty { return .failure(.tooManyChanges(limits.rows)) }
    if !isCut { rows.finish() }
    return .success(page(.buckets(rows.rows), tier: tier, next: rows.next.map { .time(Timestamp(milliseconds: $0)) }))
  }

  private func open(_ path: PropertyPath) throws(StorageError) -> (number: Int64, series: OpenSeries)? {
    try series.begin(.text(path.bytes))
    defer { series.reset() }
    guard try series.step() else { return nil }
    let number = series.integer(3)
    return (number, try HistoryFile.open(series, number, in: database.file).series)
  }

  // MARK: Changes

  private func changes(
    _ query: SeriesQuery, _ number: Int64, _ open: OpenSeries
  ) throws(StorageError) -> ([SeriesChange], next: SeriesQuery.Place?) {
    var rows: [SeriesChange] = []
    var last: UInt64 = 0
    var bytes = 0
    var view = SeriesView(query.pointer)
    let isCut = try forEachSample(number, open, from: query.from) { sample in
      switch query.to {
      case .time(let time)? where sample.time >= time.milliseconds: return false
      case .behind(let revision)? where sample.revision > revision.number: return false
      default: break
      }
      // Also of the changes before the range, which tell what the first of it is a change of.
      let operation = view.see(sample)
      let isBefore =
        switch query.from {
        case .time(let time): sample.time < time.milliseconds
        case .behind(let revision): sample.revision <= revision.number
        }
      guard let operation, !isBefore else {
        last = sample.revision
        return true
      }
      // A gap has the revision of the change before it, and so cannot be the first of a page.
      if rows.count >= query.limit || bytes >= query.bytes, sample.kind != .unknown { return nil }
      last = sample.revision
      bytes += operation.value?.text.count ?? 0
      rows.append(
        SeriesChange(operation, time: Timestamp(milliseconds: sample.time), revision: Revision(sample.revision)))
      return true
    }
    return (rows, isCut ? .behind(Revision(last)) : nil)
  }

  /// Calls `body` with the changes of a series, from the last block that begins before a position.
  ///
  /// - Parameter body: Returns whether it wants more; nil when its limit is reached.
  /// - Returns: Whether there may be more that was not read.
  private func forEachSample(
    _ number: Int64, _ open: OpenSeries, from place: SeriesQuery.Place, _ body: (Sample) -> Bool?
  ) throws(StorageError) -> Bool {
    var (looked, bytes) = (0, 0)
    func read(_ block: [UInt8], _ start: Int64, _ first: UInt64) throws(StorageError) -> Bool? {
      var reader = SampleReader(block, start: start, first: first)
      bytes += block.count
      do throws(RecordError) {
        while let sample = try reader.next() {
          looked += 1
          guard let wantsMore = body(sample) else { return nil }
          if !wantsMore { return false }
        }
      } catch {
        throw .damaged(.init(database.file, "the block at \(start)", "\(error.what) should be there"))
      }
      return true
    }
    let range = SeriesKey.range(number)
    try blocks.begin(.integer(try key(number, of: place)), .integer(range.upperBound))
    defer { blocks.reset() }
    while try blocks.step() {
      guard let row = BlockRow(blocks) else {
        throw .damaged(.init(database.file, "the block \(blocks.integer(0))", "the checksum does not match"))
      }
      guard let wantsMore = try read(row.bytes, row.start, row.first) else { return true }
      if !wantsMore { return false }
      if looked >= limits.rows || bytes >= limits.queryBytes { return true }
    }
    guard let block = open.block else { return false }
    return try read(block.bytes, block.start, block.first) == nil
  }

  /// The key of the last block that begins before a position, or the lowest possible key.
  private func key(_ number: Int64, of place: SeriesQuery.Place) throws(StorageError) -> Int64 {
    let range = SeriesKey.range(number)
    var best = range.lowerBound
    switch place {
    case .time(let time):
      let key = SeriesKey.key(number, time.milliseconds - 1)
      best = try lastBlock.integer(for: .integer(range.lowerBound), .integer(key)) ?? best
    case .behind(let revision):
      var low = range.lowerBound
      var high = try lastBlock.integer(for: .integer(range.lowerBound), .integer(range.upperBound)) ?? low - 1
      // Keys are also in the order of revisions.
      while low <= high {
        let middle = low + (high - low) / 2
        try nextBlock.begin(.integer(middle), .integer(high))
        defer { nextBlock.reset() }
        if try nextBlock.step(), UInt64(bitPattern: nextBlock.integer(1)) <= revision.number {
          best = nextBlock.integer(0)
          low = best + 1
        } else {
          high = middle - 1
        }
      }
    }
    return best
  }

  // MARK: Buckets

  /// Fills rows from changes.
  ///
  /// - Returns: Whether there is more than the limit of a query.
  private func fill(
    _ rows: inout BucketRows, _ query: SeriesQuery, _ number: Int64, _ open: OpenSeries
  ) throws(StorageError) -> Bool {
    let start = rows.start
    // Moved out while it is mutated, to avoid a copy.
    var filling = rows
    defer { rows = filling }
    var view = SeriesView(query.pointer)
    return try forEachSample(number, open, from: .time(Timestamp(milliseconds: start))) { sample in
      if let operation = view.see(sample) {
        let value = operation.value?.shortened
        if sample.time < start {
          filling.hold(value)
        } else {
          filling.change(to: value, at: sample.time)
        }
      } else {
        filling.pass(to: sample.time)
      }
      return !filling.isComplete
    }
  }

  /// Fills rows from shorter buckets.
  private func fill(
    _ rows: inout BucketRows, _ number: Int64, _ open: OpenSeries, _ tier: Int64
  ) throws(StorageError) -> Bool {
    let start = rows.start
    let keys: [Statement.Value] = [.integer(number), .integer(tier)]
    let first = try lastBucket.integer(for: keys[0], keys[1], .integer(start)) ?? start
    try buckets.begin(keys + [.integer(first), .integer(rows.end)])
    defer { buckets.reset() }
    var looked = 0
    while !rows.isComplete, try buckets.step() {
      guard let row = RollupRow(buckets) else {
        throw .damaged(
          .init(database.file, "the bucket of series \(number) at \(buckets.integer(2))", "the checksum does not match")
        )
      }
      let value = row.held ? row.bucket.last : nil
      if row.bucket.start < start {
        rows.hold(value)
      } else {
        rows.add(row.bucket, filledTo: row.bucket.start + tier, held: value)
      }
      looked += 1
      if looked >= limits.rows { return true }
    }
    guard !rows.isComplete else { return false }
    if let bucket = open.buckets.first(where: { $0.step == tier }) {
      if bucket.bucket.start < start {
        rows.hold(open.value)
      } else {
        rows.add(bucket.bucket, filledTo: bucket.filled, held: open.value)
      }
    } else {
      // The rule has kept these buckets only since the last change.
      rows.hold(open.value, from: open.time)
    }
    return false
  }
}

extension BucketRows {
  /// The rows of a query, up to the end of what is known.
  fileprivate init(step: Int64, _ query: SeriesQuery, end: Int64) {
    var end = end
    if case .time(let time)? = query.to {
      let start = SeriesBucket.start(of: time.milliseconds, step: step)
      end = min(end, start == time.milliseconds ? start : start + step)
    }
    let from = if case .time(let time) = query.from { time.milliseconds } else { end }
    self.init(step: step, from: SeriesBucket.start(of: from, step: step), to: end, limit: query.limit)
  }
}
