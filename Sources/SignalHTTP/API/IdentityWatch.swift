// SPDX-License-Identifier: MIT
import SignalAccess
import SignalStore

/// A connection that lasts, and ends when who is at its other end is no longer proven.
protocol IdentifiedSession: AnyObject {
  /// The time of the identity is over soon.
  func identityExpires(inSeconds seconds: Int, on loop: isolated EventLoop)
  /// Who is there has not been proven in time, or is no longer proven: the connection ends.
  func identityEnded(_ reason: String, on loop: isolated EventLoop)
}

/// Ends the connections of one loop whose identities end: at their time, and when the tokens or keys have changed.
final class IdentityWatch: TurnParticipant {
  /// How long before the end of an identity a client is reminded, in milliseconds.
  static let notice: Int64 = 60_000
  /// Identities that are checked again before others have their turn.
  private static let checksPerTurn = 2000
  /// The longest time between two looks at the clock, which may be set meanwhile.
  private static let longestWait: Int64 = 60_000

  /// One connection.
  final class Entry {
    fileprivate unowned let session: any IdentifiedSession
    fileprivate var index = 0
    fileprivate var identity: Identity?
    /// When something has to be done next, in milliseconds since 1970.
    fileprivate var due = Int64.max
    fileprivate var isReminded = false

    fileprivate init(_ session: any IdentifiedSession) { self.session = session }
  }

  private let authenticator: Authenticator
  private var entries: [Entry] = []
  /// The generation of the authenticator by which all have been checked.
  private var generation: UInt64
  /// The entries before this one are still to be checked by the present generation.
  private var unchecked = 0
  /// In the time of the loop.
  private var nextLook = UInt64.max

  init(_ authenticator: Authenticator, on loop: isolated EventLoop) {
    self.authenticator = authenticator
    generation = authenticator.generation
    authenticator.observe { [loop] in loop.wake() }
  }

  /// Begins to watch over a connection that has to say within `time` who it is.
  func add(
    _ session: any IdentifiedSession, within time: Duration, on loop: isolated EventLoop
  ) -> Entry {
    let entry = append(session, on: loop)
    entry.due = Timestamp.now.milliseconds + Int64(clamping: time.nanosecondsClamped / 1_000_000)
    look(at: entry.due, on: loop)
    return entry
  }

  /// Begins to watch over a connection of somebody known.
  func add(_ session: any IdentifiedSession, _ identity: Identity, on loop: isolated EventLoop) -> Entry {
    let entry = append(session, on: loop)
    set(identity, of: entry, on: loop)
    return entry
  }

  private func append(_ session: any IdentifiedSession, on loop: isolated EventLoop) -> Entry {
    loop.takePart(self)
    let entry = Entry(session)
    entry.index = entries.count
    entries.append(entry)
    return entry
  }

  /// Somebody has been proven to be there, for the first time or again.
  func set(_ identity: Identity, of entry: Entry, on loop: isolated EventLoop) {
    entry.identity = identity
    entry.isReminded = false
    guard let expires = identity.expires else { return entry.due = .max }
    entry.due = expires.milliseconds - Self.notice
    look(at: entry.due, on: loop)
  }

  /// Ends watching over a connection, which is gone.
  func remove(_ entry: Entry) {
    // One that is still to be checked must not move among those that have been: the last of them takes its place first.
    var hole = entry.index
    if hole < unchecked {
      unchecked -= 1
      move(unchecked, to: hole)
      hole = unchecked
    }
    move(entries.count - 1, to: hole)
    entries.removeLast()
  }

  private func move(_ source: Int, to target: Int) {
    guard source != target else { return }
    entries[target] = entries[source]
    entries[target].index = target
  }

  private func look(at time: Int64, on loop: isolated EventLoop) {
    let wait = min(max(time - Timestamp.now.milliseconds, 0), Self.longestWait)
    nextLook = min(nextLook, loop.now + UInt64(wait) * 1_000_000)
    loop.needTurn(at: nextLook)
  }

  // MARK: Turns

  func turnEnds(on loop: isolated EventLoop) -> Bool {
    if entries.isEmpty { return false }
    if authenticator.generation != generation {
      generation = authenticator.generation
      unchecked = entries.count
    }
    if unchecked > 0 { check(on: loop) }
    if loop.now >= nextLook { act(on: loop) }
    return true
  }

  /// Ends those whose identities the present tokens and keys do not confirm.
  private func check(on loop: isolated EventLoop) {
    let current = authenticator.current
    let now = Timestamp.now
    for _ in 0..<min(Self.checksPerTurn, unchecked) {
      unchecked -= 1
      let entry = entries[unchecked]
      if let identity = entry.identity, !current.confirms(identity, at: now) {
        end(entry, "the token is not accepted any more", on: loop)
      }
    }
    if unchecked > 0 { loop.continueInNextTurn() }
  }

  /// Does what is due, and finds out when the next is.
  private func act(on loop: isolated EventLoop) {
    let now = Timestamp.now
    var next = Int64.max
    for entry in entries {
      if entry.due <= now.milliseconds { act(entry, now, on: loop) }
      next = min(next, entry.due)
    }
    nextLook = .max
    if next < .max { look(at: next, on: loop) }
  }

  private func act(_ entry: Entry, _ now: Timestamp, on loop: isolated EventLoop) {
    guard let identity = entry.identity, let expires = identity.expires, let end = identity.end else {
      return self.end(entry, "nobody has said in time who is there", on: loop)
    }
    guard now < end else {
      return self.end(
        entry, identity.kind == .certificate ? "the certificate has ended" : "the token has expired", on: loop)
    }
    entry.due = end.milliseconds
    guard !entry.isReminded else { return }
    entry.isReminded = true
    entry.session.identityExpires(
      inSeconds: Int(max(0, expires.milliseconds - now.milliseconds + 999) / 1000), on: loop)
  }

  /// The session removes its entry when it is gone; until then there is nothing left to do for it.
  private func end(_ entry: Entry, _ reason: String, on loop: isolated EventLoop) {
    entry.identity = nil
    entry.due = .max
    entry.session.identityEnded(reason, on: loop)
  }
}
