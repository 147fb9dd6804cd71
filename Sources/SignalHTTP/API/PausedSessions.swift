// SPDX-License-Identifier: MIT

/// A WebSocket that is not read while its client has used up what it may do.
protocol PausableSession: AnyObject {
  /// Since when messages that have been received wait to be read, however often it was read meanwhile; nil when none do.
  var waitingSince: UInt64? { get }
  /// How long there is still no room for another message, in nanoseconds.
  func timeToRoom(on loop: isolated EventLoop) -> UInt64
  /// There is room: it is read again.
  func resume(on loop: isolated EventLoop)
  /// There has been no room for too long, or what has been received has waited for too long.
  func pausedTooLong(on loop: isolated EventLoop)
}

/// Those WebSockets of one loop that are not read, until there is room.
///
/// One that has sent more than it may is read a message at a time, as each is earned; its time is up when what it has sent
/// in advance has waited for too long, also if there was room for some of it. A client that waits for replies, or sends
/// no more in advance than it earns in that time, has none of it waiting at the end.
final class PausedSessions: TurnParticipant {
  /// The shortest time between two looks at all of them.
  private static let interval: UInt64 = 10_000_000

  private struct Entry {
    let session: any PausableSession
    /// Since when it is not read, in the time of the loop.
    let begin: UInt64
    let timeout: UInt64
    /// When to look again.
    var due: UInt64

    /// When it has to be read for good.
    var end: UInt64 { min(begin, session.waitingSince ?? begin) + timeout }
  }

  /// In the order in which they began to wait, so that those who share an allowance have their turn.
  private var entries: [Entry] = []
  private var nextLook = UInt64.max

  /// Begins to wait for room.
  func add(
    _ session: any PausableSession, for wait: UInt64, atMost timeout: Duration, on loop: isolated EventLoop
  ) {
    let due = loop.now + wait
    let entry = Entry(session: session, begin: loop.now, timeout: timeout.nanosecondsClamped, due: due)
    entries.append(entry)
    loop.takePart(self)
    look(at: min(due, entry.end), on: loop)
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
      if entry.end <= loop.now {
        entry.session.pausedTooLong(on: loop)
        continue
      }
      if entry.due <= loop.now {
        let wait = entry.session.timeToRoom(on: loop)
        if wait == 0 {
          entry.session.resume(on: loop)
          continue
        }
        entry.due = loop.now + wait
      }
      entries.append(entry)
    }
    if let next = entries.lazy.map({ min($0.due, $0.end) }).min() { look(at: next, on: loop) }
  }
}
