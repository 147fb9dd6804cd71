// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore

/// Counts events that are like others before, so that a flood of them is no flood of lines: the first one is written at
/// once, and how many followed it when its time is over.
struct AuditTally {
  /// For how long events like one that was written are counted, in milliseconds.
  static let window: Int64 = 10_000
  /// The maximum number of different events that are counted at a time.
  ///
  /// Beyond it limits are counted together, and other events written one by one.
  static let most = 1024

  private struct Key: Hashable {
    var kind: AuditEvent.Kind
    var identity: [String] = []
    var address: String?
    var texts: [String?] = []
  }

  private struct Entry {
    let first: AuditEvent
    var last: Timestamp
    var count = 0
  }

  private var entries: [Key: Entry] = [:]
  private var overflow: Entry?

  /// When the time of the first of those that are counted is over; nil when nothing is.
  var end: Timestamp? {
    (entries.values.map(\.first.time.milliseconds) + [overflow].compactMap { $0?.first.time.milliseconds }).min()
      .map { Timestamp(milliseconds: $0 + Self.window) }
  }

  /// Counts an event.
  ///
  /// - Returns: Whether it is to be written by itself.
  mutating func isFirst(_ event: AuditEvent) -> Bool {
    guard let key = Self.key(of: event) else { return true }
    if entries[key] != nil {
      entries[key]?.count += 1
      entries[key]?.last = event.time
      return false
    }
    guard entries.count < Self.most else {
      guard event.kind == .limitExceeded else { return true }
      overflow = overflow ?? Entry(first: AuditEvent(.limitExceeded), last: event.time)
      overflow?.count += 1
      overflow?.last = event.time
      return false
    }
    entries[key] = Entry(first: event, last: event.time)
    return true
  }

  /// What was counted and whose time is over; everything if `isEnd`.
  mutating func take(
    at now: Timestamp, isEnd: Bool
  ) -> [(first: AuditEvent, last: Timestamp, count: Int)] {
    var over: [(first: AuditEvent, last: Timestamp, count: Int)] = []
    // A clock that was set back must not keep them for longer.
    func isOver(_ entry: Entry) -> Bool {
      isEnd || abs(now.milliseconds - entry.first.time.milliseconds) >= Self.window
    }
    for (key, entry) in entries where isOver(entry) {
      entries[key] = nil
      if entry.count > 0 { over.append((entry.first, entry.last, entry.count)) }
    }
    if let entry = overflow, isOver(entry) {
      overflow = nil
      over.append((entry.first, entry.last, entry.count))
    }
    return over.sorted { $0.first.time < $1.first.time }
  }

  /// What has to be the same; nil for events of which each is written.
  private static func key(of event: AuditEvent) -> Key? {
    var key = Key(kind: event.kind, address: event.peer.map { $0.ipAddress?.description ?? "\($0)" })
    if let identity = event.identity { key.identity = [identity.kind.rawValue, identity.id] }
    switch event.kind {
    case .limitExceeded: key.texts = [event.outcome, event.subject]
    case .refused, .authenticationFailed, .tokenExposed:
      key.texts = [event.request, event.operation, event.path, event.outcome, event.subject, event.key]
    default: return nil
    }
    return key
  }
}
