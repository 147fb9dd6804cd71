// SPDX-License-Identifier: MIT

/// Shares a loop's time between connections whose requests are cheap and those whose requests are not.
///
/// A request is carried out in one piece: a patch of a value of a megabyte takes milliseconds. Whoever sends such
/// requests one after the other, or many cheap ones at once, is *heavy* (``Load``), and then:
///
/// * in one turn (loop iteration) heavy connections, and those that may be, are served until ``turnLimit`` is reached;
///   the rest waits for the next one, in order;
/// * while others are there too, after each time t spent on heavy connections the others come first for a time t:
///   they have half of the loop, although their next request comes only after the answer to the one before. When none
///   of them has come for a part of t, they want less than that.
///
/// Heavy connections among themselves wait for nobody. All times are of the monotonic clock, in nanoseconds.
struct LoopShares {
  /// Serving a connection this long is a long piece of work.
  static let longTime: UInt64 = 250_000
  /// Time for heavy connections in a turn; exceeded by one piece.
  static let turnLimit: UInt64 = 4_000_000
  /// How long a connection that is not heavy counts as present after it was served.
  static let presence: UInt64 = 50_000_000
  /// The part of their time that the others may leave unused, in front of which they lose the rest.
  static let unusedPart: UInt64 = 4

  /// How long the last pieces of work of a connection were.
  ///
  /// One long piece does not make it heavy: the system may have let another thread run in its midst.
  struct Load {
    /// A bit for each of the last 32 pieces: whether it was a long one.
    ///
    /// Others come between two long ones, while the body of a request is received.
    fileprivate var pieces: UInt32 = 0

    /// Whether the connection is heavy.
    var isHeavy: Bool { pieces.nonzeroBitCount > 1 }
    /// Whether it may be: there was a long piece.
    var isSuspect: Bool { pieces != 0 }
  }

  /// When the last piece of work had ended, or the turn began.
  private var mark: UInt64 = 0
  /// What long pieces have taken in this turn.
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

  /// Whether a connection is served later.
  func putsOff(_ load: Load) -> Bool {
    if !load.isSuspect { return false }
    if taken >= Self.turnLimit { return true }
    guard load.isHeavy, mark < rest.upperBound else { return false }
    let unusedSince = max(rest.lowerBound, lastLight ?? 0)
    return mark < unusedSince + UInt64(rest.count) / Self.unusedPart
  }

  /// A connection has been served from one time to another.
  ///
  /// - Parameter isNew: Its time is not counted, as new connections have a share of their own.
  mutating func served(from begin: UInt64, until end: UInt64, _ load: inout Load, isNew: Bool) {
    let cost = end > begin ? end - begin : 0
    mark = end
    load.pieces = load.pieces << 1 | (cost >= Self.longTime ? 1 : 0)
    if isNew { return }
    if cost >= Self.longTime {
      taken += cost
      if let lastLight, end - lastLight < Self.presence + cost { rest = end..<(end + cost) }
    } else if !load.isHeavy {
      lastLight = end
    }
  }
}
