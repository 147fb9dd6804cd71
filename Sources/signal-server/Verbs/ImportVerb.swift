// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server import`: writes what was exported to a server or a folder.
struct ImportVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Write what was exported to a server, or to a folder.",
    discussion: """
      All lines are read before anything is written. It is written in transactions of some hundred properties: watchers see \
      each as a whole, and one that is refused ends the import, which says which lines have been imported. With --replace \
      properties and timers that are not in the file are deleted; the file has to have the first and the last line of an \
      export then, as one that is cut off would delete what it lacks. With --data it writes to a folder that no server uses, which is made.
      """)

  @Argument(help: "The file, or - for the standard input.", completion: .file())
  var file: Operand

  @Flag(help: "Delete the properties and timers that are not in the file.")
  var replace = false

  @Option(help: ArgumentHelp("Write to this folder, instead of a server.", valueName: "folder"), completion: .directory)
  var data: String?

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if data != nil, client.server != nil { throw ValidationError("--data and --server exclude each other") }
  }

  func run() async throws {
    let source = file.text == "-" ? "standard input" : file.text
    let bytes: [UInt8]
    do throws(SystemFailure) {
      bytes = try file.text == "-" ? Terminal.readAll() : Terminal.readFile(file.text)
    } catch {
      throw Failure(.system, "\(source): \(error)")
    }
    let export = try ExportedItems(bytes, source)
    if replace, let missing = export.missing {
      throw Failure(
        .damaged,
        "\(source) has no \(missing) of an export, so it may not be all of one, and --replace deletes what it lacks; "
          + "nothing has been changed")
    }
    guard let data else { return try write(export, source, client) }
    try await FolderServer.with(data, isReadOnly: false) { client throws(Failure) in try write(export, source, client) }
  }

  private func write(_ export: ExportedItems, _ source: String, _ client: ClientOptions) throws(Failure) {
    var importer = Importer(export.items, from: source, to: client)
    let deleted = try importer.run(replaces: replace)
    let counts = export.counts
    Terminal.print(
      "imported \(counts.properties.counted("property", "properties")), \(counts.timers.counted("timer", "timers")) and "
        + counts.signals.counted("kept message", "kept messages") + (replace ? "; deleted \(deleted)" : ""))
  }
}
