// SPDX-License-Identifier: MIT

/// Other processes that have the name of this node.
///
/// A process that has just been killed is none: beats of it may still be on the way when the next one joins, but none come
/// a while later.
struct Namesakes {
  enum Finding: Equatable {
    case nothing
    /// It joined before this process, and lives.
    case isEarlier
    /// It joined after this process; reported once.
    case isLater
  }

  /// Processes that joined within it have joined at once, in milliseconds.
  static let tolerance: UInt64 = 100
  /// Beyond so many they are forgotten, and found again.
  private static let most = 16

  /// When each was heard first, by its session.
  private var since: [String: UInt64] = [:]
  private var reported: Set<String> = []

  /// Looks at the beat of another process with the name of this node.
  ///
  /// Ages are compared, as clocks of machines differ; of two that joined at once the one whose session comes first in the
  /// alphabet is the earlier.
  ///
  /// - Parameters:
  ///   - session: That of this process.
  ///   - beats: The time between two beats.
  mutating func heard(
    _ beat: Beat, by session: String, joined: UInt64, at now: UInt64, beats: UInt64
  ) -> Finding {
    if since.count >= Self.most { (since, reported) = ([:], []) }
    let first = since[beat.session] ?? now
    since[beat.session] = first
    let age = now - joined
    let isAtOnce = max(age, beat.age) - min(age, beat.age) <= Self.tolerance
    if isAtOnce ? beat.session < session : beat.age > age { return now >= first + beats / 2 ? .isEarlier : .nothing }
    return reported.insert(beat.session).inserted ? .isLater : .nothing
  }
}
