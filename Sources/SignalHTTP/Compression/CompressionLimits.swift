// SPDX-License-Identifier: MIT

/// Limits on what is compressed; beyond them output is sent as it is.
enum CompressionLimits {
  /// Bytes of a message from which on it is compressed: of a shorter one too little is saved.
  static let smallestMessage = 64
  /// Bytes of a message up to which it is compressed, about a third of a millisecond; a larger one is sent as it is.
  static let largestMessage = 64 << 10
  /// The same of a response: a shorter one fits into one packet anyhow.
  static let smallestBody = 512
  /// The same of a response; about 5 ms.
  static let largestBody = 1 << 20
  /// Members of a group from which on they share a window: for one alone it would cost four times what sending does.
  static let windowMembers = 2
  /// Groups of a loop that have a window at the same time, with 40 KB each; the others compress each message by itself.
  static let windows = 256
  /// The shortest time between two beginnings of a group's window, in nanoseconds.
  static let windowInterval: UInt64 = 100_000_000
  /// A connection in a window leaves it to receive so many bytes compressed that are not of the window.
  static let leavingBytes = 4 << 10
}
