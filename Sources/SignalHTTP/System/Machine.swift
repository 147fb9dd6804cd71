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

/// Bytes of memory that the process has; 0 when the system does not tell.
func residentBytes() -> Int {
  // The second number of the file is how many pages there are.
  guard let text = readSmallFile("/proc/self/statm") else { return 0 }
  let numbers = text.split(separator: " ", maxSplits: 2)
  return numbers.count > 1 ? (Int(numbers[1]) ?? 0) * Int(sysconf(Int32(_SC_PAGESIZE))) : 0
}

/// Bytes of memory that the process may have: the machine's, or what its container or service was given, if that is less.
package func availableMemory() -> Int {
  let machine = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(sysconf(Int32(_SC_PAGESIZE)))
  // Without a limit they say `max`, or a number beyond any machine.
  let limits = memoryLimitFiles(ofGroups: readSmallFile("/proc/self/cgroup") ?? "").compactMap { path in
    readSmallFile(path).flatMap { Int($0.prefix { $0.isNumber }) }
  }
  return limits.filter { $0 > 0 }.reduce(machine, min)
}

/// Where the limits stand of a process that is in these groups (cgroups(7)): those of the whole, of each group on the way,
/// and its own.
///
/// - Parameter groups: What `/proc/self/cgroup` says. In a container the path may be one that only the host has; the whole
///   is the container's own then.
func memoryLimitFiles(ofGroups groups: String) -> [String] {
  for line in groups.split(separator: "\n") {
    let parts = line.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false)
    guard parts.count == 3 else { continue }
    let isUnified = parts[0] == "0" && parts[1].isEmpty
    guard isUnified || parts[1].split(separator: ",").contains("memory") else { continue }
    var folder = isUnified ? "/sys/fs/cgroup" : "/sys/fs/cgroup/memory"
    let name = isUnified ? "memory.max" : "memory.limit_in_bytes"
    var files = ["\(folder)/\(name)"]
    for group in parts[2].split(separator: "/") {
      folder += "/" + group
      files.append("\(folder)/\(name)")
    }
    return files
  }
  return []
}

/// The beginning of a file that the system makes; nil when there is none.
private func readSmallFile(_ path: String) -> String? {
  let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return nil }
  defer { close(descriptor) }
  var bytes = [UInt8](repeating: 0, count: 4096)
  // The buffer lives as long as the call.
  let count = unsafe bytes.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
  return count > 0 ? String(decoding: bytes.prefix(count), as: UTF8.self) : nil
}
