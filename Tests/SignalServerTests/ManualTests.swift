// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Testing

@testable import signal_server

/// The manual page, which a script makes of what the program says of itself.
@Suite("The manual page", .enabled(if: Shell.find("python3") != nil, "the script needs python3"))
struct ManualTests {
  private func page() throws -> String {
    let script = URL(filePath: #filePath).appending(path: "../../../scripts/manual.py").standardizedFileURL
    let run = try Program(
      [script.path, Program.executable.path], ["SOURCE_DATE_EPOCH": "0"], executable: Shell.find("python3")
    ).end()
    #expect(run.status == 0 && run.errors.isEmpty, "\(run.errors)")
    return run.output
  }

  @Test func `it has every verb and every option`() throws {
    let page = try page()
    let lines = page.replacing("\\-", with: "-").split(separator: "\n").map(String.init)
    var verbs: [String] = []
    func collect(_ configuration: CommandConfiguration, _ path: [String]) {
      for verb in configuration.subcommands {
        let path = path + [verb.configuration.commandName ?? ""]
        verbs.append(path.joined(separator: " "))
        for alias in verb.configuration.aliases {
          #expect(lines.contains { $0.hasPrefix("Also: ") && $0.contains("\\fB\(alias)\\fR") })
        }
        collect(verb.configuration, path)
      }
    }
    collect(SignalServer.configuration, [])
    #expect(lines.filter { $0.hasPrefix(".SS ") }.map { String($0.dropFirst(4)) } == verbs)
    // Those of the settings come from their table, and of the others one that a verb has for itself.
    for flag in Settings.table.map(\.flag) + ["--check-config", "--max-rate", "--no-initial", "--server"] {
      #expect(lines.contains { $0.contains(flag) }, "\(flag)")
    }
    #expect(page.hasPrefix(".\\\" Made by scripts/manual.py"))
    #expect(page.contains(".TH SIGNAL-SERVER 1 1970-01-01 \"signal-server \(SignalServer.configuration.version)\""))
  }

  @Test(.enabled(if: Shell.find("mandoc") != nil, "there is no mandoc"))
  func `it is well-formed`() throws {
    let check = try Program(
      ["-T", "lint", "-W", "warning"], input: try page(), executable: Shell.find("mandoc")
    ).end()
    #expect(check == .init(status: 0, output: "", errors: ""))
  }
}
