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

  /// Limits that differ from the defaults in what is named.
  public init(bytes: Int = 1_048_576, depth: Int = 256) {
    self.bytes = bytes
    self.depth = depth
  }
}
