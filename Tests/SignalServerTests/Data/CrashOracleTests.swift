// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// A short run of the oracle that kills a server while it is written to, read and watched; `make crash` runs it for long.
@Suite("The crash oracle")
struct CrashOracleTests {
  private static let script = URL(filePath: #filePath).resolvingSymlinksInPath()
    .appending(path: "../../../Durability/crash.py").standardized

  @Test(
    .enabled(if: Shell.find("python3") != nil, "the oracle is written in Python"))
  func `nothing that was told is lost when the server is killed`() throws {
    let arguments = [Self.script.path, Program.executable.path, "--cuts", "3", "--seed", "1"]
    let run = try Program(arguments, executable: Shell.find("python3")).end()
    #expect(run.status == 0 && run.output.contains(" 0 lost"), "\(run)")
  }
}
