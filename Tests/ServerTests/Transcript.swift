// SPDX-License-Identifier: MIT
import Foundation
import Testing

/// A conversation with a server from a file of `Transcripts`, whose README says what the lines mean.
struct Transcript: CustomTestStringConvertible {
  enum Step {
    case open(target: String)
    case stream(target: String, fields: [(String, String)])
    case send(String)
    case close
    case drop
    case request(method: String, target: String, fields: [(String, String)], body: String?)
    /// The next message, with all the events in it.
    case message([String])
    /// The next event of a stream.
    case event(String, id: String?, name: String?)
    case closed(Int)
    case answer(status: Int, fields: [(String, String)], body: String)
  }

  struct Line {
    let number: Int
    /// Whose it is: empty where there is one client only.
    let client: String
    let step: Step
  }

  let name: String
  let lines: [Line]
  var testDescription: String { name }

  static let all: [Transcript] = {
    let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts")
    do {
      return try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        .filter { $0.pathExtension == "txt" }.sorted { $0.path < $1.path }.map { try Transcript($0) }
    } catch {
      fatalError("no transcripts: \(error)")
    }
  }()

  private struct Mistake: Error {
    let name: String
    let line: Int
  }

  private init(_ file: URL) throws {
    name = file.deletingPathExtension().lastPathComponent
    let text = try String(contentsOf: file, encoding: .utf8)
    let source = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var lines: [Line] = []
    var place = 0
    while place < source.count {
      let number = place + 1
      let line = source[place]
      place += 1
      if line.isEmpty || line.hasPrefix("#") { continue }
      guard let match = line.wholeMatch(of: /([a-z]*)(→|←) (.+)/) else { throw Mistake(name: name, line: number) }
      var below: [String] = []
      while place < source.count, source[place].hasPrefix("  ") || source[place].hasPrefix("⋮ ") {
        below.append(String(source[place].dropFirst(2)))
        place += 1
      }
      let client = String(match.1)
      let step = match.2 == "→" ? Self.deed(String(match.3), below) : Self.answer(String(match.3), below)
      guard let step else { throw Mistake(name: name, line: number) }
      lines.append(Line(number: number, client: client, step: step))
    }
    self.lines = lines
  }

  private static func fields(_ lines: [String]) -> [(String, String)] {
    lines.filter { !$0.hasPrefix("| ") }.compactMap { line in
      line.firstRange(of: ": ").map { (String(line[..<$0.lowerBound]), String(line[$0.upperBound...])) }
    }
  }

  private static func body(_ lines: [String]) -> String? {
    let lines = lines.filter { $0.hasPrefix("| ") }.map { String($0.dropFirst(2)) }
    return lines.isEmpty ? nil : lines.joined(separator: "\n")
  }

  private static func deed(_ text: String, _ below: [String]) -> Step? {
    if text.hasPrefix("{") { return .send(text) }
    if text == "close" { return .close }
    if text == "drop" { return .drop }
    guard let match = text.wholeMatch(of: /([A-Za-z]+) (.+)/) else { return nil }
    let rest = String(match.2)
    switch match.1 {
    case "open": return .open(target: rest)
    case "stream": return .stream(target: rest, fields: fields(below))
    case "text": return .send(rest)
    default: return .request(method: String(match.1), target: rest, fields: fields(below), body: body(below))
    }
  }

  private static func answer(_ text: String, _ below: [String]) -> Step? {
    if let status = Int(text) { return .answer(status: status, fields: fields(below), body: body(below) ?? "") }
    if text.hasPrefix("close ") { return Int(text.dropFirst(6)).map { .closed($0) } }
    guard text.hasPrefix("{") else { return nil }
    let marks = below.filter { !$0.hasPrefix("{") }
    guard marks.isEmpty else {
      let fields = fields(marks)
      return .event(
        text, id: fields.first { $0.0 == "id" }?.1, name: fields.first { $0.0 == "event" }?.1)
    }
    return .message([text] + below)
  }
}
