// SPDX-License-Identifier: MIT
import ArgumentParser
import Foundation
import Testing

@testable import signal_server

/// What the program prints on a terminal, and what shells read of it.
@Suite("On a terminal")
struct TerminalTests {
  /// Runs it with a terminal as its output; gives back what stood on it.
  private func onTerminal(_ arguments: [String], _ environment: [String: String]) throws -> String {
    let words = [Program.executable.path] + arguments
    let command = words.map { "'\($0)'" }.joined(separator: " ")
    let environment = ["TERM": "xterm", "TZ": "UTC", "NO_COLOR": ""].merging(environment) { $1 }
    let run = try Program(["-qec", command, "/dev/null"], environment, executable: "/usr/bin/script").end()
    #expect(run.status == 0, "\(run)")
    return run.output.replacing("\r\n", with: "\n")
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func `watch shows time, colours and the cursor on a terminal, and colours never with NO_COLOR`() throws {
    let server = try RunningServer()
    #expect(try server.run("set", "a", "1").status == 0)
    #expect(try server.run("set", "long/path", "2").status == 0)
    let arguments = ["watch", "**", "--count", "2", "--server", server.url]
    let plain = try onTerminal(arguments, ["NO_COLOR": "1"])
    #expect(
      plain.contains(/^\d\d:\d\d:\d\d\.\d\d\d  a          1\n\d\d:\d\d:\d\d\.\d\d\d  long\/path  2\n/), "\(plain)")
    #expect(!plain.contains("\u{1B}"))
    let coloured = try onTerminal(arguments, [:])
    #expect(coloured.contains("\u{1B}[36ma\u{1B}[0m"), "\(coloured)")
    #expect(!(try onTerminal(arguments, ["TERM": "dumb"]).contains("\u{1B}")))
    // Elsewhere it is lines for programs, with the time only if wanted.
    #expect(try Program.run(arguments).output == "a          1\nlong/path  2\n")
    #expect(try Program.run(arguments + ["--time"]).output.contains(/^\d\d:\d\d:\d\d\.\d\d\d  a          1\n/))
    let tree = try onTerminal(["list", "--server", server.url], [:])
    #expect(tree == "a       1\nlong\n  path  2\n")
    #expect(server.stop().status == 0)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func `top and charts are redrawn in place on a terminal, in colours unless they are not wanted`() throws {
    let server = try RunningServer()
    for path in ["a", "b"] { #expect(try server.run("set", path, "1").status == 0) }
    let top = ["top", "--count", "2", "--interval", "100ms", "--server", server.url]
    let chart = ["watch", "**", "--chart", "--count", "2", "--server", server.url]
    for (arguments, back) in [(top, "\u{1B}[3A\r"), (chart, "\u{1B}[K\n")] {
      let coloured = try onTerminal(arguments, [:])
      #expect(coloured.contains(back), "\(coloured)")
      #expect(coloured.contains(/\u{1B}\[\d+m/))
      let plain = try onTerminal(arguments, ["NO_COLOR": "1"])
      #expect(plain.contains(back) && !plain.contains(/\u{1B}\[\d+m/), "\(plain)")
      #expect(!(try onTerminal(arguments, ["TERM": "dumb"]).contains("\u{1B}")))
      #expect(!(try Program.run(arguments).output.contains("\u{1B}")))
    }
    #expect(server.stop().status == 0)
  }

  @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/script")))
  func `the cursor that watch ends with is one that it goes on from`() throws {
    let server = try RunningServer()
    let set = try server.run("set", "a", "1").output.trimmingCharacters(in: .newlines)
    #expect(try server.run("set", "a", "2").status == 0)
    let output = try onTerminal(
      ["watch", "**", "--count", "1", "--since", set, "--server", server.url], ["NO_COLOR": "1"])
    let cursor = try #require(output.firstMatch(of: /to go on from here: --since (\S+)/)).1
    #expect(try server.run("set", "a", "3").status == 0)
    let next = try server.run("watch", "**", "--json", "--count", "1", "--since", String(cursor)).output
    #expect(next.contains(#""value":3"#))
    let again = try #require(next.firstMatch(of: /"cursor":"([^"]+)"/)).1
    #expect(try server.run("set", "a", "4").status == 0)
    #expect(
      try server.run("watch", "**", "--count", "1", "--since", String(again)).output
        == "a  3  → 4\n")
    #expect(server.stop().status == 0)
  }

  @Test(arguments: ["bash", "zsh", "fish"])
  func `a shell gets its completion`(shell: String) throws {
    let run = try Program.run(["completion", shell])
    #expect(run.status == 0 && run.errors.isEmpty)
    for verb in SignalServer.configuration.subcommands.compactMap({ $0.configuration.commandName }) {
      #expect(run.output.contains(verb), "\(verb)")
    }
    if shell == "bash" {
      let check = try Program(["-n"], input: run.output, executable: "/bin/bash").end()
      #expect(check == .init(status: 0, output: "", errors: ""))
      let words = """
        \(run.output)
        COMP_WORDS=(signal-server serve --http-) COMP_CWORD=2
        COMP_LINE="${COMP_WORDS[*]}" COMP_POINT=${#COMP_LINE}
        _signal-server signal-server --http- serve
        printf '%s\\n' "${COMPREPLY[@]}"
        """
      let offered = try Program([], input: words, executable: "/bin/bash").end().output.split(separator: "\n")
      let flags = Settings.table.map(\.flag).filter { $0.hasPrefix("--http-") }
      #expect(Set(offered.map { $0.drop { $0 == " " } }) == Set(flags.map { $0[...] }))
    } else {
      for setting in Settings.table { #expect(run.output.contains("\(setting.flag.dropFirst(2))"), "\(setting.flag)") }
    }
    #expect(try Program.run(["completion", "csh"]).status == 64)
  }

  @Test(arguments: [
    ("pach", "patch"), ("explian", "explain"), ("bech", "bench"), ("lst", "list"), ("trasaction", "transaction"),
    ("wiat", "wait"), ("tmier", "timer"), ("complete", nil), ("sned", "send"), ("raelly", nil), ("healt", "health"),
  ])
  func `a mistyped verb is recognised, whichever it is`(word: String, verb: String?) throws {
    let run = try Program.run([word])
    #expect(run.status == 64 && run.output.isEmpty)
    if let verb {
      #expect(run.errors == "signal-server: unexpected argument '\(word)'; did you mean \(verb)?\n")
    } else {
      #expect(run.errors.hasPrefix("signal-server: unexpected argument '\(word)'"))
    }
  }

  @Test(arguments: ["ftp://127.0.0.1:1", "http://127.0.0.1:1/prefix"])
  func `a server that cannot be spoken to is refused in one line`(url: String) throws {
    for arguments in [["get", "a", "--server", url], ["watch", "a", "--server", url], ["list", "--server", url]] {
      let run = try Program.run(arguments)
      #expect(run.status == 64 && run.output.isEmpty && run.errors.filter { $0 == "\n" }.count == 1)
      #expect(run.errors.hasPrefix("signal-server: --server: '\(url)' "))
    }
  }
}
