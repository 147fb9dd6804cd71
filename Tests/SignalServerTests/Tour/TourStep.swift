// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// What a reader of a page does: a line or some that he pastes, a file that he saves, a page that he opens.
enum TourStep: Equatable {
  case shell(String)
  case page(String)
  case file(name: String, text: String)
  case serve(options: String)
  case open(url: String)
  case click(String)

  /// The steps of a document: its indented lines; its blocks of JavaScript, which are for the console of a browser, and its
  /// other blocks, which name the file that they are; lines that begin with `Open <http://…>` and with ``Click `…` ``.
  ///
  /// - Parameters:
  ///   - document: In Markdown.
  ///   - heading: What the heading of the part begins with that is meant; `nil` for all of it.
  /// - Throws: When a block says neither `js` nor a name.
  static func steps(of document: String, under heading: String? = nil) throws -> [TourStep] {
    var steps: [TourStep] = []
    var block: (info: Substring, lines: [Substring])?
    var isMeant = heading == nil
    for line in document.split(separator: "\n", omittingEmptySubsequences: false) {
      if let heading, block == nil, line.hasPrefix("## ") { isMeant = line.hasPrefix("## \(heading)") }
      guard isMeant else { continue }
      if line == "```", let (info, lines) = block {
        steps.append(try step(info, lines.joined(separator: "\n")))
        block = nil
      } else if block != nil {
        block?.lines.append(line)
      } else if line.hasPrefix("```") {
        block = (line.dropFirst(3), [])
      } else if line.hasPrefix("    ") {
        steps.append(step(line.trimmingCharacters(in: .whitespaces)))
      } else if let match = line.firstMatch(of: /^Open <(http[^>]+)>/) {
        steps.append(.open(url: String(match.1)))
      } else if let match = line.firstMatch(of: /^Click `([^`]+)`/) {
        steps.append(.click(String(match.1)))
      }
    }
    return steps
  }

  private static func step(_ info: Substring, _ text: String) throws -> TourStep {
    if info == "js" { return .page(text) }
    let words = info.split(separator: " ")
    try #require(words.count == 2, "a block that says \(info), and not which file it is")
    return .file(name: String(words[1]), text: text + "\n")
  }

  private static func step(_ line: String) -> TourStep {
    let serve = "signal-server serve"
    let isServer = line.hasPrefix(serve) && !line.contains("--check-config")
    return isServer ? .serve(options: String(line.dropFirst(serve.count))) : .shell(line)
  }

  /// Does it.
  func follow(in shell: Shell, _ page: (any TourPage)?) throws {
    switch self {
    case .shell(let line) where Self.goesOn(line): try shell.start(line)
    case .shell(let line): try shell.run(line)
    case .page(let script): shell.note(script, try #require(page).run(script))
    case .file(let name, let text): try shell.save(name, text)
    case .serve(let options): try shell.serve(options)
    case .open, .click: try #require(Bool(false), "only a guide has that")
    }
  }

  /// Whether the reader leaves it running and goes on in another terminal.
  static func goesOn(_ line: String) -> Bool {
    // What the reader leaves running himself.
    if line.contains(" & ") { return false }
    return (line.hasPrefix("curl -N") && !line.contains("take=")) || line.contains("signal-server watch")
      || line.hasSuffix("--hold") || line.contains(/node --experimental-websocket \w+\.mjs/)
      || line.contains("-m http.server")
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
    let hasFailed = record.output.last?.hasPrefix("(exit ") ?? false
    return record.output.starts(with: output.dropLast()) && !hasFailed
  }

  static func compare(_ records: [TourRecord], _ expectations: [TourRecord]) {
    for (record, expected) in zip(records, expectations) where !expected.allows(record) {
      Issue.record("\(record.line)\n\(record.output.joined(separator: "\n"))\ninstead of\n\(expected.text)")
    }
  }

  // MARK: Files

  static var isRecording: Bool { ProcessInfo.processInfo.environment["SIGNAL_TOUR"] == "record" }

  /// Reads what ``write(_:to:)`` has written: records with an empty line between them.
  static func read(_ file: URL) throws -> [TourRecord] {
    let text = try String(contentsOf: file, encoding: .utf8)
    return text.components(separatedBy: "\n\n").map { record in
      let lines = record.split(separator: "\n").map(String.init)
      return TourRecord(line: lines.first ?? "", output: Array(lines.dropFirst()))
    }
  }

  /// Writes records; one that the file allows stays as it is there.
  static func write(_ records: [TourRecord], to file: URL) throws {
    let known = (try? read(file)) ?? []
    let texts = records.map { record in (known.first { $0.line == record.line && $0.allows(record) } ?? record).text }
    try texts.joined(separator: "\n").write(to: file, atomically: true, encoding: .utf8)
  }
}
