// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP

/// `signal-server get`: prints the value of a property.
struct GetVerb: ParsableCommand {
  static let configuration = CommandConfiguration(commandName: "get", abstract: "Print the value of a property.")

  @Argument(help: "The property, for example kitchen/temperature.")
  var path: Operand

  @Option(help: ArgumentHelp("Print only this part of the value (RFC 6901).", valueName: "/a/b"))
  var pointer: String?

  @OptionGroup var state: StateOptions

  @OptionGroup var client: ClientOptions

  func run() throws {
    let query = (pointer.map { [(name: "pointer", value: $0)] } ?? []) + state.query
    Terminal.print(bytes: try client.request("GET", PropertyTarget.make(path.text, query), about: path.text).body)
  }
}
