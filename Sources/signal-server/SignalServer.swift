// SPDX-License-Identifier: MIT
import ArgumentParser
import FoundationEssentials
import SignalHTTP

/// The command line: `serve` and the client verbs.
@main
struct SignalServer: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "signal-server",
    abstract: "A live-state server: JSON values addressed by path, set over HTTP, pushed to everyone who watches.",
    discussion: """
      Exit status: 0 done, 1 the server refused, 64 wrong command line, 65 damaged files, 69 no server answers, 71 the \
      system refuses (the port is taken, the folder is in use), 74 the disk has failed, 75 the time of a wait is up, 78 wrong setting.
      """,
    version: Server.version,
    subcommands: [
      ServeVerb.self, ListVerb.self, GetVerb.self, SetVerb.self, PatchVerb.self, DeleteVerb.self,
      TransactionVerb.self, WatchVerb.self, TopVerb.self, HistoryVerb.self, WaitVerb.self, SendVerb.self,
      TimerVerb.self,
      ExplainVerb.self, BackupVerb.self, RestoreVerb.self, CheckVerb.self, ExportVerb.self, ImportVerb.self,
      CertificateVerb.self, TokenVerb.self, AccessVerb.self, BenchVerb.self, HealthVerb.self, ClusterVerb.self,
      CompletionVerb.self,
    ],
    defaultSubcommand: ServeVerb.self)

  /// The words that can stand first: each verb, its aliases, and `help`.
  static let verbs =
    configuration.subcommands.flatMap { verb in
      [verb.configuration.commandName].compactMap(\.self) + verb.configuration.aliases
    } + ["help"]

  /// Ends the process with a status of ``ExitStatus`` whatever happens: an error that leaves `main` prints a trace.
  static func main() async {
    // Swift reads them there. Without any a server would start, by none of the settings that were given.
    guard !CommandLine.arguments.isEmpty else {
      Terminal.complain("the arguments cannot be read: /proc is not mounted")
      ExitStatus.system.end()
    }
    await run(Array(CommandLine.arguments.dropFirst())).end()
  }

  private static func run(_ arguments: [String]) async -> ExitStatus {
    do {
      var command = try parseAsRoot(Operand.marked(arguments))
      if var command = command as? any AsyncParsableCommand {
        try await command.run()
      } else {
        try command.run()
      }
      return .success
    } catch let failure as Failure {
      // What has led to it comes first.
      LogWriter.standard.flush()
      Terminal.complain(failure.message)
      return failure.status
    } catch {
      // What remains is the parser's own: help and the version end well, anything else is a wrong command line.
      if exitCode(for: error).isSuccess {
        Terminal.print(fullMessage(for: error))
        return .success
      }
      Terminal.complain(Operand(argument: message(for: error)).text)
      return .usage
    }
  }
}

/// What the verbs know of the process around them.
enum ProcessEnvironment {
  /// The environment variables.
  static var variables: [String: String] { ProcessInfo.processInfo.environment }

  /// The folder for temporary files.
  static var temporaryFolder: String { variables["TMPDIR"].flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp" }
}
