// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP
import SignalStore

/// `signal-server history`: draws or prints what a property was.
struct HistoryVerb: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history",
    abstract: "Draw what a property was, or print it.",
    discussion: """
      Each block of the drawing is the mean of a time (--step), and a blank one in which there was no number. With --json or \
      --csv it is printed: without --step the changes themselves. The server keeps what its setting data.history names.
      """)

  @Argument(help: "The property, for example kitchen/temperature.")
  var path: Operand

  @Option(help: ArgumentHelp("Begin so long ago, for example 24h, which it is unless given.", valueName: "time"))
  var last: Operand?

  @Option(help: ArgumentHelp("Begin at this time, such as 2026-01-02T07:00:00Z, or -24h.", valueName: "time"))
  var from: Operand?

  @Option(help: ArgumentHelp("End at this time; now unless given.", valueName: "time"))
  var to: Operand?

  @Option(
    help: ArgumentHelp(
      "What one block stands for, for example 15m; for a drawing about the 96th part of all unless given.",
      valueName: "time"))
  var step: Operand?

  @Option(help: ArgumentHelp("See a part of each value, for example /level.", valueName: "JSON pointer"))
  var pointer: String?

  @Flag(help: "Print JSON objects, one per line.")
  var json = false

  @Flag(help: "Print CSV.")
  var csv = false

  @Flag(help: "Go on with what changes from then on, as watch does.")
  var follow = false

  @OptionGroup var client: ClientOptions

  /// What a block can stand for when that is not said: the shortest of which a drawing has at most 96, as of a day.
  private static let usualSteps: KeyValuePairs = [
    "1s": 1, "2s": 2, "5s": 5, "10s": 10, "15s": 15, "30s": 30, "1m": 60, "2m": 120, "5m": 300, "10m": 600, "15m": 900,
    "30m": 1800, "1h": 3600, "2h": 7200, "3h": 10_800, "6h": 21_600, "12h": 43_200, "1d": 86_400, "7d": 604_800,
    "30d": 2_592_000, "366d": 31_622_400,
  ]

  func validate() throws {
    if last != nil, from != nil { throw ValidationError("--last and --from exclude each other") }
    for (name, text) in [("--last", last?.text), ("--step", step?.text)] {
      if let text, WireDuration.parse(text) == nil {
        throw ValidationError("\(name) takes a length of time such as 90s, 15m, 24h or 7d: '\(text.printable)' is none")
      }
    }
    if json, csv { throw ValidationError("--json and --csv exclude each other") }
    if csv, follow { throw ValidationError("--follow goes with --json, or with neither --json nor --csv") }
    if follow, to != nil { throw ValidationError("--follow goes on from now, so there is no --to") }
  }

  /// Where the drawing begins.
  private var begin: String { from?.text ?? "-\(last?.text ?? "24h")" }

  /// What a block stands for; nil when the changes themselves are printed.
  private var drawnStep: String? {
    if let step { return step.text }
    if json || csv { return nil }
    // What is no time is refused by the server.
    guard let begin = Self.secondsAgo(begin), let end = Self.secondsAgo(to?.text ?? "-0s") else { return "15m" }
    return Self.usualSteps.first { _, seconds in begin - end <= 96 * seconds }?.key ?? "366d"
  }

  /// How long ago a time is, such as `-24h`, in seconds.
  private static func secondsAgo(_ text: String) -> Int64? {
    if text.first == "-" { return WireDuration.parse(String(text.dropFirst()))?.components.seconds }
    return Timestamp(text).map { (Timestamp.now.milliseconds - $0.milliseconds) / 1000 }
  }

  func run() throws {
    var query = [(name: "from", value: begin), (name: "limit", value: "10000")]
    if let to { query.append((name: "to", value: to.text)) }
    if let drawnStep { query.append((name: "step", value: drawnStep)) }
    if let pointer { query.append((name: "pointer", value: pointer)) }
    var drawing = Sparkline()
    var isFirst = true
    let through = try pages(of: query) { page throws(Failure) in
      if json {
        Terminal.print(lines: page.split(separator: UInt8(ascii: "\n")).map { Array($0) })
      } else if csv {
        // The names of the columns stand once.
        let lines = page.split(separator: UInt8(ascii: "\n")).dropFirst(isFirst ? 0 : 1)
        Terminal.print(lines: lines.map { Array($0.last == UInt8(ascii: "\r") ? $0.dropLast() : $0) })
      } else {
        for line in page.split(separator: UInt8(ascii: "\n")) { try drawing.add(Array(line)) }
      }
      isFirst = false
    }
    if !json, !csv { for line in drawing.lines { Terminal.print(line) } }
    if follow { try watch(since: through) }
  }

  /// Asks for page after page.
  ///
  /// - Returns: The cursor up to which the last one goes.
  private func pages(
    of query: [(name: String, value: String)], _ body: ([UInt8]) throws(Failure) -> Void
  ) throws(Failure) -> String? {
    var query = query
    while true {
      let response = try client.request(
        "GET", PropertyTarget.make(path.text, query, in: "/history/"), about: path.text,
        fields: [("Accept", csv ? "text/csv" : "application/x-ndjson")])
      try body(response.body)
      guard let next = response.value("Signal-Next") else { return response.value("Signal-Revision") }
      query[0].value = Array(next.utf8).withView { try? PercentEncoding.string($0) } ?? next
    }
  }

  private func watch(since cursor: String?) throws {
    var command = SubscribeCommand(patterns: [path.text], initial: false, since: cursor)
    command.pointer = pointer
    ProcessSignals.makeSuccess()
    let style = WatchPrinter.Style(time: { LocalTime.text(of: $0) }, isColoured: Terminal.isColoured)
    var watcher = Watcher(
      command, output: json ? .events : .lines(style, tellsAll: Terminal.isOutput), in: .process(try client.url()))
    try watcher.run()
  }
}
