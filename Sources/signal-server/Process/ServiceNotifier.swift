// SPDX-License-Identifier: MIT
import Logging

/// Notifies the service manager, if there is one, and logs what fails: a service whose manager cannot be reached goes on.
struct ServiceNotifier: Sendable {
  private let manager: ServiceManager?
  private let logger: Logger

  init(_ environment: [String: String], _ logger: Logger) {
    self.logger = logger
    guard let name = environment["NOTIFY_SOCKET"], !name.isEmpty else {
      manager = nil
      return
    }
    do throws(SystemFailure) {
      manager = try ServiceManager(name)
    } catch {
      manager = nil
      logger.warning("the service manager cannot be notified: NOTIFY_SOCKET '\(name.printable)': \(error)")
    }
  }

  func notify(_ notification: @autoclosure () -> ServiceManager.Notification) {
    guard let manager else { return }
    do throws(SystemFailure) {
      try manager.notify(notification())
    } catch {
      logger.warning("the service manager cannot be notified: \(error)")
    }
  }
}
