// SPDX-License-Identifier: MIT

/// Shares a loop's time between connections whose requests are cheap and those whose requests are not.
///
/// A request is carried out in one piece: a patch of a value of a megabyte takes milliseconds. A connection that sends
/// such requests is *heavy* (``Load``):
///
/// * heavy connections wait in one line, behind all that happens in a turn (loop iteration); in a turn they are served
///   until ``turnLimit`` is reached, by one piece more at most. Those that may be heavy wait there when long pieces have
///   taken so much of the turn already;
/// * while others are there too, after each time t spent on heavy connections the others come first for a time t:
///   they have half of the loop, although their next request comes only after the answer to the one before. When none
///   of them has come for a part of t, they want less than that.
///
/// All times are of the monotonic clock, in nanoseconds.
struct LoopShares {
  /// Serving a connection this long is a long piece of work.
  static let longTime: UInt64 = 250_000
  /// Time for heavy connections in a turn; exceeded by one piece.
  static let turnLimit: UInt64 = 4_000_000
  /// Time in a turn for connections that have been deferred to it; exceeded by one piece.
  static let deferredTime: UInt64 = 1_000_000
  /// What is received from a connection in a turn that is spent, at most.
  static let spentTurnBytes = 16 << 10
  /// How long a connection that is not heavy counts as present after it was served.
  static let presence: UInt64 = 50_000_000
  /// How long long pieces of others may keep the line from being served.
  static let lineWait: UInt64 = 50_000_000
  /// The part of their time that the others may leave unused, in front of which they lose the rest.
  static let unusedPart: UInt64 = 4

  /// How long the last pieces of work of a connection were.
  struct Load {
    /// A bit for each of the last 32 pieces: whether it was a long one.
    ///
    /// Others come between two long ones, while the body of a request is received.
    fileprivate var pieces: UInt32 = 0
    /// How many short ones there were while there was no long one among the last, as far as that counts.
    fileprivate var shortPieces: UInt8 = 0
    /// So many short ones, before a single long one or behind it, show that it was an exception.
    fileprivate static let proof: UInt8 = 8

    /// Whether the connection is heavy.
    var isHeavy: Bool { pieces.nonzeroBitCount > 1 }
    /// Whether there was a long piece.
    ///
    /// That may have been the system's doing, which has let another thread run in its midst: whether there is a second
    /// one is decided by the time for which this thread has run.
    var isSuspect: Bool { pieces != 0 }
    /// Whether it waits as a heavy one does once the turn is spent.
    fileprivate var mayBeHeavy: Bool { pieces & ((1 << Self.proof) - 1) != 0 && shortPieces < Self.proof }
  }

  /// When the last piece of work had ended, or what was before the next one.
  private(set) var mark: UInt64 = 0
  /// What heavy connections, and long pieces of others, have taken in this turn.
  private var taken: UInt64 = 0
  /// When a connection that is not heavy was served last; nil before the first.
  private var lastLight: UInt64?
  /// When one of the line was served last.
  private var lastOfLine: UInt64 = 0
  /// The time in which others come first.
  private var rest: Range<UInt64> = 0..<0

  /// A turn begins.
  mutating func beginTurn(at time: UInt64) {
    mark = time
    taken = 0
  }

  /// What was done up to now is no connection's.
  mutating func resume(at time: UInt64) { mark = time }

  /// Whether long pieces have taken so much of the turn that a part of what has come is enough for every other
  /// connection.
  var isSpent: Bool { taken >= Self.turnLimit }

  /// Whether a connection waits in the line of the heavy ones, when something has come for it.
  func putsInLine(_ load: Load) -> Bool { load.isHeavy || load.mayBeHeavy && isSpent }

  /// Whether the first in the line has to wait for another turn; not for ever because of those who may be heavy.
  var putsOffLine: Bool { isResting || (isSpent && mark < lastOfLine + Self.lineWait) }

  /// One that waited in the line has been served.
  mutating func servedInLine() { lastOfLine = mark }

  /// Whether others come first at present.
  var isResting: Bool { restLeft > 0 }

  /// How long others still come first, unless one of them comes meanwhile.
  var restLeft: UInt64 {
    let end = min(rest.upperBound, max(rest.lowerBound, lastLight ?? 0) + UInt64(rest.count) / Self.unusedPart)
    return end > mark ? end - mark : 0
  }

  /// A connection has been served, since ``mark``.
  ///
  /// - Parameters:
  ///   - end: The present time.
  ///   - used: For how much of that this thread has run; nil where that is not known.
  ///   - isNew: It was new, and served in the time that there is for new ones.
  ///   - isCut: It was given less than its share of a turn; that it did not take long shows nothing.
  mutating func served(
    until end: UInt64, used: UInt64? = nil, _ load: inout Load, isNew: Bool = false, isCut: Bool = false
  ) {
    let cost = end > mark ? end - mark : 0
    mark = end
    let wasHeavy = load.isHeavy
    let isLong = min(cost, used ?? .max) >= Self.longTime
    if isLong || load.isSuspect && !isCut {
      load.pieces = load.pieces << 1 | (isLong ? 1 : 0)
    } else if !load.isSuspect && !isCut && !isNew && load.shortPieces < Load.proof {
      load.shortPieces += 1
    }
    if isNew { return }
    if isLong || wasHeavy { taken += cost }
    guard wasHeavy else {
      if !isLong { lastLight = end }
      return
    }
    if isLong, let lastLight, end - lastLight < Self.presence + cost { rest = end..<(end + cost) }
  }
}
