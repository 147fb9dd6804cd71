// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP

/// `signal-server patch`: changes a part of a property's value.
struct PatchVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "patch",
    abstract: "Change a part of the value of a property, and print the cursor of the change.",
    discussion: """
      The patch is an object whose members replace those of the same name, null removing them (RFC 7396); with \
      --operations a list such as '[{"op":"add","path":"/list/-","value":3}]' (RFC 6902).
      """)

  @Argument(help: "The property, for example kitchen/light.")
  var path: Operand

  @Argument(help: "The patch, as JSON; - reads it from the standard input.")
  var patch: Operand

  @Flag(help: "The patch is a list of operations.")
  var operations = false

  @Option(help: ArgumentHelp("Only if the property was last changed at this cursor.", valueName: "cursor"))
  var ifMatch: String?

  @Option(
    name: .customLong("if"),
    help: ArgumentHelp("Only if this holds for the property, for example 'value.on'.", valueName: "expression"))
  var condition: Operand?

  @Option(help: ArgumentHelp("Let the property end after this time, such as 60s or 2h.", valueName: "time"))
  var ttl: String?

  @OptionGroup var client: ClientOptions

  func run() throws {
    let source: [UInt8]
    do {
      source = patch.text == "-" ? try Terminal.readAll() : Array(patch.text.utf8)
    } catch {
      throw Failure(.usage, "cannot read the standard input: \(error)")
    }
    let type = operations ? "application/json-patch+json" : "application/merge-patch+json"
    let fields = [("Content-Type", type)] + (ifMatch.map { [("If-Match", "\"\($0)\"")] } ?? [])
    let query = [("ttl", ttl), ("if", condition?.text)].compactMap { name, value in
      value.map { (name: name, value: $0) }
    }
    let target = PropertyTarget.make(path.text, query)
    let response = try client.request("PATCH", target, about: path.text, fields: fields, body: source)
    let tag = response.value("ETag").map { $0.filter { $0 != "\"" } }
    if let cursor = tag ?? response.value("Signal-Revision") { Terminal.print(cursor.printable) }
  }
}
