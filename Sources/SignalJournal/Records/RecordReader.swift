// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// The reason bytes are not records.
struct RecordError: Error, Equatable {
  /// The offset in the bytes.
  let offset: Int
  /// The part that is malformed: "a path".
  let what: String
}

/// Parses what a ``RecordWriter`` has written.
///
/// It validates all input: for any bytes, it returns records as a store makes them, or throws.
struct RecordReader {
  private let bytes: [UInt8]
  private var index = 0
  /// The time that was read last.
  private var time: Int64 = 0
  /// The revision of the last commit.
  private(set) var revision: Revision

  /// - Parameter revision: The revision before the first commit.
  init(_ bytes: [UInt8], after revision: Revision = 0) {
    self.bytes = bytes
    self.revision = revision
  }

  /// How many bytes have been read.
  var offset: Int { index }

  /// Whether everything has been read.
  var isAtEnd: Bool { index == bytes.count }

  mutating func record() throws(RecordError) -> WrittenRecord {
    var kind = try byte()
    if kind == RecordFormat.gap {
      try skipRevisions()
      kind = try byte()
      guard kind == RecordFormat.commit || kind & ~0x1F == RecordFormat.change else { throw error("a commit") }
    }
    switch kind {
    case RecordFormat.commit: return .commit(try commit())
    case RecordFormat.signal: return .other(.signal(try message(), isKept: false))
    case RecordFormat.keptSignal: return .other(.signal(try message(), isKept: true))
    case RecordFormat.timer: return .other(.timer(try timer()))
    case RecordFormat.timerFired: return .other(.timerFired(try message(), count: try count()))
    case RecordFormat.timerRemoved: return .other(.timerRemoved(try path()))
    case RecordFormat.lastOperations: return .other(.lastOperations(try holder(), try json()))
    case RecordFormat.noLastOperations: return .other(.lastOperations(try holder(), nil))
    case RecordFormat.rules: return .other(.rules(try rules()))
    default: break
    }
    let isCorrection = kind & RecordFormat.correction != 0
    guard let part = RecordFormat.Part(rawValue: kind & 0xF) else { throw error("a kind of record") }
    switch kind & ~0x1F {
    case RecordFormat.change:
      let time = try timestamp()
      let revision = try nextRevision()
      let change = try change(part, isCorrection, revision, time)
      return .commit(WrittenCommit(revision: revision, time: time, changes: [change]))
    case RecordFormat.amendment where !isCorrection:
      let (path, value) = (try path(), try json())
      // What follows it is needed first.
      let extra = try extra(part)
      let (revision, time) = (Revision(try smallNumber()), try timestamp())
      return .other(.amendment(extra.property(path, value, revision, time)))
    default: throw error("a kind of record")
    }
  }

  // MARK: Parts

  private mutating func commit() throws(RecordError) -> WrittenCommit {
    let time = try timestamp()
    let count = try number()
    // Each takes at least two bytes, so that the memory for them is bounded by the input.
    guard count > 0, count <= UInt64(bytes.count - index) else { throw error("a number of changes") }
    let revision = try nextRevision()
    var changes: [WrittenCommit.Change] = []
    changes.reserveCapacity(Int(count))
    for _ in 0..<count {
      let kind = try byte()
      guard let part = RecordFormat.Part(rawValue: kind & ~RecordFormat.correction) else {
        throw error("a kind of change")
      }
      changes.append(try change(part, kind & RecordFormat.correction != 0, revision, time))
    }
    return WrittenCommit(revision: revision, time: time, changes: changes)
  }

  private mutating func change(
    _ part: RecordFormat.Part, _ isCorrection: Bool, _ revision: Revision, _ time: Timestamp
  ) throws(RecordError) -> WrittenCommit.Change {
    let path = try path()
    switch part {
    case .deleted: return .end(path, .delete, isCorrection: isCorrection)
    case .expired: return .end(path, .expire, isCorrection: isCorrection)
    case .released: return .end(path, .release, isCorrection: isCorrection)
    case .plain, .leased, .computed:
      let value = try json()
      return .set(try extra(part).property(path, value, revision, time), isCorrection: isCorrection)
    }
  }

  private mutating func nextRevision() throws(RecordError) -> Revision {
    guard revision.number < RecordFormat.numberLimit else { throw error("a revision") }
    revision = Revision(revision.number + 1)
    return revision
  }

  private mutating func skipRevisions() throws(RecordError) {
    let count = try number()
    guard count <= RecordFormat.numberLimit, revision.number <= RecordFormat.numberLimit - count else {
      throw error("a number of revisions")
    }
    revision = Revision(revision.number + count)
  }

  /// What a property has beside its value.
  enum Extra {
    case none
    case lease(Lease)
    case computation(Computation)

    func property(_ path: PropertyPath, _ value: JSONText, _ revision: Revision, _ time: Timestamp) -> StoredValue {
      switch self {
      case .none: StoredValue(path: path, value: value, revision: revision, time: time)
      case .lease(let lease): StoredValue(path: path, value: value, revision: revision, time: time, lease: lease)
      case .computation(let computation):
        StoredValue(path: path, value: value, revision: revision, time: time, computation: computation)
      }
    }
  }

  mutating func extra(_ part: RecordFormat.Part) throws(RecordError) -> Extra {
    switch part {
    case .plain: return .none
    case .leased: return .lease(try lease())
    case .computed:
      let source = try string(try length())
      let errorLength = try number()
      guard errorLength <= UInt64(bytes.count - index) + 1 else { throw error("an error") }
      let error = errorLength == 0 ? nil : try string(Int(errorLength) - 1)
      return .computation(Computation(Formula(uncompiled: source), error: error))
    case .deleted, .expired, .released: throw error("a property")
    }
  }

  private mutating func lease() throws(RecordError) -> Lease {
    let parts = try byte()
    guard 1...3 ~= parts else { throw error("a lease") }
    var term: Lease.Term?
    if parts & RecordFormat.LeasePart.term != 0 {
      let end = Timestamp(milliseconds: try signed())
      term = Lease.Term(end: end, length: try duration())
    }
    return Lease(term: term, holder: parts & RecordFormat.LeasePart.holder == 0 ? nil : try holder())
  }

  mutating func message() throws(RecordError) -> SignalMessage {
    let (path, message) = (try path(), try json())
    let time = try timestamp()
    return SignalMessage(path: path, message: message, time: time, number: try smallNumber())
  }

  mutating func rules() throws(RecordError) -> [PersistenceRule] {
    let count = try number()
    guard count <= PersistenceRule.mostRules else { throw error("a number of rules") }
    var rules: [PersistenceRule] = []
    for _ in 0..<count {
      let line = try string(try length())
      do throws(RuleFault) {
        rules.append(try PersistenceRule(line, limits: .unlimited))
      } catch { throw self.error("a rule") }
    }
    return rules
  }

  mutating func timer() throws(RecordError) -> StoredTimer {
    let path = try path()
    let schedule: TimerSchedule
    switch RecordFormat.Schedule(rawValue: try byte()) {
    case .after: schedule = .after(try duration())
    case .at: schedule = .at(Timestamp(milliseconds: try signed()))
    case .every:
      let interval = try duration()
      guard interval > .zero else { throw error("an interval") }
      schedule = .every(interval)
    case nil: throw error("a schedule")
    }
    let message = try json()
    let start = Timestamp(milliseconds: try signed())
    return StoredTimer(path: path, schedule: schedule, message: message, start: start, count: try count())
  }

  private mutating func holder() throws(RecordError) -> Holder { Holder(number: try smallNumber()) }

  // MARK: Values

  private func error(_ what: String) -> RecordError { RecordError(offset: index, what: what) }

  private mutating func byte() throws(RecordError) -> UInt8 {
    guard index < bytes.count else { throw error("more bytes") }
    index += 1
    return bytes[index - 1]
  }

  mutating func number() throws(RecordError) -> UInt64 {
    var number: UInt64 = 0
    var shift: UInt64 = 0
    while true {
      let byte = try byte()
      // The tenth byte can hold only one bit.
      guard shift < 63 || byte <= 1 else { throw error("a number") }
      number |= UInt64(byte & 0x7F) << shift
      if byte < 0x80 { return number }
      shift += 7
    }
  }

  /// A number that can be incremented safely.
  private mutating func smallNumber() throws(RecordError) -> UInt64 {
    let number = try number()
    guard number <= RecordFormat.numberLimit else { throw error("a number") }
    return number
  }

  private mutating func count() throws(RecordError) -> Int { Int(try smallNumber()) }

  mutating func signed() throws(RecordError) -> Int64 {
    let number = try number()
    return Int64(bitPattern: number >> 1) ^ -Int64(bitPattern: number & 1)
  }

  /// A time as the difference to the one before; a ``Timestamp`` clamps the sum, so that arithmetic on it is safe.
  private mutating func timestamp() throws(RecordError) -> Timestamp {
    let result = Timestamp(milliseconds: time &+ (try signed()))
    time = result.milliseconds
    return result
  }

  private mutating func duration() throws(RecordError) -> Duration {
    let (seconds, attoseconds) = (try signed(), try signed())
    guard 0...RecordFormat.secondsLimit ~= seconds, 0..<1_000_000_000_000_000_000 ~= attoseconds else {
      throw error("a length of time")
    }
    return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
  }

  private mutating func length() throws(RecordError) -> Int {
    let length = try number()
    guard length <= UInt64(bytes.count - index) else { throw error("as many bytes as it says") }
    return Int(length)
  }

  /// Bytes preceded by their length.
  mutating func text() throws(RecordError) -> ArraySlice<UInt8> {
    let length = try length()
    index += length
    return bytes[index - length..<index]
  }

  private mutating func string(_ length: Int) throws(RecordError) -> String {
    guard let string = String(validating: bytes[index..<index + length], as: UTF8.self) else { throw error("UTF-8") }
    index += length
    return string
  }

  private mutating func path() throws(RecordError) -> PropertyPath {
    let length = try length()
    guard let path = PropertyPath(written: bytes.span.extracting(index..<index + length)) else { throw error("a path") }
    index += length
    return path
  }

  private mutating func json() throws(RecordError) -> JSONText {
    let length = try length()
    guard let text = JSONText(written: bytes.span.extracting(index..<index + length)) else { throw error("JSON") }
    index += length
    return text
  }
}

extension PathLimits {
  /// The present limits do not apply to paths that were written under other ones.
  fileprivate static let unlimited = PathLimits(depth: .max, segmentBytes: .max, bytes: .max)
}

extension PropertyPath {
  /// A path that was written; nil when it is not a path.
  init?(written bytes: Span<UInt8>) {
    do throws(PathError) { try self.init(bytes: bytes, limits: .unlimited) } catch { return nil }
  }
}

extension JSONText {
  /// A text that was written; nil when it is not JSON, or not in the compact form that is written.
  init?(written source: Span<UInt8>) {
    do throws(JSONError) { try self.init(validating: source, limits: .unlimited) } catch { return nil }
    if bytes.count != source.count { return nil }
  }
}
