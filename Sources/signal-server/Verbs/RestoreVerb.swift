// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalJournal
import SignalStore

/// `signal-server restore`: makes the folder of a store of a backup.
struct RestoreVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "restore",
    abstract: "Make the folder of a store of a backup.",
    discussion: """
      The folder is made, or empty: nothing is overwritten. With --until commits after a time (2026-01-02T03:04:05Z) or a \
      cursor (x7k2m9qd.1042) are left out; a backup reaches back as far as its history, which it says when it is made, and \
      what is before that is refused. The server that is started then tells clients that have seen more: reset, with the \
      reason lost.
      """)

  @Argument(help: "The backup.", completion: .file())
  var file: Operand

  @Option(help: ArgumentHelp("Leave out what came later.", valueName: "time or cursor"))
  var until: String?

  @OptionGroup var data: DataOptions

  func run() throws {
    let goal = try goal
    let folder = try data.folder
    let restored = try Failure.ofStorage { () throws(StorageError) in
      try BackupRestoration(of: file.text, to: folder, until: goal)
    }
    let time = restored.backup.time.map { " of \($0)" } ?? ""
    Terminal.print(
      "\(folder): \(restored.properties.counted("property", "properties")), revision \(restored.backup.revision)\(time)"
    )
  }

  private var goal: BackupRestoration.Goal {
    get throws(Failure) {
      guard let until else { return .end }
      if let cursor = Cursor(until) { return .cursor(cursor) }
      guard let time = Timestamp(until) else {
        throw Failure(
          .usage, "\"\(until)\" is neither a time such as 2026-01-02T03:04:05Z nor a cursor such as x7k2m9qd.1042")
      }
      return .time(time)
    }
  }
}
