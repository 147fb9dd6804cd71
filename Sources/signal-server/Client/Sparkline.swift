// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// Means drawn as block characters, with a summary.
struct Sparkline {
  /// Maximum number of blocks in a line; more go on in the next.
  private static let width = 96
  private static let blocks = Array("▁▂▃▄▅▆▇█")
  private static let blank: Character = " "

  private var means: [(time: Int64, mean: Double?)] = []
  private var least: Double?
  private var greatest: Double?
  private var count: UInt64 = 0
  private var last: JSONText?

  /// Adds a row of the server's response (`docs/protocol.md` §2.11).
  mutating func add(_ line: [UInt8]) throws(Failure) {
    guard let text = try? JSONText(validating: line, limits: ServerMessage.limits) else {
      throw Failure(.refused, "the server's history is not JSON")
    }
    let row = Members(text)
    guard let time = row.string("time").flatMap({ Timestamp($0) }), let changes = row.number("count") else {
      throw Failure(.refused, "the server's history has a row without a time or a count")
    }
    means.append((time.milliseconds, row.double("avg")))
    if let number = row.double("min") { least = min(least ?? number, number) }
    if let number = row.double("max") { greatest = max(greatest ?? number, number) }
    count.addSaturating(changes)
    last = row.isNull("last") ? nil : row.text("last")
  }

  /// The drawing, line by line, followed by minimum, maximum and last value; or a line that says that there is nothing.
  var lines: [String] {
    guard !means.isEmpty else { return ["nothing is known of that time"] }
    let texts = last.map { "last \($0.description.printable)" }
    guard let least, let greatest else {
      return ["no numbers: \(count) changes" + (texts.map { ", \($0)" } ?? "")]
    }
    return drawing + ["min \(least)  max \(greatest)" + (texts.map { "  \($0)" } ?? "")]
  }

  private var drawing: [String] {
    let present = means.compactMap(\.mean)
    guard let low = present.min(), let high = present.max() else { return [] }
    // The shortest distance is the step, as empty rows are left out.
    let step = zip(means, means.dropFirst()).map { $1.time - $0.time }.filter { $0 > 0 }.min() ?? 1
    var cells: [Character] = []
    var time = means[0].time
    for (next, mean) in means {
      // Long gaps are shown as a few blanks.
      let blanks = max(0, (next - time) / step)
      cells += Array(repeating: " ", count: Int(min(blanks, Int64(Self.width))))
      cells.append(mean.map { Self.block($0, low, high) } ?? Self.blank)
      time = next + step
    }
    return stride(from: 0, to: cells.count, by: Self.width).map { start in
      String(cells[start..<min(start + Self.width, cells.count)])
    }
  }

  /// A block for each number, between the least and the greatest of them, and a blank one where there is none.
  static func blocks(for numbers: some Collection<Double?>) -> String {
    let present = numbers.compactMap(\.self)
    guard let low = present.min(), let high = present.max() else {
      return String(repeating: blank, count: numbers.count)
    }
    return String(numbers.map { number in number.map { block($0, low, high) } ?? blank })
  }

  private static func block(_ mean: Double, _ low: Double, _ high: Double) -> Character {
    // Halved, so that the difference is finite; that of the least numbers may be none.
    let span = high / 2 - low / 2
    let share = span > 0 && span.isFinite ? (mean / 2 - low / 2) / span : 0.5
    return blocks[min(blocks.count - 1, Int(share * Double(blocks.count)))]
  }
}

extension Members {
  fileprivate func double(_ name: String) -> Double? { tree.member(name, of: node).flatMap { tree.double($0) } }
}
