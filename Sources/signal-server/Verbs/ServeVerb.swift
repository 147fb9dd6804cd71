// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server serve`: runs the server until it is told to stop.
struct ServeVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the server (default).",
    discussion: discussion)

  @Option(help: ArgumentHelp("Read settings from this file (environment: SIGNAL_CONFIG).", valueName: "file"))
  var config: String?

  @Flag(help: "Check all settings, and stop.")
  var checkConfig = false

  @Flag(help: "Print all settings with the source of each, as a settings file, and stop.")
  var printConfig = false

  /// The flags of the settings come from their table, so the parser does not know them.
  @Argument(parsing: .allUnrecognized, help: .hidden)
  var flags: [Word] = []

  func run() async throws {
    let resolved: ResolvedSettings
    do {
      resolved = try ResolvedSettings.load(
        file: config, environment: ProcessEnvironment.variables, flags: flags.map(\.text))
    } catch {
      throw Failure(error)
    }
    if printConfig { return Terminal.print(resolved.listing) }
    if checkConfig { return Terminal.print("the settings are valid") }
  }

  private static var discussion: String {
    let defaults = Settings()
    let rows = Settings.table.map { setting in
      "  \(setting.flag) (\(setting.text(in: defaults)))\n      \(setting.summary)"
    }
    return """
      Settings come from defaults, then the file, then the environment, then flags; the last one wins. The flag \
      --http-head-bytes is http.head-bytes in the file and SIGNAL_HTTP_HEAD_BYTES in the environment.

      \(rows.joined(separator: "\n"))
      """
  }
}
