// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// Writes what a node has after some record of the log as messages of bounded size, one at a time.
///
///     {"v":1,"kind":"snapshot","part":0,"prev":"…"}
///     {"sequence":5511,"term":7,"leader":"a","n":31,"revision":1043,"link":"…","epoch":"x7","entries":1100,…}
///     {"p":"k/t","value":22.5,"revision":1040,"at":1767323045678}
///     …
///     {"v":1,"kind":"snapshot","part":9,"prev":"…","complete":true}
///
/// `prev` is a link of a chain as that of the log, so that the last part proves all others.
struct SnapshotWriter {
  let name: SnapshotName
  private let key: ChainKey
  private let state: [UInt8]
  private var properties: PropertyScan
  /// What there is beside the properties, as records that make it.
  private var rest: [Record]
  private var link = ChainLink.none
  private(set) var part = 0
  private var isComplete = false

  /// Bytes after which a part ends.
  static let partBytes = 1 << 20

  /// - Parameter position: Where the log is when it has made the replica; its epoch is that of the snapshot.
  init(_ replica: Replica, at position: LogPosition, session: String, key: ChainKey) {
    name = SnapshotName(sequence: position.sequence, session: session)
    self.key = key
    state = Self.state(replica, position)
    properties = replica.snapshot.scan()
    rest = replica.signals.messages.values.map { .signal($0, isKept: true) }
    rest += replica.timers.values.map { .timer($0) }
    rest += replica.lastOperations.map { .lastOperations($0.key, $0.value) }
  }

  /// The next part; nil behind the last.
  mutating func next() -> [UInt8]? {
    if isComplete { return nil }
    var body: [UInt8] = part == 0 ? state : []
    while body.count < Self.partBytes, let property = properties.next() { Self.append(property, &body) }
    while body.count < Self.partBytes, let record = rest.popLast() {
      EntryWriter.append(record, operation: nil, to: &body)
    }
    isComplete = body.isEmpty
    var text: [UInt8] = []
    text.reserveCapacity(body.count + 100)
    text.append(contentsOf: #"{"v":\#(LogRecord.version),"kind":"snapshot","part":\#(part)"#.utf8)
    text.append(contentsOf: #","prev":"\#(link.text)""#.utf8)
    if isComplete { text.append(literal: #","complete":true"#) }
    text.append(literal: "}\n")
    text += body
    link = key.link(after: link, text)
    part += 1
    return text
  }

  private static func state(_ replica: Replica, _ position: LogPosition) -> [UInt8] {
    var text = Array(
      #"{"sequence":\#(position.sequence),"term":\#(position.term),"n":\#(position.number),"leader":"#.utf8)
    text.appendJSON(position.leader)
    text.append(contentsOf: #","revision":\#(position.revision.number),"link":"\#(position.link.text)","epoch":""#.utf8)
    (position.epoch ?? replica.epoch).write(to: &text)
    text.append(contentsOf: #"","entries":\#(position.entries),"message":\#(replica.signals.number)"#.utf8)
    // There is no time before the first commit, nor before the first message.
    if replica.revision > 0 { text.append(contentsOf: #","at":\#(replica.time.milliseconds)"#.utf8) }
    if replica.signals.number > 0 {
      text.append(contentsOf: #","messageAt":\#(replica.signals.time.milliseconds)"#.utf8)
    }
    text.append(literal: "}\n")
    return text
  }

  private static func append(_ property: StoredValue, _ text: inout [UInt8]) {
    text.append(literal: #"{"p":"#)
    EntryWriter.append(property.path, &text)
    text.append(literal: #","value":"#)
    text.appendJSON(property.value)
    text.append(literal: #","revision":"#)
    text.appendJSON(property.revision.number)
    text.append(contentsOf: #","at":\#(property.time.milliseconds)"#.utf8)
    EntryWriter.appendExtra(of: property, &text)
    text.append(literal: "}\n")
  }
}
