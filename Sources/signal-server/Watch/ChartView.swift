// SPDX-License-Identifier: MIT
import JSON

/// The drawing of `watch --chart`: for each path a block for each of its last values that are numbers, and its value.
///
///     kitchen/light         ▁█▁█  0      min 0.0  max 1.0
///     kitchen/temperature  ▁▂▅▇█  22.5   min 20.0  max 22.5
///
/// Where the cursor cannot be moved, the line of a path is printed with each of its changes.
final class ChartView: WatchView {
  /// The blocks of a path: its last values.
  static let blocks = 40
  /// The paths that are drawn; others are counted.
  static let mostPaths = 1000
  /// How long changes wait to be drawn together.
  static let interval = Duration.milliseconds(100)
  private static let widestPath = 48
  private static let widestValue = 24

  private struct Series {
    let path: String
    var numbers: [Double?] = []
    var value = ""

    mutating func add(_ number: Double?) {
      if numbers.count == ChartView.blocks { numbers.removeFirst() }
      numbers.append(number)
    }
  }

  private var canvas: Canvas
  /// By the bytes of the paths, in whose order they are drawn.
  private var series: [[UInt8]: Series] = [:]
  private var others: Set<[UInt8]> = []
  /// Beyond this many, the others are no longer told apart.
  private static let mostOthers = 100_000
  private var status: String?
  private var drawn: ContinuousClock.Instant?
  private var isStale = false

  init(on canvas: Canvas) { self.canvas = canvas }

  var isComplete: Bool { true }

  func take(_ line: WatchFold.Line) {
    let (path, value, text): (String, JSONText?, String) =
      switch line {
      case .present(let path, let value), .signal(let path, let value): (path, value, value.description)
      case .set(let path, _, let value, _): (path, value, value.description)
      case .deleted(let path, _): (path, nil, "(deleted)")
      case .expired(let path, _): (path, nil, "(expired)")
      case .left(let path, _, let value): (path, nil, value.map { "\($0) (left)" } ?? "(left)")
      }
    let key = Array(path.utf8)
    guard series[key] != nil || series.count < Self.mostPaths else {
      if others.count < Self.mostOthers { others.insert(key) }
      isStale = true
      return
    }
    let number = value.flatMap { JSONTree($0).double(.root) }.flatMap { $0.isFinite ? $0 : nil }
    series[key, default: Series(path: path)].add(number)
    series[key]?.value = text
    if canvas.size() == nil, let series = series[key] {
      canvas.draw([row(of: series, pathWidth: series.path.printable.columns, blocks: Self.blocks)])
    } else {
      isStale = true
    }
  }

  func receive(bytes: Int) {}

  func leaveOut(_ count: UInt64) {}

  func say(_ text: String?) {
    status = text
    isStale = true
    // The connection is about to be waited for, and nothing is drawn meanwhile.
    if text != nil { drawNow() }
  }

  func draw(at now: ContinuousClock.Instant) -> Duration? {
    if let drawn, drawn.duration(to: now) < Self.interval { return Self.interval - drawn.duration(to: now) }
    drawn = now
    if isStale { drawNow() }
    return Self.interval
  }

  /// Draws what has not been drawn yet.
  func drawNow() {
    guard let size = canvas.size() else { return }
    isStale = false
    let room = max(size.rows - 3, 1)
    let rows = series.sorted { $0.key.lexicographicallyPrecedes($1.key) }.prefix(room).map(\.value)
    let pathWidth = min(rows.map { $0.path.printable.columns }.max() ?? 0, Self.widestPath)
    let blocks = min(Self.blocks, max(size.columns / 3, 8))
    var lines = rows.map { row(of: $0, pathWidth: pathWidth, blocks: blocks) }
    let hidden = series.count + others.count - rows.count
    if hidden > 0 { lines.append(CanvasLine("and \(hidden.counted("other path", "other paths"))", .dim)) }
    if let status { lines.append(CanvasLine(status.printable, .yellow)) }
    canvas.draw(lines)
  }

  private func row(of series: Series, pathWidth: Int, blocks: Int) -> CanvasLine {
    var line = CanvasLine(series.path.printable.padded(toColumns: pathWidth), .cyan)
    let numbers = series.numbers.suffix(blocks)
    let present = numbers.compactMap(\.self)
    // Nothing but blanks has no place of its own.
    let drawing = present.isEmpty ? "" : Sparkline.blocks(for: numbers)
    line.add("  " + (canvas.size() == nil ? drawing : drawing.padded(toColumns: blocks, atStart: true)), .green)
    line.add("  ")
    line.add(series.value.printable.cut(toColumns: Self.widestValue), .bold)
    if let least = present.min(), let greatest = present.max(), least < greatest {
      line.add("  min \(least)  max \(greatest)", .dim)
    }
    return line
  }
}
