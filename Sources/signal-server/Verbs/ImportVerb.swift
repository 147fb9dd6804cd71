// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server import`: writes what was exported to a server or a folder.
struct ImportVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import",
    abstract: "Write what was exported to a server, or to a folder.",
    discussion: """
      All lines are read before anything is written. It is written in transactions of some hundred properties: watchers see \
      each as a whole, and one that is refused ends the import, with those before it done. With --replace properties and \
      timers that are not in the file are deleted. With --data it writes to a folder that no server uses, which is made.
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
    let items = try Importer.items(of: bytes, source)
    guard let data else { return try write(items, source, client) }
    try await FolderServer.with(data, isReadOnly: false) { client throws(Failure) in try write(items, source, client) }
  }

  private func write(_ items: Importer.Items, _ source: String, _ client: ClientOptions) throws(Failure) {
    let tally = try Importer(client: client, source: source).run(items, replaces: replace)
    Terminal.print(
      "imported \(tally.properties.counted("property", "properties")), \(tally.timers.counted("timer", "timers")) and "
        + tally.signals.counted("kept message", "kept messages")
        + (replace ? "; deleted \(tally.deleted)" : ""))
  }
}
