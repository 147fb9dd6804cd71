// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The table of `top`: the rates of everything, and the paths that change most.
final class TopView: WatchView {
  /// What it shows, and how often.
  struct Options: Sendable {
    var interval = Duration.seconds(1)
    /// Ends after so many drawings; nil for no end.
    var count: Int?
    /// The rows at most; nil for as many as fit on the terminal, or ``usualRows`` elsewhere.
    var rows: Int?
    /// Whether each row is a JSON object on a line of its own.
    var isJSON = false
    /// What is looked at, for the first line.
    var title = "signal-server top"
  }

  /// The rows where there is no terminal.
  static let usualRows = 20
  /// The first three lines.
  private static let headLines = 3
  private static let widestPath = 60

  private let options: Options
  private var canvas: Canvas
  private let time: () -> Timestamp
  private var table = RateTable()
  private var leftOut: UInt64 = 0
  private var status: String?
  private var begin: ContinuousClock.Instant?
  private var drawings = 0

  init(_ options: Options, on canvas: Canvas, time: @escaping () -> Timestamp = { .now }) {
    self.options = options
    self.canvas = canvas
    self.time = time
  }

  /// What has happened is of no interest here, only what happens.
  var isComplete: Bool { false }

  func take(_ line: WatchFold.Line) {
    switch line {
    // The present state comes again when a server begins anew; nothing has changed by that.
    case .present: break
    case .set(let path, _, let value, _): table.count(path, value: value)
    case .signal(let path, let message): table.count(path, value: message)
    case .left(let path, _, let value): table.count(path, value: value)
    case .deleted(let path, _), .expired(let path, _): table.count(path, value: nil)
    }
  }

  func receive(bytes: Int) { table.count(bytes: bytes) }

  func leaveOut(_ count: UInt64) {
    leftOut.addSaturating(count)
    table.count(unknown: count)
  }

  func say(_ text: String?) {
    status = text
    // The connection is about to be waited for, and nothing is drawn meanwhile.
    if text != nil, canvas.size() != nil { canvas.draw(lines) }
  }

  func draw(at now: ContinuousClock.Instant) -> Duration? {
    guard let start = begin else {
      begin = now
      return options.interval
    }
    let elapsed = start.duration(to: now)
    guard elapsed >= options.interval else { return options.interval - elapsed }
    begin = now
    table.close(after: elapsed)
    canvas.draw(options.isJSON ? objects : lines)
    drawings += 1
    return drawings == options.count ? nil : options.interval
  }

  // MARK: Lines

  private var rows: [RateTable.Row] {
    let room = canvas.size().map { max($0.rows - 1 - Self.headLines, 1) } ?? Self.usualRows
    return table.busiest(options.rows ?? room)
  }

  private var lines: [CanvasLine] {
    let rows = rows
    let changes = table.changes
    var title = CanvasLine(options.title, .bold)
    title.add("  " + LocalTime.text(of: "\(time())"))
    if let status { title.add("  " + status.printable, .yellow) }
    let paths = table.hasForgotten ? "more than \(RateTable.mostPaths)" : "\(table.paths)"
    let summary = [
      "\(Self.decimal(changes.rate)) changes/s", "mean \(Self.decimal(changes.mean))",
      "\(Self.size(table.bytes))/s", "\(paths) paths", "\(leftOut) left out",
    ]
    let texts = rows.map { row in
      [Self.decimal(row.rate), Self.decimal(row.mean), "\(row.total)", row.path.printable, Self.text(of: row.value)]
    }
    let heads = ["RATE", "MEAN", "TOTAL", "PATH", "VALUE"]
    let widths = heads.indices.map { column in
      min(([heads] + texts).map { $0[column].columns }.max() ?? 0, Self.widestPath)
    }
    func line(_ row: [String]) -> String {
      let numbers = (0..<3).map { row[$0].padded(toColumns: widths[$0], atStart: true) }
      return (numbers + [row[3].padded(toColumns: widths[3]), row[4]]).joined(separator: "  ")
    }
    var all = [title, CanvasLine(summary.joined(separator: "  ")), CanvasLine(line(heads), .reversed)]
    all += texts.map { CanvasLine(line($0)) }
    // Elsewhere the drawings stand below each other.
    return canvas.size() == nil ? all + [CanvasLine()] : all
  }

  private var objects: [CanvasLine] {
    rows.map { row in
      var text = Array(#"{"time":"\#(time())","path":"#.utf8)
      text.appendJSON(row.path)
      let numbers = #","rate":\#(Self.decimal(row.rate)),"mean":\#(Self.decimal(row.mean)),"total":\#(row.total)"#
      text += Array(numbers.utf8)
      if let value = row.value { text += Array(#","value":"#.utf8) + value.bytes }
      return CanvasLine(String(decoding: text, as: UTF8.self) + "}")
    }
  }

  private static func text(of value: JSONText?) -> String { value?.description.printable ?? "(gone)" }

  /// Bytes in the unit in which they are less than 1024.
  static func size(_ bytes: Double) -> String {
    var (number, unit) = (bytes, "B")
    for next in ["KiB", "MiB", "GiB"] where number >= 1024 { (number, unit) = (number / 1024, next) }
    return "\(decimal(number)) \(unit)"
  }

  /// A number with one digit behind the point.
  static func decimal(_ number: Double) -> String {
    // What a server says may be as large as it likes.
    let tenths = Int(exactly: (number * 10).rounded()) ?? .max
    return "\(tenths / 10).\(tenths % 10)"
  }
}
