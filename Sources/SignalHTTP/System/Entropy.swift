// SPDX-License-Identifier: MIT

import Glibc

/// Numbers that nobody can predict, from the system.
enum Entropy {
  /// The most that the system gives at once, in bytes.
  static let batch = 256

  /// Fills an array of at most ``batch`` bytes.
  static func fill(_ numbers: inout [UInt32]) {
    // The pointer is used only for this call.
    let isDone = unsafe numbers.withUnsafeMutableBytes { unsafe getentropy($0.baseAddress, $0.count) } == 0
    precondition(isDone, "the system has no random numbers")
  }
}
