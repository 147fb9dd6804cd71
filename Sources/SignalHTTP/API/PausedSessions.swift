// SPDX-License-Identifier: MIT

/// A WebSocket that is not read while its client has used up what it may do.
protocol PausableSession: AnyObject {
  /// How long there is still no room for another message, in nanoseconds.
  func timeToRoom(on loop: isolated EventLoop) -> UInt64
  /// There is room: it is read again.
  func resume(on loop: isolated EventLoop)
  /// There has been no room for too long.
  func pausedTooLong(on loop: isolated EventLoop)
}

/// Those WebSockets of one loop that are not read, until there is room.
final class PausedSessions: TurnParticipant {
  /// The shortest time between two looks at all of them.
  private static let interval: UInt64 = 10_000_000

  private struct Entry {
    let session: any PausableSession
    /// When to look again, and when it ends, in the time of the loop.
    var due: UInt64
    let end: UInt64
  }

  /// In the order in which they began to wait, so that those who share an allowance have their turn.
  private var entries: [Entry] = []
  private var nextLook = UInt64.max

  /// Begins to wait for room.
  func add(
    _ session: any PausableSession, for wait: UInt64, atMost timeout: Duration, on loop: isolated EventLoop
  ) {
    let end = loop.now + timeout.nanosecondsClamped
    entries.append(Entry(session: session, due: min(loop.now + wait, end), end: end))
    loop.takePart(self)
    look(at: entries[entries.count - 1].due, on: loop)
  }

  /// Forgets one that has ended.
  func remove(_ session: any PausableSession) { entries.removeAll { $0.session === session } }

  private func look(at time: UInt64, on loop: isolated EventLoop) {
    nextLook = min(nextLook, max(time, loop.now + Self.interval))
    loop.needTurn(at: nextLook)
  }

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    if loop.now >= nextLook { look(on: loop) }
    return !entries.isEmpty
  }

  private func look(on loop: isolated EventLoop) {
    nextLook = .max
    var waiting: [Entry] = []
    swap(&waiting, &entries)
    for var entry in waiting {
      if entry.due <= loop.now {
        let wait = entry.session.timeToRoom(on: loop)
        if wait == 0 {
          entry.session.resume(on: loop)
          continue
        }
        if entry.end <= loop.now {
          entry.session.pausedTooLong(on: loop)
          continue
        }
        entry.due = min(loop.now + wait, entry.end)
      }
      entries.append(entry)
    }
    if let next = entries.lazy.map(\.due).min() { look(at: next, on: loop) }
  }
}
