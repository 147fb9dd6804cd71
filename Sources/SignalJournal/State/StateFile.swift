// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// `state.sqlite`: everything a store holds, as of a position in its journal.
///
/// It is advanced by the net effect of records, in transactions: a path that has changed a thousand times is written
/// once. Each row has a checksum, and the head their sum.
final class StateFile {
  let database: Database
  private(set) var head: StateHead
  private let propertyChecksum: Statement
  private let propertyInsertion: Statement
  private let propertyUpdate: Statement
  private let propertyDeletion: Statement
  private let itemSelection: Statement
  private let itemReplacement: Statement
  private let itemDeletion: Statement

  init(_ database: Database) throws(StorageError) {
    self.database = database
    head = try StateHead(database)
    propertyChecksum = try database.prepare("SELECT crc FROM property WHERE path = ?")
    propertyInsertion = try database.prepare("INSERT INTO property VALUES (?, ?, ?, ?, ?, ?)")
    propertyUpdate = try database.prepare(
      "UPDATE property SET value = ?2, revision = ?3, time = ?4, extra = ?5, crc = ?6 WHERE path = ?1")
    propertyDeletion = try database.prepare("DELETE FROM property WHERE path = ?")
    itemSelection = try database.prepare("SELECT body, crc FROM item WHERE kind = ? AND key = ?")
    itemReplacement = try database.prepare("REPLACE INTO item VALUES (?, ?, ?, ?)")
    itemDeletion = try database.prepare("DELETE FROM item WHERE kind = ? AND key = ?")
  }

  // MARK: Writing

  /// Applies changes in one commit, which is durable when this returns.
  ///
  /// - Parameter place: The position in the journal that they reach.
  func apply(_ changes: StateChanges, through place: JournalPlace) throws(StorageError) {
    var next = head
    next.journal = place
    if let (number, time) = changes.signalPlace { (next.signal, next.signaled) = (number, time) }
    try database.transaction { () throws(StorageError) in
      // In the order of the rows, so that each page is written once.
      for path in changes.properties.keys.sorted() {
        try apply(changes.properties[path] ?? nil, at: path, &next)
      }
      for (path, message) in changes.signals {
        try apply(.signal, path.bytes, message.map { message in StateFile.body { $0.append(message) } }, &next)
      }
      for (path, timer) in changes.timers {
        try apply(.timer, path.bytes, timer.map { timer in StateFile.body { $0.append(timer) } }, &next)
      }
      for (holder, operations) in changes.lastOperations {
        try apply(.lastOperations, StateFile.key(of: holder), operations?.bytes, &next)
      }
      if let rules = changes.rules {
        try apply(.rules, [], rules.isEmpty ? nil : StateFile.body { $0.append(rules) }, &next)
      }
      try next.write(database)
    }
    head = next
  }

  private func apply(_ property: StoredValue?, at path: PropertyPath, _ head: inout StateHead) throws(StorageError) {
    let key = Statement.Value.text(path.bytes)
    let old = try propertyChecksum.integer(for: key)
    head.replace(old, by: nil)
    guard let property else {
      if old != nil { try propertyDeletion.run(key) }
      return
    }
    let extra = PropertyRow.extra(of: property)
    let checksum = Int64(PropertyRow.checksum(of: property, extra: extra))
    try (old == nil ? propertyInsertion : propertyUpdate).run(
      key, .text(property.value.bytes), .integer(Int64(property.revision.number)),
      .integer(property.time.milliseconds), extra.isEmpty ? .null : .blob(extra), .integer(checksum))
    head.replace(nil, by: checksum)
  }

  private func apply(
    _ kind: StateItem, _ key: [UInt8], _ body: [UInt8]?, _ head: inout StateHead
  ) throws(StorageError) {
    try itemSelection.begin(.integer(kind.rawValue), .blob(key))
    let old = try itemSelection.step() ? itemSelection.integer(1) : nil
    itemSelection.reset()
    head.replace(old, by: nil)
    guard let body else {
      if old != nil { try itemDeletion.run(.integer(kind.rawValue), .blob(key)) }
      return
    }
    let checksum = Int64(kind.checksum(key, body))
    try itemReplacement.run(.integer(kind.rawValue), .blob(key), .blob(body), .integer(checksum))
    head.replace(nil, by: checksum)
  }

  private static func body(_ write: (inout RecordWriter) -> Void) -> [UInt8] {
    var writer = RecordWriter()
    write(&writer)
    return writer.bytes
  }

  private static func key(of holder: Holder) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: holder.number >> UInt64(56 - 8 * $0)) }
  }

  // MARK: Reading

  /// The timer at a path, nil when there is none.
  func timer(at path: PropertyPath) throws(StorageError) -> StoredTimer? {
    try itemSelection.begin(.integer(StateItem.timer.rawValue), .blob(path.bytes))
    defer { itemSelection.reset() }
    guard try itemSelection.step() else { return nil }
    var reader = RecordReader(itemSelection.bytes(0))
    guard let timer = try? reader.timer() else { throw damage("the timer \(path)", "it is not what was written") }
    return timer
  }

  /// Everything, checked.
  func load(epoch: Epoch, limits: StoreLimits) throws(StorageError) -> Replica {
    var rows: Int64 = 0
    var sum: UInt64 = 0
    let properties = try loadProperties(&rows, &sum)
    let items = try loadItems(&rows, &sum)
    try head.check(rows: rows, sum: sum, in: database.file)
    return Replica(
      epoch: epoch, revision: head.journal.revision, time: head.journal.time, properties: properties,
      signals: KeptSignals(number: head.signal, time: head.signaled, messages: items.signals), timers: items.timers,
      lastOperations: items.lastOperations, rules: items.rules, limits: limits)
  }

  private func loadProperties(_ rows: inout Int64, _ sum: inout UInt64) throws(StorageError) -> [StoredValue] {
    var properties: [StoredValue] = []
    // The head is not trusted for an allocation before it is checked.
    properties.reserveCapacity(Int(clamping: min(head.rows, 10_000_000)))
    let statement = try database.prepare("SELECT * FROM property ORDER BY path")
    while try statement.step() {
      guard let (property, checksum) = PropertyRow.read(statement) else {
        throw damage(
          "the property \(String(decoding: statement.bytes(0), as: UTF8.self))", "the checksum does not match")
      }
      rows += 1
      sum &+= UInt64(checksum)
      properties.append(property)
    }
    return properties
  }

  private func loadItems(_ rows: inout Int64, _ sum: inout UInt64) throws(StorageError) -> StateItems {
    var items = StateItems()
    let statement = try database.prepare("SELECT * FROM item")
    while try statement.step() {
      guard let (item, checksum) = StateItems.Item.read(statement) else {
        throw damage("row \(rows) of the table item", "the checksum does not match")
      }
      items.add(item)
      rows += 1
      sum &+= UInt64(checksum)
    }
    return items
  }

  private func damage(_ place: String, _ reason: String) -> StorageError {
    .damaged(.init(database.file, place, reason))
  }
}

extension StateHead {
  /// Replaces the checksum of a row in the count and the sum; nil for no row.
  fileprivate mutating func replace(_ old: Int64?, by new: Int64?) {
    if let old {
      rows -= 1
      sum &-= UInt64(bitPattern: old)
    }
    if let new {
      rows += 1
      sum &+= UInt64(bitPattern: new)
    }
  }
}
