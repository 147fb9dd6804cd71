// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// The kinds of items in a state beside properties.
enum StateItem: Int64 {
  case signal = 1
  case timer = 2
  case lastOperations = 3
  /// The rules by which records are omitted; its key is empty.
  case rules = 4

  /// The checksum of a row.
  func checksum(_ key: [UInt8], _ body: [UInt8]) -> UInt32 {
    var checksum = Checksum()
    checksum.append(rawValue)
    checksum.append(UInt64(key.count))
    checksum.append(key)
    checksum.append(body)
    return checksum.value
  }
}

/// The items in a state beside properties.
struct StateItems {
  enum Item {
    case signal(SignalMessage)
    case timer(StoredTimer)
    case lastOperations(Holder, JSONText)
    case rules([PersistenceRule])

    /// Reads the row a statement is at: kind, key, body, checksum.
    ///
    /// - Returns: The item and its checksum; nil when the row is corrupt.
    static func read(_ statement: Statement) -> (item: Item, checksum: UInt32)? {
      let (key, body) = (statement.bytes(1), statement.bytes(2))
      guard let kind = StateItem(rawValue: statement.integer(0)) else { return nil }
      let checksum = kind.checksum(key, body)
      guard statement.integer(3) == Int64(checksum) else { return nil }
      var reader = RecordReader(body)
      switch kind {
      case .signal: return (try? reader.message()).map { (.signal($0), checksum) }
      case .timer: return (try? reader.timer()).map { (.timer($0), checksum) }
      case .lastOperations:
        let holder = key.reduce(0) { $0 << 8 | UInt64($1) }
        guard key.count == 8, holder <= RecordFormat.numberLimit, let text = JSONText(written: body.span) else {
          return nil
        }
        return (.lastOperations(Holder(number: holder), text), checksum)
      case .rules: return (try? reader.rules()).map { (.rules($0), checksum) }
      }
    }
  }

  private(set) var signals: [SignalMessage] = []
  private(set) var timers: [StoredTimer] = []
  private(set) var lastOperations: [Holder: JSONText] = [:]
  private(set) var rules: [PersistenceRule] = []

  mutating func add(_ item: Item) {
    switch item {
    case .signal(let message): signals.append(message)
    case .timer(let timer): timers.append(timer)
    case .lastOperations(let holder, let text): lastOperations[holder] = text
    case .rules(let rules): self.rules = rules
    }
  }
}

/// A property as a row of `state.sqlite`.
enum PropertyRow {
  /// What a property has beside its value: its ``RecordFormat/Part``, followed by its data; empty for a plain one.
  static func extra(of property: StoredValue) -> [UInt8] {
    guard property.lease != nil || property.computation != nil else { return [] }
    var writer = RecordWriter()
    writer.appendExtra(of: property)
    return [(property.lease == nil ? RecordFormat.Part.computed : .leased).rawValue] + writer.bytes
  }

  static func checksum(of property: StoredValue, extra: [UInt8]) -> UInt32 {
    let (path, value) = (property.path.bytes, property.value.bytes)
    return checksum(path.span, value.span, property.revision, property.time, extra.span)
  }

  /// The checksum that the row a statement is at should have.
  static func checksum(_ row: Statement) -> UInt32 {
    let (path, value, extra) = (row.bytes(0), row.bytes(1), row.bytes(4))
    return checksum(
      path.span, value.span, Revision(UInt64(bitPattern: row.integer(2))),
      Timestamp(milliseconds: row.integer(3)), extra.span)
  }

  static func checksum(
    _ path: Span<UInt8>, _ value: Span<UInt8>, _ revision: Revision, _ time: Timestamp, _ extra: Span<UInt8>
  ) -> UInt32 {
    var checksum = Checksum()
    // Includes both lengths in one number, so that no byte can move from one part to the other.
    checksum.append(UInt64(path.count) << 32 | UInt64(value.count))
    checksum.append(path)
    checksum.append(value)
    checksum.append(revision.number)
    checksum.append(time.milliseconds)
    if !extra.isEmpty { checksum.append(extra) }
    return checksum.value
  }

  /// Reads the row a statement is at: path, value, revision, time, extra, checksum.
  ///
  /// - Returns: The property and its checksum; nil when the row is corrupt.
  static func read(_ statement: Statement) -> (property: StoredValue, checksum: UInt32)? {
    let revision = Revision(UInt64(bitPattern: statement.integer(2)))
    let time = Timestamp(milliseconds: statement.integer(3))
    let extra = statement.isNull(4) ? [] : statement.bytes(4)
    guard let path = statement.withBytes(0, { PropertyPath(written: $0) }),
      let value = statement.withBytes(1, { JSONText(written: $0) })
    else { return nil }
    let (pathBytes, valueBytes) = (path.bytes, value.bytes)
    let checksum = PropertyRow.checksum(pathBytes.span, valueBytes.span, revision, time, extra.span)
    guard Int64(checksum) == statement.integer(5), revision.number <= RecordFormat.numberLimit else { return nil }
    guard let part = extra.first else {
      return (StoredValue(path: path, value: value, revision: revision, time: time), checksum)
    }
    var reader = RecordReader(Array(extra.dropFirst()))
    guard let part = RecordFormat.Part(rawValue: part), let rest = try? reader.extra(part), reader.isAtEnd else {
      return nil
    }
    return (rest.property(path, value, revision, time), checksum)
  }
}
