// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// `signal-server explain`: shows how the server interprets an expression.
struct ExplainVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain",
    abstract: "Tell what an expression means: its type, cost and kind, and how many properties match now.",
    discussion: """
      One that is wrong is shown with a caret under the place, and the exit status is 1.
      """)

  @Argument(help: "The expression, for example 'value > 20.0'.")
  var expression: Operand

  @Option(
    help: ArgumentHelp("Try it on the properties that match this pattern; may be repeated.", valueName: "pattern"))
  var match: [String] = []

  @Flag(help: "It is the formula of a computed property, not a filter.")
  var computed = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if computed, !match.isEmpty { throw ValidationError("--computed and --match exclude each other") }
  }

  func run() throws {
    var body: [UInt8] = []
    body.append(contentsOf: (computed ? #"{"formula":"# : #"{"where":"#).utf8)
    body.appendJSON(expression.text)
    if !match.isEmpty {
      body.append(contentsOf: #","match":["#.utf8)
      for (index, pattern) in match.enumerated() {
        if index > 0 { body.append(UInt8(ascii: ",")) }
        body.appendJSON(pattern)
      }
      body.append(UInt8(ascii: "]"))
    }
    body.append(UInt8(ascii: "}"))
    let fields = [("Content-Type", "application/json")]
    let answer = try client.request("POST", "/expressions/explain", fields: fields, body: body).body
    guard let text = try? JSONText(validating: answer) else {
      throw Failure(.refused, "the server's answer is not JSON")
    }
    let tree = JSONTree(text)
    guard tree.member("valid", of: .root).flatMap(tree.bool) == true else {
      let place = tree.member("text", of: .root) ?? tree.member("detail", of: .root)
      throw Failure(.refused, place.flatMap(tree.string)?.printableLines ?? "the expression is not valid")
    }
    for line in Explanation.lines(tree) { Terminal.print(line) }
    for warning in Explanation.warnings(tree) { Terminal.print("warning: \(warning)") }
  }
}

/// An explanation as lines for people: a name and what it says, member by member.
enum Explanation {
  static func lines(_ tree: JSONTree) -> [String] {
    var lines: [String] = []
    append(tree, .root, prefix: "", to: &lines)
    return lines
  }

  /// What the server warns of, each with its place and three lines long.
  static func warnings(_ tree: JSONTree) -> [String] {
    guard let list = tree.member("warnings", of: .root), tree.kind(of: list) == .array else { return [] }
    return tree.elements(of: list).compactMap { Members(tree: tree, node: $0).string("text")?.printableLines }
  }

  private static func append(_ tree: JSONTree, _ object: JSONTree.Node, prefix: String, to lines: inout [String]) {
    for key in tree.keys(of: object) {
      guard let name = tree.string(key), let value = tree.value(ofKey: key),
        !["valid", "warnings"].contains(prefix + name)
      else { continue }
      switch tree.kind(of: value) {
      case .object: append(tree, value, prefix: "\(prefix)\(name) ", to: &lines)
      case .array:
        let elements = tree.elements(of: value).map { tree.string($0) ?? "\(tree.text(of: $0))" }
        lines.append("\(prefix)\(name): \(elements.isEmpty ? "–" : elements.joined(separator: ", "))".printableLines)
      default:
        lines.append("\(prefix)\(name): \(tree.string(value) ?? "\(tree.text(of: value))")".printableLines)
      }
    }
  }
}

extension String {
  /// Each line as it can be printed.
  fileprivate var printableLines: String {
    split(separator: "\n", omittingEmptySubsequences: false).map { String($0).printable }.joined(separator: "\n")
  }
}
