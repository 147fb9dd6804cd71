// SPDX-License-Identifier: MIT

import Dispatch
public import Synchronization

/// A lock for sections of some dozens of instructions, that does not make threads take turns.
///
/// The `Mutex` of the standard library hands itself over to a thread that waits, on Linux. A section that takes 20 ns then
/// takes a change of threads, some microseconds, as long as there are always threads that wait; and with several that do
/// nothing but set one property there always are. Here whoever comes first after an unlock has the lock. Who does not get
/// it looks again for some microseconds and then sleeps, and is woken by an unlock.
///
/// What that gives up: a thread may be overtaken, in theory again and again; and one of low priority that is interrupted
/// inside a section is not pushed on by those that wait for it. The sections do not wait and call nothing of the user, so
/// that is a matter of the scheduler's time slices only.
///
/// Bits of the word: ``locked``; ``woken``, one of those that slept has been woken and has not come back yet, so that no
/// other need be; the rest counts those that sleep or are about to.
@usableFromInline
struct ShortLock: ~Copyable, Sendable {
  @inlinable static var locked: UInt { 1 }
  private static var woken: UInt { 2 }
  private static var sleeper: UInt { 4 }

  @usableFromInline let word = Atomic<UInt>(0)

  /// Where threads sleep; made when the first one has to.
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

  /// Gives the lock back; only for the thread that has it.
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
        // As good as woken: nobody need be as long as this thread is looking.
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
        // There before anybody is told to wake this thread.
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

  /// Wakes one of those that sleep, unless one is awake already or somebody has the lock and will see to it.
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

/// The times between two looks at a lock: longer and longer, and of different lengths on different threads.
///
/// Looking takes the word away from the processor that has the lock, and so makes it slower.
private struct Pause {
  private var random: UInt64
  private var longest: UInt64 = 8
  private static var end: UInt64 { 1024 }

  init() {
    // Any number that is another one on each thread: where this variable lies.
    random = 0x9E37_79B9_7F4A_7C15
    random ^= unsafe withUnsafePointer(to: &random) { UInt64(UInt(bitPattern: $0)) }
  }

  /// Passes some time; false when it has been long enough.
  mutating func take() -> Bool {
    if longest >= Self.end { return false }
    longest *= 2
    // Making the number is what takes the time, 1 to 2 ns a step.
    for _ in 0..<(longest / 2 + random % (longest / 2)) {
      random ^= random << 13
      random ^= random >> 7
      random ^= random << 17
    }
    return true
  }
}
