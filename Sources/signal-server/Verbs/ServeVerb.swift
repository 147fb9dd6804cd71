// SPDX-License-Identifier: MIT
import ArgumentParser
import Logging
import SignalHTTP
import SignalStore

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
    try await serve(resolved.settings)
  }

  private func serve(_ settings: Settings) async throws(Failure) {
    LoggingSystem.bootstrap { _ in LineLogHandler(settings.log) }
    let logger = Logger(label: "signal-server")
    ProcessSignals.ignoreBrokenPipes()
    Allocator.giveBackFreedMemory()
    let descriptors = DescriptorLimit.raise(toServe: settings.limits.connections)
    if let descriptors, descriptors < settings.limits.connections {
      logger.warning(
        "the system allows fewer descriptors than connections",
        metadata: ["descriptors": "\(descriptors)", "connections": "\(settings.limits.connections)"])
    }
    let store = PropertyStore(limits: settings.store)
    var configuration = settings.server
    if logger.logLevel <= .debug {
      let log = ServerEventLog(logger: logger)
      configuration.observer = { log.write($0) }
    }
    let server = Server(configuration, store: store, live: settings.live)
    do throws(SystemError) {
      try server.start()
      let sources =
        ProcessSignals.hangUp {
          logger.warning("SIGHUP is ignored: there is nothing to reload, settings are read at the start")
        }
        + ProcessSignals.drain {
          logger.info("stopping")
          server.shutdown()
        }
      // Supervisors and tests wait for this line; with port 0 it is the only way to know the port.
      let address = server.address.map { "http://\($0)" } ?? ""
      Terminal.print("listening on \(address)")
      logger.info("started", metadata: ["address": "\(address)", "epoch": "\(store.epoch)"])
      try await server.run()
      withExtendedLifetime(sources) {}
    } catch {
      throw Failure(.system, "cannot serve: \(error)" + (error.isAddressInUse ? "; --port 0 picks a free one" : ""))
    }
    logger.info("stopped")
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
