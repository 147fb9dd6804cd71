// SPDX-License-Identifier: MIT
import ArgumentParser

/// `signal-server top`: shows which properties change most.
struct TopVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "top",
    abstract: "Show the properties that change most, and how often.",
    discussion: """
      RATE is in changes per second of the last interval, MEAN of the last ten, TOTAL is since the start; first come the \
      changes of all together, and the bytes that tell of them. When there are more changes than can be told one by \
      one, the server leaves some out; they count for all together, not for their paths. On a terminal the table is \
      redrawn in place; elsewhere one table follows the other, or with --json an object for each row. Ctrl-C ends it, \
      with status 0.
      """)

  @Argument(help: "What to look at, for example 'sensors/**'; everything unless given.")
  var patterns: [Operand] = []

  @Flag(help: "Look at the messages of signals, not at properties.")
  var signals = false

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "Only what matches, for example 'value > 20'; with --signals 'message > 20'.", valueName: "expression"))
  var filter: String?

  @Option(help: ArgumentHelp("The time between two drawings, from 100ms to 1h.", valueName: "time"))
  var interval = "1s"

  @Option(help: ArgumentHelp("End after this many drawings.", valueName: "number"))
  var count: Int?

  @Option(help: ArgumentHelp("At most so many rows.", valueName: "number"))
  var limit: Int?

  @Flag(help: "Print each row as a JSON object, one per line.")
  var json = false

  @OptionGroup var client: ClientOptions

  private static let intervals = Duration.milliseconds(100)...Duration.seconds(3600)

  private var duration: Duration? { SettingText.duration(interval).flatMap { Self.intervals.contains($0) ? $0 : nil } }

  func validate() throws {
    if duration == nil { throw ValidationError("--interval takes a time from 100ms to 1h") }
    if let count, count < 1 { throw ValidationError("--count takes a number from 1") }
    if let limit, limit < 1 { throw ValidationError("--limit takes a number from 1") }
  }

  func run() throws {
    let url = try client.url()
    var command = SubscribeCommand(
      patterns: patterns.isEmpty ? ["**"] : patterns.map(\.text), filter: filter, initial: false)
    command.isForSignals = signals
    if !signals {
      command.oldValue = false
      command.fields = ["path", "value", "revision"]
    }
    ProcessSignals.makeSuccess()
    let options = TopView.Options(
      interval: duration ?? .seconds(1), count: count, rows: limit, isJSON: json, title: "signal-server top  \(url)")
    // Objects are for programs, also on a terminal.
    let canvas =
      json ? Canvas(isColoured: false, size: { nil }, write: Terminal.print(raw:)) : Canvas.standardOutput
    let view = TopView(options, on: canvas)
    var watcher = Watcher(command, output: .view(view), in: .process(url, showing: view, on: canvas))
    try watcher.run()
  }
}
