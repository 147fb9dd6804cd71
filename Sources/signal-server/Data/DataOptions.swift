// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalJournal

/// The folder option of verbs that read or write the files of a store.
struct DataOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The folder of the store (environment: SIGNAL_DATA_DIR, or the settings file).", valueName: "folder"),
    completion: .directory)
  var data: String?

  /// The folder.
  var folder: String {
    get throws(Failure) {
      if let data {
        if data.isEmpty { throw Failure(.usage, "--data takes the folder of a store") }
        return data
      }
      do throws(ConfigurationError) {
        let settings = try ResolvedSettings.load(file: nil, environment: ProcessEnvironment.variables, flags: [])
          .settings
        if !settings.data.dir.isEmpty { return settings.data.dir }
      } catch {
        throw Failure(error)
      }
      throw Failure(.usage, "no folder is named: say --data, or set SIGNAL_DATA_DIR")
    }
  }
}

extension Failure {
  /// Why the files of a store cannot be used.
  init(_ error: StorageError) {
    let status: ExitStatus =
      switch error {
      case .damaged, .newerFormat, .foreign, .outOfReach: .damaged
      case .locked, .lockedForReading, .system, .occupied: .system
      case .database: .storage
      }
    self.init(status, "\(error)")
  }

  /// Calls something that uses the files of a store.
  static func ofStorage<Result>(_ body: () throws(StorageError) -> Result) throws(Failure) -> Result {
    do throws(StorageError) { return try body() } catch { throw Failure(error) }
  }
}
