// SPDX-License-Identifier: MIT

/// The number of a change within one epoch of a store: 1 for the first, and then without gaps.
///
/// The changes of a transaction have one revision together. The revision 0 is that of a store
/// nothing has been set in.
public struct Revision: Hashable, Sendable {
  /// The number.
  public let number: UInt64

  /// Makes the revision with that number.
  public init(_ number: UInt64) {
    self.number = number
  }

  /// The revision that follows.
  var next: Revision { Revision(number + 1) }
}

extension Revision: Comparable, ExpressibleByIntegerLiteral, CustomStringConvertible {
  /// Whether `a` is older than `b`; meaningful only within one epoch.
  public static func < (a: Revision, b: Revision) -> Bool { a.number < b.number }

  /// Makes a revision from an integer literal.
  public init(integerLiteral number: UInt64) { self.init(number) }

  /// The number in decimal digits.
  public var description: String { String(number) }
}
