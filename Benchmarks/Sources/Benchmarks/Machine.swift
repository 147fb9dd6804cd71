// SPDX-License-Identifier: MIT

import Foundation

/// What a result must name for its numbers to mean anything.
enum Machine {
  /// The lines above the table.
  static func description(arguments: ArraySlice<String>) -> String {
    let date = ISO8601DateFormatter().string(from: Date())
    let command = (["swift run -c release --package-path Benchmarks Benchmarks"] + arguments).joined(separator: " ")
    return """
      - Machine: \(processor), \(ProcessInfo.processInfo.activeProcessorCount) cores
      - Swift: \(compiler)
      - Date: \(date)
      - Command: `\(command)`

      """
  }

  private static var processor: String {
    // Read to its end, because a file of /proc has no size.
    guard let file = FileHandle(forReadingAtPath: "/proc/cpuinfo"), let data = try? file.readToEnd() else {
      return "unknown processor"
    }
    let line = String(decoding: data, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("model name") }
    return line?.split(separator: ":").last.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
  }

  /// The first line of `swift --version`: a program cannot ask which compiler made it.
  private static var compiler: String {
    let process = Process()
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["swift", "--version"]
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    guard (try? process.run()) != nil, let data = try? output.fileHandleForReading.readToEnd() else { return "unknown" }
    process.waitUntilExit()
    return String(decoding: data, as: UTF8.self).split(separator: "\n").first.map(String.init) ?? "unknown"
  }
}
