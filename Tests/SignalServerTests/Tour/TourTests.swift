// SPDX-License-Identifier: MIT
import Foundation
import SignalHTTP
import Testing

/// Pastes every line of the README's tour, in order, and compares what comes out with `Tour.txt`.
///
/// `SIGNAL_TOUR=record` writes what has changed into that file, to be read before it is committed. A line `…` in it leaves
/// the rest of an output open, where the pace of the machine decides; a first line `(in any order)` its order, where there
/// is none. The lines for a browser run in Chromium where there is one; else a
/// client of our own connects as they say.
@Suite("The README's tour")
struct TourTests {
  private static let root = URL(filePath: #filePath).resolvingSymlinksInPath()
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
  private static let expectation = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Tour.txt")

  @Test(.enabled(if: Shell.find("curl") != nil && Shell.find("bash") != nil, "the tour needs curl and bash"))
  func `every line does what it did`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let steps = TourStep.steps(of: readme)
    #expect(steps.count > 30)
    let shell = try Shell()
    defer { shell.end() }
    let port = try shell.startServer()
    let page = try openTourPage(port: port, in: shell.folder)
    defer { page.close() }
    for step in steps { try step.follow(in: shell, page) }
    try shell.settle()
    let record = shell.record()
    let expected = try TourRecord.read(Self.expectation)
    if ProcessInfo.processInfo.environment["SIGNAL_TOUR"] == "record" {
      let texts = record.map { record in (expected.first { $0.line == record.line && $0.allows(record) } ?? record).text
      }
      try texts.joined(separator: "\n").write(to: Self.expectation, atomically: true, encoding: .utf8)
      return
    }
    #expect(record.map(\.line) == expected.map(\.line), "the README has other lines than Tour.txt")
    Self.compare(record, expected)
  }

  /// The line of the tour behind which the server is killed: its reader has just noted where he was.
  private static let lastBeforeKill = "curl -X PUT localhost:8080/properties/kitchen/temperature -d 23.5"

  @Test(.enabled(if: Shell.find("curl") != nil && Shell.find("bash") != nil, "the tour needs curl and bash"))
  func `with a folder for its data the server may be killed in the middle`() throws {
    let readme = try String(contentsOf: Self.root.appending(path: "README.md"), encoding: .utf8)
    let steps = TourStep.steps(of: readme)
    let middle = try #require(
      steps.firstIndex { if case .shell(Self.lastBeforeKill) = $0 { true } else { false } })
    let shell = try Shell()
    defer { shell.end() }
    let port = try shell.startServer("--data-dir data")
    for step in steps[...middle] { try step.follow(in: shell, nil) }
    try shell.killServer("--data-dir data")
    let page = ConnectingPage(port: port)
    for step in steps[(middle + 1)...] { try step.follow(in: shell, page) }
    try shell.settle()
    let expected = try TourRecord.read(Self.expectation)
    let record = shell.record()
    #expect(record.map(\.line) == expected.map(\.line))
    // What was running has ended with the server, which is seen in its own output and in the numbers of watchers; and a
    // greeting says how the state is kept.
    let told = zip(steps.indices, zip(record, expected)).filter { index, pair in
      let isCut = index <= middle && TourStep.goesOn(pair.0.line)
      return !isCut && !["demand=", "watchers=", "new WebSocket("].contains { pair.0.line.contains($0) }
    }.map(\.1)
    #expect(told.count > 30)
    Self.compare(told.map(\.0), told.map(\.1))
  }

  private static func compare(_ records: [TourRecord], _ expectations: [TourRecord]) {
    for (record, expected) in zip(records, expectations) where !expected.allows(record) {
      Issue.record("\(record.line)\n\(record.output.joined(separator: "\n"))\ninstead of\n\(expected.text)")
    }
  }
}

/// A line, or some, that a reader of the tour pastes.
enum TourStep {
  case shell(String)
  case page(String)

  /// The indented lines, and the blocks of JavaScript, between the heading of the tour and the next.
  static func steps(of readme: String) -> [TourStep] {
    var steps: [TourStep] = []
    var script: [Substring]?
    var isInTour = false
    for line in readme.split(separator: "\n", omittingEmptySubsequences: false) {
      if line.hasPrefix("## ") { isInTour = line.hasPrefix("## A tour") }
      guard isInTour else { continue }
      if line == "```js" {
        script = []
      } else if line == "```", let lines = script {
        steps.append(.page(lines.joined(separator: "\n")))
        script = nil
      } else if script != nil {
        script?.append(line)
      } else if line.hasPrefix("    ") {
        steps.append(.shell(line.trimmingCharacters(in: .whitespaces)))
      }
    }
    return steps
  }

  /// Pastes it.
  func follow(in shell: Shell, _ page: (any TourPage)?) throws {
    switch self {
    case .shell(let line) where Self.goesOn(line): try shell.start(line)
    case .shell(let line): try shell.run(line)
    case .page(let script): shell.note(script, try #require(page).run(script))
    }
  }

  /// Whether the reader leaves it running and goes on in another terminal.
  static func goesOn(_ line: String) -> Bool {
    (line.hasPrefix("curl -N") && !line.contains("take=")) || line.contains("signal-server watch")
      || line.hasSuffix("--hold")
  }
}

/// What one step has put out.
struct TourRecord {
  let line: String
  let output: [String]

  var text: String { ([line] + output).joined(separator: "\n") + "\n" }

  /// Whether an output is the one that this expects.
  func allows(_ record: TourRecord) -> Bool {
    if output.first == "(in any order)" { return record.output.sorted() == output.dropFirst().sorted() }
    guard output.last == "…" else { return record.output == output }
    return record.output.starts(with: output.dropLast())
  }

  /// Reads what ``text`` has written: records with an empty line between them.
  static func read(_ file: URL) throws -> [TourRecord] {
    let text = try String(contentsOf: file, encoding: .utf8)
    return text.components(separatedBy: "\n\n").map { record in
      let lines = record.split(separator: "\n").map(String.init)
      return TourRecord(line: lines.first ?? "", output: Array(lines.dropFirst()))
    }
  }
}
