// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server completion`: prints what a shell reads to complete the command line.
struct CompletionVerb: ParsableCommand {
  enum Shell: String, CaseIterable, ExpressibleByArgument {
    case bash, zsh, fish

    fileprivate var shell: CompletionShell {
      switch self {
      case .bash: .bash
      case .zsh: .zsh
      case .fish: .fish
      }
    }
  }

  static let configuration = CommandConfiguration(
    commandName: "completion",
    abstract: "Print a script that completes verbs and options in a shell.",
    discussion: """
      bash: source <(signal-server completion bash)
      zsh:  signal-server completion zsh > "${fpath[1]}/_signal-server"
      fish: signal-server completion fish > ~/.config/fish/completions/signal-server.fish
      """)

  @Argument(help: "bash, zsh or fish.")
  var shell: Shell

  func run() throws { Terminal.print(SignalServer.completionScript(for: shell.shell)) }
}
