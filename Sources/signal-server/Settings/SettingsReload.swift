// SPDX-License-Identifier: MIT
import Logging
import SignalAccess
import SignalHTTP
import Synchronization

extension Settings {
  /// The effect of new settings on a server that runs with these.
  struct Reload: Equatable {
    /// The settings that apply from now on.
    var settings: Settings
    /// The names of the settings that have changed.
    var changed: [String] = []
    /// The names of the settings that differ and need a restart.
    var needRestart: [String] = []
  }

  /// Takes over from other settings what can change while a server runs.
  func reloaded(with new: Settings) -> Reload {
    var reload = Reload(settings: new)
    for setting in Settings.table where setting.text(in: self) != setting.text(in: new) {
      if setting.needsRestart {
        reload.needRestart.append(setting.name)
        setting.copy(self, &reload.settings)
      } else {
        reload.changed.append(setting.name)
      }
    }
    return reload
  }
}

/// Reloads the settings of a running server, and logs the result.
final class SettingsReload: Sendable {
  private let current: Mutex<Settings>
  private let read: @Sendable () throws(ConfigurationError) -> Settings?
  private let apply: @Sendable (Settings) throws(Failure) -> @Sendable () -> Void
  private let logger: Logger
  private let audit: AuditQueue?

  /// - Parameters:
  ///   - settings: The settings that the server runs with.
  ///   - read: Reads all sources; nil when no file is among them, so that nothing can have changed.
  ///   - apply: Applies settings to the server, and makes it reload its certificates; returns what uses the new audit
  ///     log, in the old one of which the change is noted before.
  init(
    _ settings: Settings, logger: Logger, audit: AuditQueue? = nil,
    read: @escaping @Sendable () throws(ConfigurationError) -> Settings?,
    apply: @escaping @Sendable (Settings) throws(Failure) -> @Sendable () -> Void
  ) {
    current = Mutex(settings)
    self.logger = logger
    self.audit = audit
    self.read = read
    self.apply = apply
  }

  /// Makes the server reload its certificates, with its present settings.
  func readCertificates() {
    do throws(Failure) {
      try current.withLock { current throws(Failure) in try apply(current)() }
      logger.notice("the certificates have been read anew")
    } catch {
      logger.error("the certificates stay as they are: \(error.message)")
    }
  }

  /// Applies the new settings if all are valid; otherwise everything stays unchanged.
  func run() {
    let new: Settings?
    do throws(ConfigurationError) {
      new = try read()
    } catch {
      logger.error("the settings stay as they are: \(error)")
      audit?.record(AuditEvent(.settingsRefused, outcome: "\(error)"))
      return
    }
    // One at a time, and invalid settings change nothing.
    let reload: Settings.Reload
    do throws(Failure) {
      reload = try current.withLock { current throws(Failure) in
        let reload = current.reloaded(with: new ?? current)
        let useAuditLog = try apply(reload.settings)
        let event = AuditEvent(.settingsReloaded, subject: reload.changed.joined(separator: ", "))
        // Whoever turns the log off, moves it or asks it for less is in the old one, too.
        let isNoted = reload.changed.contains { $0.hasPrefix("audit.") } && audit?.wants(event.kind) == true
        if isNoted { audit?.record(event) }
        useAuditLog()
        if !isNoted || reload.changed.contains("audit.file") { audit?.record(event) }
        current = reload.settings
        return reload
      }
    } catch {
      logger.error("the settings stay as they are: \(error.message)")
      audit?.record(AuditEvent(.settingsRefused, outcome: error.message))
      return
    }
    if new == nil, reload.settings.audit.file.isEmpty, !reload.settings.auth.isActive,
      !reload.settings.listeners.contains(where: { $0.endpoint.isSecured })
    {
      logger.warning("there is no settings file to read anew: the server was started without --config")
      return
    }
    let names = reload.changed.isEmpty ? "nothing" : reload.changed.joined(separator: ", ")
    logger.notice("the settings have been read anew", metadata: ["changed": "\(names)"])
    if !reload.needRestart.isEmpty {
      logger.warning(
        "some settings change at the next start only",
        metadata: ["settings": "\(reload.needRestart.joined(separator: ", "))"])
    }
  }
}
