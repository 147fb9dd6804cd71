// SPDX-License-Identifier: MIT
import Glibc
import Logging
import SignalHTTP
import SignalStore

/// A private server of a folder that is not being served, for one verb: it listens on a socket that only this user can
/// open, so that a folder and a running server are read and written in one way, with the same limits.
enum FolderServer {
  /// Calls a closure with a server, and writes everything to the folder when it returns.
  ///
  /// - Parameter isReadOnly: Nothing in the folder is changed.
  static func with(
    _ folder: String, isReadOnly: Bool, _ body: (ClientOptions) throws(Failure) -> Void
  ) async throws(Failure) {
    let place = try makePlace()
    defer { _ = unsafe rmdir(place) }
    let socket = place + "/socket"
    let settings = try settings(folder, isReadOnly, socket)
    // Messages of the start go to the standard error.
    let logger = Logger(label: "signal-server") { _ in LineLogHandler(.text, LogLevel(.warning)) }
    let served = try ServedStore(settings, logger)
    let server = Server(settings.server, store: served.store, live: settings.live)
    let outcome: Result<Void, Failure>
    do throws(ServerError) {
      try server.start()
      do throws(Failure) {
        var client = ClientOptions()
        client.server = "unix:" + socket
        client.token = nil
        try body(client)
        outcome = .success(())
      } catch {
        outcome = .failure(error)
      }
      server.shutdown()
      try await server.run()
    } catch {
      throw Failure(.system, "\(folder): \(error)")
    }
    try served.close()
    try outcome.get()
  }

  private static func settings(
    _ folder: String, _ isReadOnly: Bool, _ socket: String
  ) throws(Failure) -> Settings {
    do throws(ConfigurationError) {
      // The limits are those that the folder is served with.
      var settings = try ResolvedSettings.load(file: nil, environment: ProcessEnvironment.variables, flags: []).settings
      settings.data.dir = folder
      settings.data.readOnly = isReadOnly
      settings.data.sync = .zero
      settings.listen = [ListenerConfiguration(.unix(path: socket), mode: 0o600)]
      settings.loops = 1
      return settings
    } catch {
      throw Failure(error)
    }
  }

  /// A new folder that only this user can enter.
  private static func makePlace() throws(Failure) -> String {
    let parent = ProcessEnvironment.temporaryFolder
    var name = Array("\(parent)/signal-server.XXXXXX".utf8CString)
    // The letters are replaced in place.
    let isMade = unsafe name.withUnsafeMutableBufferPointer { buffer in
      guard let start = buffer.baseAddress else { return false }
      return unsafe mkdtemp(start) != nil
    }
    guard isMade else { throw Failure(.system, "\(parent): \(SystemFailure(code: errno))") }
    return String(decoding: name.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
