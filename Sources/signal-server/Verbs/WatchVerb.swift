// SPDX-License-Identifier: MIT
import ArgumentParser
import Synchronization

/// `signal-server watch`: prints what changes, as it changes.
struct WatchVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "watch",
    abstract: "Print properties, and what changes, as it changes.",
    discussion: """
      A pattern is a path in which * stands for one segment and ** for any number. The connection is made anew when it \
      breaks, and nothing is missed. Ctrl-C ends it, with status 0. On a terminal it shows when things happened, in \
      colours unless NO_COLOR is set, and at the end the cursor that --since goes on from.

      With --chart each path has one line with its last numbers as blocks, redrawn in place on a terminal; elsewhere the \
      line is printed with each change. --pointer picks a number out of values that are objects.
      """)

  @Argument(help: "What to watch, for example 'kitchen/**'.")
  var patterns: [Operand]

  @Flag(help: "Watch signals, not properties: every message that is sent, and first those that are kept.")
  var signals = false

  @Option(
    name: .customLong("where"),
    help: ArgumentHelp(
      "Only what matches, for example 'value > 20'; with --signals 'message > 20'.", valueName: "expression"))
  var filter: Operand?

  @Flag(
    help: "Print each event as JSON, one per line: as it came, and with the cursor that --since goes on from, if any.")
  var json = false

  @Flag(help: "Draw the last numbers of each path as blocks.")
  var chart = false

  @Flag(inversion: .prefixedNo, help: "Show when each event happened, also where that is not a terminal, or not.")
  var time: Bool?

  @Option(help: ArgumentHelp("End after this many events.", valueName: "number"))
  var count: Int?

  @Flag(inversion: .prefixedNo, help: "Begin with the present values.")
  var initial = true

  @Option(help: ArgumentHelp("Begin with what changed after this cursor.", valueName: "cursor"))
  var since: String?

  @Flag(inversion: .prefixedNo, help: "Tell when a property no longer matches.")
  var exit = true

  @Flag(inversion: .prefixedNo, help: "Show the value before each change.")
  var oldValue = true

  @Option(
    help: ArgumentHelp(
      "When this is slower than the changes: auto, the newest of each path then; all; or always latest.",
      valueName: "mode"))
  var mode: String?

  @Option(help: ArgumentHelp("At most so many events a second of each path.", valueName: "number"))
  var maxRate: Double?

  @Option(help: ArgumentHelp("Hide smaller changes of numbers, for example 0.5 or 2%.", valueName: "number"))
  var deadband: String?

  @Option(help: ArgumentHelp("See a part of each value, for example /level.", valueName: "JSON pointer"))
  var pointer: String?

  @OptionGroup var client: ClientOptions

  func validate() throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1") }
    if let maxRate, !(maxRate > 0 && maxRate.isFinite) { throw ValidationError("--max-rate takes a number above 0") }
    if chart, json || time != nil { throw ValidationError("--chart excludes --json and --time") }
    if signals, since != nil || !exit || !oldValue {
      throw ValidationError("--signals goes with --where, --json, --count, --chart and --no-initial only")
    }
  }

  func run() throws {
    let url = try client.url()
    var command = SubscribeCommand(
      patterns: patterns.map(\.text), filter: filter?.text, initial: initial, oldValue: oldValue, since: since)
    if !exit { command.exit = false }
    command.mode = mode
    command.maxRate = maxRate
    command.deadband = deadband
    command.pointer = pointer
    command.isForSignals = signals
    if chart { return try draw(command, of: url) }
    let isSeen = Terminal.isOutput && !json
    let last = LastCursor()
    let tellEnd: @Sendable () -> Void = {
      if isSeen, let cursor = last.cursor { Terminal.complain("to go on from here: --since \(cursor)") }
    }
    let sources = ProcessSignals.makeSuccess(telling: tellEnd)
    var surroundings = Watcher.Surroundings.process(url)
    surroundings.note = { last.cursor = $0 }
    var style = WatchPrinter.Style(isColoured: Terminal.isColoured)
    if time ?? Terminal.isOutput { style.time = { LocalTime.text(of: $0) } }
    let output: Watcher.Output = json ? .events : .lines(style, tellsAll: Terminal.isOutput)
    var watcher = Watcher(command, output: output, count: count, in: surroundings)
    try watcher.run()
    tellEnd()
    withExtendedLifetime(sources) {}
  }

  private func draw(_ command: SubscribeCommand, of url: ServerURL) throws {
    ProcessSignals.makeSuccess()
    let canvas = Canvas.standardOutput
    let view = ChartView(on: canvas)
    var watcher = Watcher(command, output: .view(view), count: count, in: .process(url, showing: view, on: canvas))
    try watcher.run()
    view.drawNow()
  }
}

/// The last cursor, to print when the process ends.
private final class LastCursor: Sendable {
  private let state = Mutex<String?>(nil)

  var cursor: String? {
    get { state.withLock { $0 } }
    set { state.withLock { $0 = newValue } }
  }
}
