// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server delete`: deletes a property.
struct DeleteVerb: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "delete", abstract: "Delete a property.")

  @Argument(help: "The property, for example kitchen/temperature.")
  var path: Word

  @Option(
    help: ArgumentHelp("Only if the property was last changed at this cursor.", valueName: "cursor"))
  var ifMatch: String?

  @OptionGroup var client: ClientOptions

  func run() throws {
    let fields = ifMatch.map { [("If-Match", "\"\($0)\"")] } ?? []
    _ = try client.request("DELETE", PropertyTarget.make(path.text), fields: fields)
  }
}
