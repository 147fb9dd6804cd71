// SPDX-License-Identifier: MIT
import ArgumentParser
import JSON
import SignalHTTP

/// `signal-server list`: prints the properties that are there.
struct ListVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Print the properties that are there, and their values.",
    discussion: """
      On a terminal it is a tree; elsewhere a line for each property: its path, a tab and its value. However many there \
      are, all of them are printed, in the order of their paths.
      """,
    aliases: ["ls"])

  @Argument(help: "What to list, for example 'kitchen/**'; everything unless given.")
  var patterns: [Operand] = []

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp("Only what matches, for example 'value > 20'.", valueName: "expression"))
  var filter: Operand?

  @Option(help: ArgumentHelp("At most so many properties.", valueName: "number"))
  var limit: Int?

  @Flag(help: "Print each property as a JSON object, one per line, with its revision and time.")
  var json = false

  @Flag(inversion: .prefixedNo, help: "Print a tree, or lines, wherever it goes to.")
  var tree: Bool?

  @OptionGroup var state: StateOptions

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1") }
    if json, tree == true { throw ValidationError("--json and --tree exclude each other") }
  }

  func run() throws {
    var query = patterns.map { (name: "match", value: $0.text) }
    if let filter { query.append((name: "where", value: filter.text)) }
    if let limit { query.append((name: "limit", value: "\(limit)")) }
    query += state.query
    var pages = PropertyPages(client, query)
    var printer = (tree ?? Terminal.isOutput) && !json ? TreePrinter() : nil
    while let page = try pages.next() {
      guard !page.isEmpty else { continue }
      if json {
        Terminal.print(lines: page.map(\.line))
      } else if let lines = printer?.lines(for: page.map { ($0.path, $0.value.description) }) {
        Terminal.print(lines: lines.map { Array($0.utf8) })
      } else {
        Terminal.print(lines: page.map { Array("\($0.path)\t".utf8) + $0.value.bytes })
      }
    }
  }
}
