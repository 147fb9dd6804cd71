// SPDX-License-Identifier: MIT
// What the system says of this process.
import Glibc

/// Nanoseconds of processor time that the process has used, in its own code and in the system's.
func processorNanoseconds() -> Int {
  var time = timespec()
  // Cannot fail for this clock and a valid address.
  _ = unsafe clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
  return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Bytes of address space that the process uses, and those of them that are in memory; 0 when the system does not say.
func memoryUse() -> (virtual: Int, resident: Int) {
  guard let text = readSmallFile("/proc/self/statm") else { return (0, 0) }
  let pages = text.split(separator: " ", maxSplits: 2).prefix(2).map { Int($0) ?? 0 }
  let size = Int(sysconf(Int32(_SC_PAGESIZE)))
  return pages.count == 2 ? (pages[0] * size, pages[1] * size) : (0, 0)
}

/// The number of open descriptors, and of those that there may be.
func descriptorUse() -> (open: Int, most: Int) {
  var limit = rlimit()
  // Cannot fail for this resource and a valid address.
  _ = unsafe getrlimit(__rlimit_resource_t(UInt32(RLIMIT_NOFILE.rawValue)), &limit)
  return (openDescriptors(), Int(clamping: limit.rlim_cur))
}

/// Linux says it since 6.2 as the size of the folder of descriptors; before, they are counted.
private func openDescriptors() -> Int {
  var status = stat()
  // The name and the status are valid during the call.
  if unsafe stat("/proc/self/fd", &status) == 0, status.st_size > 0 { return Int(status.st_size) }
  guard let folder = unsafe opendir("/proc/self/fd") else { return 0 }
  defer { unsafe closedir(folder) }
  // Without `.`, `..` and the descriptor that this takes.
  var count = -3
  while unsafe readdir(folder) != nil { count += 1 }
  return max(0, count)
}

/// When the process began, in milliseconds since 1970; nil when the system does not say.
func processStart() -> Int64? {
  // The program's name, in parentheses, may contain anything; behind it the 20th word is the one (proc_pid_stat(5)).
  guard let text = readSmallFile("/proc/self/stat"), let end = text.lastIndex(of: ")") else { return nil }
  let words = text[end...].split(separator: " ")
  guard words.count > 20, let ticks = Int64(words[20]) else { return nil }
  let sinceBoot = ticks * 1000 / Int64(sysconf(Int32(_SC_CLK_TCK)))
  var (real, boot) = (timespec(), timespec())
  // Cannot fail for these clocks and valid addresses.
  _ = unsafe clock_gettime(CLOCK_REALTIME, &real)
  _ = unsafe clock_gettime(CLOCK_BOOTTIME, &boot)
  func milliseconds(_ time: timespec) -> Int64 { Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000 }
  return milliseconds(real) - milliseconds(boot) + sinceBoot
}
