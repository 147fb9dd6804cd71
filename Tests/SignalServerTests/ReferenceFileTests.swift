// SPDX-License-Identifier: MIT
import Foundation
import Processes
import Testing

@testable import signal_server

@Suite("Config/signal-server.yaml, the reference of all settings")
struct ReferenceFileTests {
  let path = URL(filePath: #filePath).appending(path: "../../../Config/signal-server.yaml").standardized.path
  let bytes: [UInt8]
  let file: SettingsFile

  init() throws {
    bytes = [UInt8](try Data(contentsOf: URL(filePath: path)))
    file = try SettingsFile(path: "signal-server.yaml", bytes: bytes)
  }

  @Test func `it holds every setting, in the order of the table`() {
    let names = file.entries.map(\.name)
    #expect(names == Settings.table.map(\.name))
  }

  @Test func `its values are the built-in defaults`() throws {
    let resolved = try ResolvedSettings(file: file)
    for setting in Settings.table {
      #expect(
        setting.text(in: resolved.settings) == setting.text(in: Settings()), "\(setting.name) differs from its default")
    }
    #expect(resolved.settings == Settings())
  }

  @Test func `every setting stands under a comment`() {
    let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
    for entry in file.entries {
      // Settings that are explained together follow one another directly.
      var line = entry.line - 2
      while file.entries.contains(where: { $0.line == line + 1 }) { line -= 1 }
      #expect(lines[line].drop { $0 == " " }.hasPrefix("# "), "\(entry.name) has no comment above it")
    }
  }

  @Test(.enabled("python3 with its yaml module is there to compare with") { readWithPython("/dev/null") != nil })
  func `another reader of YAML understands it the same way`() throws {
    let ours = file.entries.map { entry in
      switch entry.value {
      case .scalar(let text): "\(entry.name)=\(text)"
      case .list(let texts): "\(entry.name)=\(texts)"
      case .groups(let groups): "\(entry.name)=\(groups)"
      case .nothing: "\(entry.name)="
      }
    }
    #expect(try #require(Self.readWithPython(path)) == ours)
  }

  /// The entries of a file as PyYAML reads them, one `name=text` each; nil when it cannot.
  private static func readWithPython(_ path: String) -> [String]? {
    let program = """
      import json, sys, yaml
      for group, value in (yaml.load(open(sys.argv[1]), Loader=yaml.BaseLoader) or {}).items():
          for name, text in value.items() if isinstance(value, dict) else [(None, value)]:
              text = json.dumps(text) if isinstance(text, list) else text
              print(f"{group}.{name}={text}" if name else f"{group}={text}")
      """
    let output = Pipe()
    guard
      let python = try? ChildProcess(
        "/usr/bin/env", ["python3", "-c", program, path], output: .pipe(output), errors: .none)
    else { return nil }
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    guard python.terminationStatus == 0 else { return nil }
    return String(decoding: printed, as: UTF8.self).split(separator: "\n").map(String.init)
  }
}
