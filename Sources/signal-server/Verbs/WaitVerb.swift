// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP

/// `signal-server wait`: waits until a property changes, or until a condition holds for it.
struct WaitVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "wait",
    abstract: "Wait until a property changes, or until a condition holds for it, and print its value.",
    discussion: """
      Without --until and --since, the next change is waited for. Nothing is printed for a property that is gone. Exit \
      status 75 when the time is up.
      """)

  @Argument(help: "The property, for example kitchen/temperature.")
  var path: Operand

  @Option(help: ArgumentHelp("Wait until this holds, for example 'value > 20'.", valueName: "expression"))
  var until: Operand?

  @Option(help: ArgumentHelp("Wait for a change after this cursor.", valueName: "cursor"))
  var since: String?

  @Option(help: ArgumentHelp("Give up after this time, such as 90s or 2h; without it, never.", valueName: "time"))
  var timeout: String?

  @OptionGroup var client: ClientOptions

  /// The longest wait of one request, short enough for servers and proxies in between.
  private static let share = Duration.seconds(20)

  func run() throws {
    var limit: Duration?
    if let timeout {
      guard let duration = SettingText.duration(timeout) else {
        throw Failure(.usage, "--timeout: '\(timeout.printable)' is not a length of time such as 500ms, 90s, 5m or 2h")
      }
      limit = duration
    }
    let end = limit.map { ContinuousClock.now + $0 }
    var cursor = since
    if cursor == nil, until == nil {
      // Start from the current value, or its absence.
      let response = try client.exchange("HEAD", PropertyTarget.make(path.text))
      guard response.status == 200 || response.status == 404 else {
        throw Failure(.refused, response.refusal(about: path.text))
      }
      cursor = response.value("Signal-Revision")
    }
    while true {
      let left = end.map { max(ContinuousClock.now.duration(to: $0), .zero) } ?? Self.share
      let share = min(left, Self.share)
      var query: [(name: String, value: String)] = []
      if let cursor { query.append((name: "since", value: cursor)) }
      if let until { query.append((name: "until", value: until.text)) }
      query.append((name: "wait", value: SettingText.text(duration: share)))
      let response = try client.exchange(
        "GET", PropertyTarget.make(path.text, query), patience: share + .seconds(10))
      switch response.status {
      case 200: return Terminal.print(bytes: response.body)
      case 404: return
      case 304 where end.map { ContinuousClock.now < $0 } ?? true: continue
      case 304: throw Failure(.timedOut, "the time is up")
      default: throw Failure(.refused, response.refusal(about: path.text))
      }
    }
  }
}
