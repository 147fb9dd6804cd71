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

  func run() throws { Terminal.print(script) }

  /// What the parser makes, with the flags of the settings: those come from their table, and it does not know them.
  ///
  /// They are written beside `--config` of `serve`, which is the first verb.
  private var script: String {
    var script = SignalServer.completionScript(for: shell.shell)
    let names = Settings.table.map { String($0.flag.dropFirst(2)) }
    switch shell {
    case .bash:
      script.insert(names.map { " --\($0)" }.joined(), behind: "non_repeating_options=(--config")
    case .zsh:
      script.insert(names.map { "'--\($0):value:'\n        " }.joined(), before: "'--config[")
    case .fish:
      script.insert(names.map { " '\($0)='" }.joined(), behind: "-r 1 'config='")
      let condition = "__signal-server_should_offer_completions_for_flags_or_options \"signal-server serve\""
      let lines = names.map { "complete -c 'signal-server' -n '\(condition) \($0)' -l '\($0)' -rfka ''\n" }
      script.insert(lines.joined(), before: "complete -c 'signal-server' -n '\(condition) config'")
    }
    return script
  }
}

extension String {
  /// Inserts a text behind the first occurrence of another one.
  fileprivate mutating func insert(_ text: String, behind place: String) {
    if let range = firstRange(of: place) { insert(contentsOf: text, at: range.upperBound) }
  }

  /// Inserts a text before the first occurrence of another one.
  fileprivate mutating func insert(_ text: String, before place: String) {
    if let range = firstRange(of: place) { insert(contentsOf: text, at: range.lowerBound) }
  }
}
