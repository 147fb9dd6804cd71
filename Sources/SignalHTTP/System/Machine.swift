// SPDX-License-Identifier: MIT
// What is asked of the machine besides sockets: time and processors.
import Glibc

/// Nanoseconds of a clock that never goes back.
func monotonicNanoseconds() -> UInt64 {
  let time = read(CLOCK_MONOTONIC)
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// Seconds since 1970 by the system's clock, for `Date`.
func wallClockSeconds() -> Int64 { Int64(read(CLOCK_REALTIME).tv_sec) }

private func read(_ clock: clockid_t) -> timespec {
  var time = timespec()
  // Cannot fail for these clocks and a valid address.
  _ = unsafe clock_gettime(clock, &time)
  return time
}

/// Processors that are online; at least 1.
func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
