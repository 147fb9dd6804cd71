// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP

/// `signal-server delete`: deletes a property, or all that match a pattern.
struct DeleteVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Delete a property, or all that match a pattern.",
    discussion: """
      With a pattern such as 'a/**', what matches is deleted in transactions of up to 1000 properties, each of which is \
      reported; nothing is asked, so try it with --dry-run. A property that is set for the first time meanwhile stays. \
      With --where, so does one that is changed meanwhile, as it may not match any more.
      """,
    aliases: ["rm"])

  @Argument(help: "The property, for example kitchen/temperature, or a pattern, for example 'kitchen/**'.")
  var path: Operand

  @Option(
    help: ArgumentHelp("Only if the property was last changed at this cursor.", valueName: "cursor"))
  var ifMatch: String?

  @Option(
    name: .customLong("if"),
    help: ArgumentHelp("Only if this holds for the property, for example 'value == 0'.", valueName: "expression"))
  var condition: Operand?

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp("Only those for which this holds, for example 'value < 20'.", valueName: "expression"))
  var filter: Operand?

  @Flag(help: "Print what would be deleted, and delete nothing.")
  var dryRun = false

  @OptionGroup var client: ClientOptions

  /// Whether it names more than one property: no path has such a segment.
  private var isPattern: Bool { path.text.split(separator: "/").contains { $0 == "*" || $0 == "**" } }

  func validate() throws {
    let isBulk = isPattern || filter != nil || dryRun
    if isBulk, ifMatch != nil || condition != nil {
      throw ValidationError("--if-match and --if are for one property; with a pattern there is --where")
    }
  }

  func run() throws {
    if isPattern || filter != nil || dryRun {
      return try BulkDeletion(pattern: path.text, filter: filter?.text, client: client).run(dryRun: dryRun)
    }
    let fields = ifMatch.map { [("If-Match", "\"\($0)\"")] } ?? []
    let target = PropertyTarget.make(path.text, condition.map { [(name: "if", value: $0.text)] } ?? [])
    _ = try client.request("DELETE", target, about: path.text, fields: fields)
  }
}
