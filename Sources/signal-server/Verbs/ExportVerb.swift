// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server export`: prints everything that a server or a folder holds.
struct ExportVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export",
    abstract: "Print everything that a server, or a folder, holds, as a JSON object per line.",
    discussion: """
      Properties with their values and times to live, formulas of computed ones, timers and kept messages; not their \
      revisions, and not what was before. For people and other programs, and for import; an exact copy is what backup makes. \
      The last line says how many there are, so an output without it is not a whole export. With --data it reads a folder that no server uses.
      """)

  @Option(
    help: ArgumentHelp("Read this folder, instead of asking a server.", valueName: "folder"), completion: .directory)
  var data: String?

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if data != nil, client.server != nil { throw ValidationError("--data and --server exclude each other") }
  }

  func run() async throws {
    guard let data else { return try Self.export(client) }
    try await FolderServer.with(data, isReadOnly: true) { client throws(Failure) in try Self.export(client) }
  }

  private static func export(_ client: ClientOptions) throws(Failure) {
    try Exporter(client: client).run { lines throws(Failure) in
      do throws(SystemFailure) {
        try Terminal.send(lines.flatMap { $0 + [UInt8(ascii: "\n")] })
      } catch {
        // An export that is cut off must not look like one that is complete.
        throw Failure(.storage, "standard output: \(error)")
      }
    }
  }
}
