// SPDX-License-Identifier: MIT
import SignalAccess
import SignalHTTP
import SignalStore

/// Counts events that are like others before, so that a flood of them is no flood of lines: the first one is written at
/// once, and how many followed it when its time is over.
///
/// Events that differ only in what was asked for are no flood either: of one sender a few are written, and the others
/// counted together.
struct AuditTally {
  /// For how long events like one that was written are counted, in milliseconds.
  static let window: Int64 = 10_000
  /// The maximum number of different events of a kind that are written of one sender within ``window``.
  static let mostOfSender = 16
  /// The maximum number of different events that are counted at a time.
  ///
  /// Beyond it those of a kind are counted together, whoever sends them.
  static let most = 1024

  private struct Key: Hashable {
    var kind: AuditEvent.Kind
    var identity: [String] = []
    var address: String?
    /// What was asked for and why it was not done; nil for all that is counted together.
    var texts: [String?]?

    /// All of the kind that the same sender sends.
    var ofSender: Key { Key(kind: kind, identity: identity, address: address) }
    /// All of the kind.
    var ofKind: Key { Key(kind: kind) }
  }

  private struct Entry {
    let first: AuditEvent
    var last: Timestamp
    var count = 0
  }

  private var entries: [Key: Entry] = [:]
  /// How many different events of each sender are among them.
  private var different: [Key: Int] = [:]

  /// When the time of the first of those that are counted is over; nil when nothing is.
  var end: Timestamp? {
    entries.values.map(\.first.time.milliseconds).min().map { Timestamp(milliseconds: $0 + Self.window) }
  }

  /// Counts an event.
  ///
  /// - Returns: Whether it is to be written by itself.
  mutating func isFirst(_ event: AuditEvent) -> Bool {
    guard let key = Self.key(of: event) else { return true }
    if entries[key] != nil {
      count(event, as: key)
      return false
    }
    if entries.count >= Self.most {
      count(event, as: key.ofKind, like: AuditEvent(event.kind))
      return false
    }
    if different[key.ofSender, default: 0] >= Self.mostOfSender {
      count(event, as: key.ofSender, like: AuditEvent(event.kind, identity: event.identity, peer: event.peer))
      return false
    }
    entries[key] = Entry(first: event, last: event.time)
    different[key.ofSender, default: 0] += 1
    return true
  }

  private mutating func count(_ event: AuditEvent, as key: Key, like first: @autoclosure () -> AuditEvent? = nil) {
    var entry = entries[key] ?? Entry(first: first() ?? event, last: event.time)
    entry.count += 1
    entry.last = event.time
    entries[key] = entry
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
      guard key.texts != nil, let others = different[key.ofSender] else { continue }
      different[key.ofSender] = others > 1 ? others - 1 : nil
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
