// SPDX-License-Identifier: MIT
import CReadiness

/// Configures the C library's allocator for a long-running process.
package enum Allocator {
  /// Blocks of this size or more are mapped individually, and unmapped when they are freed.
  ///
  /// By default glibc raises the threshold to the largest block freed so far, up to 32 MiB; from then on large values and
  /// buffers leave holes in the heap that small ones then occupy.
  private static let mapThreshold: Int32 = 256 << 10
  /// Free memory at the end of the heap that is kept for later allocations.
  private static let trimThreshold: Int32 = 1 << 20

  /// Makes freed memory return to the system.
  ///
  /// By default each thread that ever allocates may have a heap (arena) of its own, eight for each processor, and a
  /// loop moves between the threads of Dispatch: free memory of one heap is not available to the others. One for each
  /// processor is what can run at a time.
  package static func giveBackFreedMemory() {
    creadiness_set_allocator(Int32(clamping: processorCount()), mapThreshold, trimThreshold)
  }

  /// Returns memory that is free anywhere in the heap to the system; may take milliseconds.
  static func trim() { creadiness_trim() }
}
