// SPDX-License-Identifier: MIT
// What is asked of the machine besides sockets: time, name and processors.
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

/// The name of this machine; empty when it has none.
func machineName() -> String {
  var name = [CChar](repeating: 0, count: 256)
  guard unsafe gethostname(&name, name.count - 1) == 0 else { return "" }
  return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// Processors that are online; at least 1.
func processorCount() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
