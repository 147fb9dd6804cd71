// SPDX-License-Identifier: MIT

/// Shares a loop's time between connections whose requests are cheap and those whose requests are not.
///
/// A request is carried out in one piece: a patch of a value of a megabyte takes milliseconds. Whoever sends such
/// requests one after the other, or many cheap ones at once, is *heavy* from the first one on, and then:
///
/// * in one turn (loop iteration) heavy connections are served until ``turnLimit`` is reached; the rest waits for
///   the next one, in order;
/// * while others are there too, after each time t spent on heavy connections the others come first for a time t:
///   they have half of the loop, although their next request comes only after the answer to the one before. When none
///   of them has come for a part of t, they want less than that.
///
/// Heavy connections among themselves wait for nobody. All times are of the monotonic clock, in nanoseconds.
struct LoopShares {
  /// Serving a connection this long makes it heavy, until it takes less.
  static let heavyTime: UInt64 = 250_000
  /// Time for heavy connections in a turn; exceeded by one piece.
  static let turnLimit: UInt64 = 4_000_000
  /// How long a connection that is not heavy counts as present after it was served.
  static let presence: UInt64 = 50_000_000
  /// The part of their time that the others may leave unused, in front of which they lose the rest.
  static let unusedPart: UInt64 = 16

  /// When the last piece of work had ended.
  private var mark: UInt64 = 0
  /// What heavy connections have taken in this turn.
  private var taken: UInt64 = 0
  /// When a connection that is not heavy was served last; nil before the first.
  private var lastLight: UInt64?
  /// The time in which others come first.
  private var rest: Range<UInt64> = 0..<0

  /// A turn begins.
  mutating func beginTurn(at time: UInt64) {
    mark = time
    taken = 0
  }

  /// Work that is no connection's has ended.
  mutating func skip(to time: UInt64) { mark = time }

  /// Whether a heavy connection is served now, or later.
  var servesHeavy: Bool {
    if taken >= Self.turnLimit { return false }
    guard mark < rest.upperBound else { return true }
    let unusedSince = max(rest.lowerBound, lastLight ?? 0)
    return mark >= unusedSince + UInt64(rest.count) / Self.unusedPart
  }

  /// A connection has been served, from the end of the piece of work before it on.
  ///
  /// - Returns: Whether it is heavy now.
  mutating func served(until time: UInt64) -> Bool {
    let cost = time > mark ? time - mark : 0
    mark = time
    guard cost >= Self.heavyTime else {
      lastLight = time
      return false
    }
    taken += cost
    if let lastLight, time - lastLight < Self.presence + cost { rest = time..<(time + cost) }
    return true
  }
}
