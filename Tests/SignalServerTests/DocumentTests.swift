// SPDX-License-Identifier: MIT
import Foundation
import Testing

@testable import signal_server

@Suite("Settings in documents")
struct DocumentTests {
  private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let groups = Set(Settings.table.compactMap { $0.name.split(separator: ".").dropLast().first })

  /// Every `` `group.name` `` in a document whose group is one of ours, with the word behind it.
  private static func mentions(in document: String) throws -> [(name: String, value: String)] {
    let text = try String(contentsOf: root.appending(path: document), encoding: .utf8)
    return text.matches(of: /`([a-z]+)\.([a-z-]+)`(?: ([0-9A-Za-z]+))?/).compactMap { match in
      groups.contains(match.1) ? ("\(match.1).\(match.2)", match.3.map(String.init) ?? "") : nil
    }
  }

  @Test(arguments: [
    "README.md", "ARCHITECTURE.md", "SECURITY.md", "docs/protocol.md", "docs/clients.md", "docs/expressions.md",
    "docs/operating.md", "docs/guide/flags.md", "docs/guide/home.md", "docs/guide/operating.md",
    "docs/guide/presence.md",
  ])
  func `a document names only settings that there are`(document: String) throws {
    for (name, _) in try Self.mentions(in: document) {
      #expect(Settings.byName[name] != nil, "\(document) names \(name)")
    }
  }

  @Test(arguments: [("SECURITY.md", 31), ("docs/clients.md", 3), ("docs/guide/presence.md", 1)])
  func `a document tells the defaults as they are`(document: String, atLeast count: Int) throws {
    let table = try Self.mentions(in: document).filter { $0.value.first?.isNumber == true }
    #expect(table.count >= count)
    for (name, value) in table {
      var settings = Settings()
      let setting = try #require(Settings.byName[name])
      #expect(setting.assign([value], &settings), "\(name) \(value)")
      #expect(settings == Settings(), "\(name) is \(setting.text(in: Settings())), not \(value)")
    }
  }
}
