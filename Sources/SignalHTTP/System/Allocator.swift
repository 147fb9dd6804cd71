// SPDX-License-Identifier: MIT
import CReadiness

/// The C library's allocator, set for a process that serves for months.
package enum Allocator {
  /// Blocks of this size or more are mapped by themselves, and unmapped when they are freed.
  ///
  /// By default glibc raises the threshold to the largest block freed so far, up to 32 MiB; from then on large values and
  /// buffers leave holes in the heap that small ones then occupy.
  private static let mapThreshold: Int32 = 256 << 10
  /// Free memory at the end of the heap that is kept for the next to come.
  private static let trimThreshold: Int32 = 1 << 20

  /// Makes memory that has been freed go back to the system.
  ///
  /// By default each thread that ever allocates may have a heap of its own, eight for each processor, and a loop moves
  /// between the threads of Dispatch: what one heap has to spare the others do not see. One for each processor is what
  /// can run at a time.
  package static func giveBackFreedMemory() {
    creadiness_set_allocator(Int32(clamping: processorCount()), mapThreshold, trimThreshold)
  }

  /// Gives back to the system what is free anywhere in the heap; may take milliseconds.
  static func trim() { creadiness_trim() }
}
