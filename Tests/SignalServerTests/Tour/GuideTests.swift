// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// Follows each page of docs/guide, as ``TourTests`` does the README, and compares what comes of it with its file in Guide.
///
/// A page in the browser is read after each step, and taken down where it has changed.
@Suite("The guide")
struct GuideTests {
  private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let records = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Guide")
  private static let names =
    ((try? FileManager.default.contentsOfDirectory(atPath: root.appending(path: "docs/guide").path)) ?? [])
    .filter { $0.hasSuffix(".md") }.sorted()

  @Test func `there is a page of each file, and the README names it`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    #expect(Self.names.count == 6)
    for name in Self.names { #expect(readme.contains("(docs/guide/\(name))"), "\(name)") }
    let kept = try FileManager.default.contentsOfDirectory(atPath: Self.records.path).sorted()
    #expect(kept == Self.names.map { $0.replacing(".md", with: ".txt") })
  }

  @Test(
    .enabled(if: Shell.find("curl") != nil && Shell.find("bash") != nil, "the guide needs curl and bash"),
    arguments: names)
  func `what a page says is so`(name: String) throws {
    let page = try String(contentsOf: Self.root.appending(path: "docs/guide").appending(path: name), encoding: .utf8)
    #expect(page.split(separator: "\n", omittingEmptySubsequences: false).count <= 121)
    let steps = try TourStep.steps(of: page)
    #expect(!steps.isEmpty)
    for (program, arguments) in Self.programs where page.contains(" \(program) ") {
      guard Shell.succeeds(program, arguments) else {
        print("docs/guide/\(name) needs \(program) with \(arguments.joined(separator: " ")), and is not followed.")
        return
      }
    }
    if ChromiumPage.program == nil, steps.contains(where: { if case .open = $0 { true } else { false } }) {
      print("docs/guide/\(name) needs Chromium, and is not followed.")
      return
    }
    let file = Self.records.appending(path: name.replacing(".md", with: ".txt"))
    let expected = TourRecord.isRecording ? nil : try TourRecord.read(file)
    let shell = try Shell()
    defer { shell.end() }
    for name in ["Clients", "Config"] { try shell.link(name, in: Self.root) }
    let reader = Reader(shell, expected)
    defer { reader.close() }
    for step in steps { try reader.follow(step) }
    guard let expected else {
      try shell.settle()
      return try TourRecord.write(shell.record(), to: file)
    }
    try shell.settle { records in
      records.count == expected.count && zip(records, expected).allSatisfy { $1.allows($0) }
    }
    let record = shell.record()
    #expect(
      record.map(\.line) == expected.map(\.line), "docs/guide/\(name) has other steps than \(file.lastPathComponent)")
    TourRecord.compare(record, expected)
  }

  /// What pages use besides bash and curl, and how to find out that it is recent enough.
  private static let programs = [
    ("node", ["--experimental-websocket", "-e", "0"]), ("python3", ["-c", "import asyncio; asyncio.Runner"]),
  ]
}

/// Somebody at a guide, with terminals and a browser.
private final class Reader {
  private static let look = "The page"
  private let shell: Shell
  /// What is expected of all steps; `nil` when that is to be found out.
  private let expected: [TourRecord]?
  private var page: ChromiumPage?
  private var shown: [String] = []

  init(_ shell: Shell, _ expected: [TourRecord]?) {
    self.shell = shell
    self.expected = expected
  }

  func follow(_ step: TourStep) throws {
    switch step {
    case .open(let url):
      let chromium = try #require(ChromiumPage.program)
      try shell.waitForAnswer(from: url)
      page = try ChromiumPage(chromium, shell.local(url), in: shell.folder)
      try note("Open <\(url)>")
    case .click(let name):
      try #require(page).click(name)
      try note("Click `\(name)`")
    default:
      try step.follow(in: shell, nil)
      if page != nil, next.map({ $0.line == Self.look }) ?? true { try note(Self.look) }
    }
  }

  /// Takes down what the page shows, as soon as it is what is expected.
  private func note(_ line: String) throws {
    let wanted = next
    let text = try #require(page).text { lines in wanted?.allows(TourRecord(line: line, output: lines)) }
    if expected == nil, line == Self.look, text == shown { return }
    shown = text
    shell.note(line, text)
  }

  private var next: TourRecord? { expected?.dropFirst(shell.count).first }

  func close() { page?.close() }
}
