// SPDX-License-Identifier: MIT
import Foundation
import Processes
import Testing

/// What the compiler says to a file that uses the module: errors and warnings by line.
func compile(_ source: String, flags: [String] = []) throws -> [Int: [String]] {
  let folder = FileManager.default.temporaryDirectory.appendingPathComponent("signals-\(UUID().uuidString)")
  try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
  defer { try? FileManager.default.removeItem(at: folder) }
  let file = folder.appendingPathComponent("client.swift")
  try source.write(to: file, atomically: true, encoding: .utf8)
  let products = URL(fileURLWithPath: CommandLine.arguments[0]).deletingLastPathComponent()
  // What SignalStore uses of C, which is compiled with whoever uses it.
  let header = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../Sources/CPrefetch").standardized
  let pipe = Pipe()
  let process = try ChildProcess(
    "/usr/bin/env",
    ["swiftc", "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", "-parse-as-library"]
      + flags + ["-I", products.appendingPathComponent("Modules").path, "-I", header.path, file.path],
    output: .pipe(pipe), errors: .pipe(pipe))
  let output = String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
  process.waitUntilExit()
  var complaints: [Int: [String]] = [:]
  for line in output.split(separator: "\n") where line.hasPrefix(file.path + ":") {
    let parts = line.dropFirst(file.path.count + 1).split(separator: ":", maxSplits: 2)
    guard parts.count == 3, let number = Int(parts[0]), !parts[2].hasPrefix(" note") else { continue }
    complaints[number, default: []].append(String(parts[2]))
  }
  // An error without a place, as that the module was not found, is none of these lines'.
  #expect(output.isEmpty || !complaints.isEmpty, "\(output)")
  #expect(!output.contains("no such module"), "\(output)")
  return complaints
}
