// SPDX-License-Identifier: MIT
import ArgumentParser
import Glibc
import SignalJournal

/// `signal-server backup`: copies the folder of a store into one file.
struct BackupVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup",
    abstract: "Copy the folder of a store into one file, also while a server uses it.",
    discussion: """
      It reads the files of the folder, not the server, so it is run on the same machine by a user who may read them. The \
      copy is of one moment, and every row of it has been checked: damage ends it with status 65. It is an SQLite database, \
      written under another name and then renamed, readable by its owner only; a backup that is there is replaced. With - it \
      goes to the standard output.
      """)

  @Argument(help: "The file, or - for the standard output.", completion: .file())
  var file: Operand

  @OptionGroup var data: DataOptions

  func run() throws {
    let folder = try data.folder
    guard file.text == "-" else {
      let backup = try Failure.ofStorage { () throws(StorageError) in try Backup(of: folder, to: file.text) }
      return Terminal.print("\(file.text): \(backup.line)")
    }
    guard !Terminal.isOutput else {
      throw Failure(.usage, "a backup is not for a terminal: redirect it, or name a file")
    }
    let copy = "\(ProcessEnvironment.temporaryFolder)/signal-server-backup.\(getpid())"
    let backup = try Failure.ofStorage { () throws(StorageError) in try Backup(of: folder, to: copy) }
    // The file is gone with its name as soon as it has been opened.
    let descriptor = unsafe open(copy, O_RDONLY | O_CLOEXEC)
    _ = unsafe unlink(copy)
    guard descriptor >= 0 else { throw Failure(.system, "\(copy): \(SystemFailure(code: errno))") }
    defer { close(descriptor) }
    do throws(SystemFailure) {
      try Terminal.copy(from: descriptor)
    } catch {
      throw Failure(.storage, "standard output: \(error)")
    }
    Terminal.printToError(backup.line)
  }
}

extension Backup {
  /// What is in it, for people.
  var line: String {
    guard let time else { return "revision 0, nothing has been set yet" }
    return "revision \(revision) of \(time); restores to any revision from \(history) on"
  }
}
