// SPDX-License-Identifier: MIT
import TestSupport

/// What a careful client knows from the messages of a subscription to everything, over all its connections.
///
/// It demands of every message what `docs/protocol.md` §4 promises: without a filter nothing may be missing, so each
/// change follows the one before without a hole, and says what was there before.
struct Fold {
  struct Entry: Equatable {
    let value: String
    let revision: Int
  }

  /// A message that the protocol does not allow here.
  struct Violation: Error, CustomStringConvertible {
    let description: String
  }

  private enum Phase {
    case starting
    /// The snapshot at a revision, of which so much has come.
    case snapshot(at: Int, [String: Entry])
    /// What was missed, up to a revision.
    case missed(upTo: Int)
    case live
  }

  /// The properties as of `cursor`.
  private(set) var state: [String: Entry] = [:]
  /// Up to which revision everything is known; nil before the first `live`.
  private(set) var cursor: Int?
  /// Every change that was applied: revision and path, in order.
  private(set) var log: [String] = []
  private(set) var resets = 0
  /// Connections that ended inside of a transaction, or of a snapshot.
  private(set) var cutTransactions = 0
  private(set) var cutSnapshots = 0
  private var phase = Phase.starting
  /// Events of a transaction whose last has not come.
  private var pending: [LiveMessage] = []

  /// The connection is gone: what was not complete is forgotten.
  mutating func connectionEnded() {
    if !pending.isEmpty { cutTransactions += 1 }
    if case .snapshot(_, let part) = phase, !part.isEmpty { cutSnapshots += 1 }
    pending = []
    phase = .starting
  }

  mutating func receive(_ message: LiveMessage) throws {
    switch (message.type, phase) {
    case ("ok", .starting):
      guard (cursor == nil) == (message.bool("recovered") == nil) else { throw violation(message, "recovered") }
      // A cursor that cannot be served is answered by a reset, which begins the snapshot.
      phase = message.bool("recovered") == true ? .missed(upTo: message.revision) : .snapshot(at: message.revision, [:])
    case ("reset", .snapshot(let revision, let part)):
      guard cursor != nil, part.isEmpty, message.revision == revision else { throw violation(message, "reset") }
      resets += 1
    case ("didSet", .snapshot(let revision, var part)):
      guard message.revision <= revision, part[message.path] == nil, message.raw("oldValue") == nil,
        message.raw("more") == nil, message.raw("entered") == nil
      else { throw violation(message, "snapshot at \(revision)") }
      part[message.path] = Entry(value: message.raw("value") ?? "", revision: message.revision)
      phase = .snapshot(at: revision, part)
    case ("live", .snapshot(let revision, let whole)):
      guard message.revision == revision else { throw violation(message, "live at \(revision)") }
      state = whole
      cursor = revision
      phase = .live
    case ("live", .missed(let revision)):
      guard message.revision == revision, cursor == revision, pending.isEmpty else {
        throw violation(message, "live at \(revision), known up to \(cursor ?? -1)")
      }
      phase = .live
    case ("bookmark", .live):
      guard message.revision == cursor, pending.isEmpty else { throw violation(message, "bookmark") }
    case ("didSet", .live), ("didDelete", .live), ("didSet", .missed), ("didDelete", .missed):
      try receiveChange(message)
    default: throw violation(message, "not here")
    }
  }

  private mutating func receiveChange(_ message: LiveMessage) throws {
    guard let cursor, message.revision == cursor + 1 else { throw violation(message, "after \(cursor ?? -1)") }
    guard !pending.contains(where: { $0.path == message.path }) else { throw violation(message, "twice") }
    guard message.raw("oldValue") == state[message.path]?.value else {
      throw violation(message, "was \(state[message.path]?.value ?? "absent")")
    }
    pending.append(message)
    if message.bool("more") == true { return }
    for change in pending {
      state[change.path] =
        change.type == "didDelete" ? nil : Entry(value: change.raw("value") ?? "", revision: change.revision)
      log.append("\(change.revision) \(change.path)")
    }
    pending = []
    self.cursor = message.revision
  }

  private func violation(_ message: LiveMessage, _ what: String) -> Violation {
    Violation(description: "\(message): \(what)")
  }
}
