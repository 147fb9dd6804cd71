// SPDX-License-Identifier: MIT
import Glibc

/// Processor time of another process, by its own account in `/proc`.
enum ProcessorTime {
  /// User and system time in seconds; nil when there is no such process.
  static func seconds(of process: Int32) -> Double? {
    guard let stat = try? Terminal.readFile("/proc/\(process)/stat") else { return nil }
    // The name of the program, in parentheses, may hold anything; the fields are counted after it (proc(5)).
    guard let end = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = stat[(end + 1)...].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
    guard fields.count > 12, let user = Double(fields[11]), let system = Double(fields[12]) else { return nil }
    return (user + system) / Double(sysconf(Int32(_SC_CLK_TCK)))
  }
}
