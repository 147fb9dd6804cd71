// SPDX-License-Identifier: MIT

import Dispatch
public import Synchronization

/// An unfair lock for critical sections of some dozens of instructions.
///
/// The `Mutex` of the standard library hands itself over to a waiting thread, on Linux. A section that takes 20 ns then
/// takes a context switch, some microseconds, as long as threads are waiting; and with several threads that do nothing
/// but set one property they always are. Here the first thread to try after an unlock gets the lock. A thread that does
/// not get it spins for some microseconds and then sleeps, and is woken by an unlock.
///
/// The cost: a thread may be overtaken, in theory indefinitely; and one of low priority that is preempted inside a
/// section does not inherit the priority of its waiters. The sections do not wait and call nothing of the user, so that
/// only depends on the time slices of the scheduler.
///
/// Bits of the word: ``locked``; ``woken``, one of the sleepers has been woken and has not returned yet, so that no
/// other need be; the rest counts the threads that sleep or are about to.
@usableFromInline
struct ShortLock: ~Copyable, Sendable {
  @inlinable static var locked: UInt { 1 }
  private static var woken: UInt { 2 }
  private static var sleeper: UInt { 4 }

  @usableFromInline let word = Atomic<UInt>(0)

  /// The semaphore on which threads sleep; created when the first one has to.
  private let bed = AtomicLazyReference<DispatchSemaphore>()

  @usableFromInline
  init() {}

  /// Waits for the lock and takes it.
  @inlinable @inline(__always)
  borrowing func lock() {
    let taken = word.weakCompareExchange(
      expected: 0, desired: Self.locked, successOrdering: .acquiring, failureOrdering: .relaxed
    ).exchanged
    if !taken { lockSlowly() }
  }

  /// Unlocks; only for the thread that holds the lock.
  @inlinable @inline(__always)
  borrowing func unlock() {
    if word.subtract(Self.locked, ordering: .releasing).newValue != 0 { wakeOne() }
  }

  @usableFromInline @inline(never)
  borrowing func lockSlowly() {
    var pause = Pause()
    var isAwake = false
    var seen = word.load(ordering: .relaxed)
    while true {
      if seen & Self.locked != 0, pause.take() {
        seen = word.load(ordering: .relaxed)
        // This thread counts as woken: no other need be while it is spinning.
        if !isAwake, seen >= Self.sleeper, seen & Self.woken == 0 {
          (isAwake, seen) = replace(seen, by: seen | Self.woken)
          if isAwake { seen |= Self.woken }
        }
        continue
      }
      var next = isAwake ? seen & ~Self.woken : seen
      let isFree = seen & Self.locked == 0
      var bed: DispatchSemaphore?
      if isFree {
        next |= Self.locked
      } else {
        // Created before any thread can be asked to wake this one.
        bed = self.bed.load() ?? self.bed.storeIfNil(DispatchSemaphore(value: 0))
        next += Self.sleeper
      }
      let (done, current) = replace(seen, by: next)
      seen = current
      guard done else { continue }
      guard let bed else { return }
      bed.wait()
      isAwake = true
      pause = Pause()
      seen = word.load(ordering: .relaxed)
    }
  }

  /// Wakes one of the sleepers, unless one is already awake or the lock is held, whose holder will do it.
  @usableFromInline @inline(never)
  borrowing func wakeOne() {
    var seen = word.load(ordering: .relaxed)
    while seen >= Self.sleeper, seen & (Self.locked | Self.woken) == 0 {
      let (done, current) = replace(seen, by: (seen - Self.sleeper) | Self.woken)
      if done {
        bed.load()?.signal()
        return
      }
      seen = current
    }
  }

  private borrowing func replace(_ seen: UInt, by next: UInt) -> (done: Bool, current: UInt) {
    let (done, current) = word.weakCompareExchange(
      expected: seen, desired: next, successOrdering: .acquiringAndReleasing, failureOrdering: .relaxed)
    return (done, current)
  }
}

/// The pauses between two attempts: increasingly long, and of different lengths on different threads.
///
/// Reading the word takes its cache line from the processor that has the lock, and so slows that down.
private struct Pause {
  private var random: UInt64
  private var longest: UInt64 = 8
  private static var end: UInt64 { 1024 }

  init() {
    // A seed that differs between threads: the address of this variable.
    random = 0x9E37_79B9_7F4A_7C15
    random ^= unsafe withUnsafePointer(to: &random) { UInt64(UInt(bitPattern: $0)) }
  }

  /// Pauses; false when the total has been long enough.
  mutating func take() -> Bool {
    if longest >= Self.end { return false }
    longest *= 2
    // Each step of the generator takes 1 to 2 ns, which is the pause.
    for _ in 0..<(longest / 2 + random % (longest / 2)) {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
    }
    return true
  }
}
