// SPDX-License-Identifier: MIT
import ArgumentParser
import Dispatch
import Logging
import SignalAccess
import SignalHTTP
import SignalStore

/// `signal-server serve`: runs the server until it is told to stop.
struct ServeVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract: "Run the server (default).",
    discussion: discussion)

  @Option(
    help: ArgumentHelp("Read settings from this file (environment: SIGNAL_CONFIG).", valueName: "file"),
    completion: .file())
  var config: String?

  @Flag(help: "Check all settings, and stop.")
  var checkConfig = false

  @Flag(help: "Print all settings with the source of each, as a settings file, and stop.")
  var printConfig = false

  /// The flags of the settings come from their table, so the parser does not know them.
  @Argument(parsing: .allUnrecognized, help: .hidden)
  var flags: [Operand] = []

  func run() async throws {
    let resolved: ResolvedSettings
    do throws(ConfigurationError) {
      resolved = try resolve()
      if printConfig { return Terminal.print(resolved.listing) }
    } catch {
      throw Failure(error)
    }
    if checkConfig { return Terminal.print("the settings are valid") }
    try await serve(resolved)
  }

  /// Reads all sources of settings.
  private func resolve() throws(ConfigurationError) -> ResolvedSettings {
    let resolved = try ResolvedSettings.load(
      file: config, environment: ProcessEnvironment.variables, flags: flags.map(\.text))
    try resolved.checkServing()
    return resolved
  }

  private func serve(_ resolved: ResolvedSettings) async throws(Failure) {
    let given = resolved.settings
    let settings = given.within(available: availableMemory())
    let told = ToldSettings(resolved, inEffect: settings)
    let level = LogLevel(settings.log.level)
    LoggingSystem.bootstrap { _ in LineLogHandler(settings.log.format, level) }
    let logger = Logger(label: "signal-server")
    ProcessSignals.ignoreBrokenPipes()
    Allocator.giveBackFreedMemory()
    Self.raiseDescriptors(settings, logger)
    let notifier = ServiceNotifier(ProcessEnvironment.variables, logger)
    let authenticator = Authenticator()
    // Begun before the files are read, so that no change is missed.
    let tokenWatch = Self.watchTokens(of: authenticator, settings.auth, logger)
    do throws(IdentityError) {
      try authenticator.apply(settings.auth)
    } catch {
      throw Failure(.configuration, "auth: \(error.description.printable)")
    }
    KeySetFetcher(authenticator, logger).begin()
    let audit = AuditLog(logger)
    audit.use(try Self.openAudit(settings.audit), settings.audit.events)
    TokenAudit.begin(authenticator, audit.queue)
    let served = try ServedStore(settings, logger)
    let store = served.store
    let server = Server(
      Self.configuration(settings, logger, audit.queue), store: store, live: settings.live, series: served.series,
      authenticator: authenticator, facts: told.facts, cluster: served.member)
    let reload = SettingsReload(
      given, logger: logger, audit: audit.queue,
      read: { [self] () throws(ConfigurationError) in
        guard ResolvedSettings.name(ofFile: config, ProcessEnvironment.variables) != nil else { return nil }
        let resolved = try resolve()
        told.note(resolved)
        return resolved.settings
      },
      apply: { settings throws(Failure) -> @Sendable () -> Void in
        let settings = settings.within(available: availableMemory())
        let auditFile: AuditLog.OpenedFile?
        do {
          let identities = try Authenticator.ReadFiles(settings.auth)
          auditFile = try Self.openAudit(settings.audit)
          level.change(to: settings.log.level)
          Self.raiseDescriptors(settings, logger)
          try server.reload(Self.configuration(settings, logger, audit.queue), live: settings.live)
          authenticator.apply(identities)
          store.setQuotas(settings.quotas)
          told.tell(inEffect: settings)
        } catch let error as IdentityError {
          throw Failure(.configuration, "auth: \(error.description.printable)")
        } catch let failure as Failure {
          throw failure
        } catch {
          throw Failure(.configuration, "\(error)")
        }
        Self.tellCertificates(of: server, logger)
        return { audit.use(auditFile, settings.audit.events) }
      })
    do throws(ServerError) {
      try server.start()
      let sources =
        ProcessSignals.hangUp {
          notifier.notify(.reloadingNow)
          reload.run()
          notifier.notify(.ready)
        }
        + ProcessSignals.drain {
          logger.info("stopping")
          notifier.notify(.stopping)
          server.shutdown()
        }
      Self.tellCertificates(of: server, logger)
      let files = settings.certificateFiles
      let watch = files.isEmpty ? nil : FileWatch.begin(files) { reload.readCertificates() }
      // Supervisors and tests wait for these lines; with port 0 they are the only way to know the port.
      let endpoints = server.endpoints
      for endpoint in endpoints { Terminal.print("listening on \(endpoint)") }
      let address = endpoints.map(\.description).joined(separator: " ")
      logger.info(
        "started",
        metadata: [
          "address": "\(address)", "epoch": "\(store.epoch)", "store": "\(served.place)",
          "memory": "\(SettingText.text(bytes: settings.memory))",
        ])
      audit.queue.record(AuditEvent(.started, subject: address))
      notifier.notify(.ready)
      try await server.run()
      withExtendedLifetime((sources, watch, tokenWatch)) {}
    } catch {
      let hint = error.isAddressInUse && settings.listen.isEmpty ? "; --port 0 picks a free one" : ""
      throw Failure(.system, "cannot serve: \(error)\(hint)")
    }
    audit.queue.record(AuditEvent(.stopped))
    audit.close()
    try served.close()
    logger.info("stopped")
  }

  /// The configuration of the server from the settings; with the level `debug` its events are logged.
  private static func configuration(
    _ settings: Settings, _ logger: Logger, _ audit: AuditQueue
  ) -> ServerConfiguration {
    var configuration = settings.server
    configuration.audit = audit
    configuration.memoryObserver = { shortage in
      logger.warning(
        "memory is short: clients that do not read are dropped",
        metadata: ["in-use": "\(shortage.inUse)", "limit": "\(shortage.limit)", "dropped": "\(shortage.dropped)"])
    }
    configuration.exposedTokenObserver = { id, peer in
      audit.record(AuditEvent(.tokenExposed, peer: peer, key: id))
      logger.warning(
        "a token was sent without TLS: others may have read it, replace it",
        metadata: ["id": "\(id ?? "not one of the server's own")", "peer": "\(peer)"])
    }
    let refusals = RefusalLog(logger)
    configuration.refusalObserver = { refusals.write($0) }
    let requests = LineLogHandler(settings.log.format, LogLevel(settings.log.level))
    configuration.requestLog.observer = { requests.log($0) }
    configuration.droppedLogLines = { LogWriter.standard.dropped }
    if logger.logLevel <= .debug {
      let log = ServerEventLog(logger: logger)
      configuration.observer = { log.write($0) }
    }
    return configuration
  }

  /// Makes an authenticator read its files anew soon after one of them has changed: a token that is revoked ends its
  /// connections.
  private static func watchTokens(
    of authenticator: Authenticator, _ settings: AuthenticationSettings, _ logger: Logger
  ) -> (any DispatchSourceTimer)? {
    guard !settings.files.isEmpty else { return nil }
    return FileWatch.begin(settings.files, interval: .milliseconds(500)) {
      do throws(IdentityError) {
        try authenticator.apply(authenticator.current.settings)
        logger.notice("the tokens and keys have been read anew")
      } catch {
        logger.error("the tokens and keys stay as they are: \(error.description.printable)")
      }
    }
  }

  /// Logs when certificates expire, and warnings about them.
  private static func tellCertificates(of server: Server, _ logger: Logger) {
    for certificate in server.certificates {
      let left = certificate.end - Timestamp.now.milliseconds / 1000
      let end = Timestamp(milliseconds: certificate.end * 1000)
      logger.log(
        level: left < 30 * 86_400 ? .warning : .info, left < 0 ? "a certificate has ended" : "certificate",
        metadata: ["file": "\(certificate.file)", "end": "\(end)"])
      if certificate.isRSA {
        logger.notice(
          "a key for RSA takes twice as long for a handshake as one on P-256", metadata: ["file": "\(certificate.file)"]
        )
      }
    }
  }

  /// The file of the audit log; nil for none.
  private static func openAudit(_ settings: Settings.Audit) throws(Failure) -> AuditLog.OpenedFile? {
    do throws(AuditFile.Failure) {
      return settings.file.isEmpty ? nil : AuditLog.OpenedFile(try AuditFile(settings.file))
    } catch {
      throw Failure(.configuration, "audit.file: \(settings.file.printable): \(error.reason)")
    }
  }

  private static func raiseDescriptors(_ settings: Settings, _ logger: Logger) {
    let connections = settings.limits.connections
    guard let descriptors = DescriptorLimit.raise(toServe: connections), descriptors < connections else { return }
    logger.warning(
      "the system allows fewer descriptors than connections",
      metadata: ["descriptors": "\(descriptors)", "connections": "\(connections)"])
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
