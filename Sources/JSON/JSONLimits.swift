// SPDX-License-Identifier: MIT

/// What a JSON text may cost before it is refused.
public struct JSONLimits: Sendable, Equatable {
  /// The largest size no setting can exceed: 256 MiB less one byte.
  ///
  /// It lets a node of ``JSONTree`` keep its offsets and its element count in 16 bytes.
  public static let bytesCeiling = 1 << 28 - 1

  /// The largest source in bytes, white space included; default 1 MiB, never above ``bytesCeiling``.
  ///
  /// Checked before anything is read or allocated.
  public var bytes: Int
  /// How many arrays and objects may be nested; default 256.
  ///
  /// A number or string alone has depth 0, `[]` has depth 1.
  ///
  /// Nothing here recurses: the limit protects programs that walk the value later. The cost is one bit per level.
  public var depth: Int
  /// How many digits one number may have, those of its fraction and its exponent counted, its signs, point and `e` not;
  /// default 1000.
  ///
  /// It protects programs that read the value later: many refuse, or take quadratic time for, a number of some thousand
  /// digits, and then have nothing of the text it is in. The size of an exponent is not limited: `1e400` is for the
  /// reader to make infinite.
  public var digits: Int

  /// Limits that differ from the defaults in what is named.
  public init(bytes: Int = 1_048_576, depth: Int = 256, digits: Int = 1000) {
    self.bytes = bytes
    self.depth = depth
    self.digits = digits
  }

  /// No limits but ``bytesCeiling``, for texts that have been checked elsewhere.
  package static let unlimited = JSONLimits(bytes: .max, depth: .max, digits: .max)
}
