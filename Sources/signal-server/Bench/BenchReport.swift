// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// The results of `bench`.
struct BenchReport {
  let plan: BenchPlan
  /// How long it took, in seconds.
  let seconds: Double
  let counts: LoadCounts
  /// Processor time of the server, in seconds; nil when its process id was not given.
  let serverSeconds: Double?

  /// A value of a row, for people and for programs.
  private enum Value {
    case count(Int)
    case perSecond(Double)
    case microseconds(Double)
  }

  private var rows: [(key: String, title: String, value: Value)] {
    var rows: [(String, String, Value)] = []
    let hasDeliveries = plan.watchers > 0
    let request = plan.scenario == .connect ? "connections" : plan.requesters == 1 ? "updates" : "requests"
    rows.append(("\(request)PerSecond", request, .perSecond(Double(counts.answered) / seconds)))
    if hasDeliveries {
      rows.append(("deliveriesPerSecond", "deliveries", .perSecond(Double(counts.delivered) / seconds)))
    }
    rows.append(("failed", "failed", .count(counts.failed)))
    rows += Self.latencies(counts.answers, key: "answer", title: plan.scenario == .connect ? "until live" : "answer")
    if hasDeliveries { rows += Self.latencies(counts.deliveries, key: "delivery", title: "delivery") }
    if let serverSeconds {
      let (operations, name) =
        hasDeliveries && plan.scenario != .mixed ? (counts.delivered, "delivery") : (counts.answered, "request")
      let each = operations > 0 ? serverSeconds * 1e6 / Double(operations) : 0
      rows.append(("serverMicrosecondsPer\(name.capitalizedFirst)", "server CPU per \(name)", .microseconds(each)))
    }
    return rows
  }

  private static func latencies(
    _ histogram: LatencyHistogram, key: String, title: String
  ) -> [(String, String, Value)] {
    var rows: [(String, String, Value)] = [50, 90, 99, 99.9].map { percent in
      let name = percent == 99.9 ? "99.9" : "\(Int(percent))"
      return (
        "\(key)MicrosecondsP\(name.replacing(".", with: ""))", "\(title) p\(name)",
        .microseconds(Double(histogram.percentile(percent)) / 1000)
      )
    }
    rows.append(("\(key)MicrosecondsMax", "\(title) max", .microseconds(Double(histogram.longest) / 1000)))
    return rows
  }

  /// Lines for people.
  var table: [String] {
    let rows = rows.map { ($0.title, Self.text($0.value)) }
    let width = rows.map(\.0.count).max() ?? 0
    return rows.map { title, text in
      title + String(repeating: " ", count: width - title.count)
        + String(repeating: " ", count: max(1, 16 - text.count))
        + text
    }
  }

  private static func text(_ value: Value) -> String {
    switch value {
    case .count(let count): "\(count)"
    case .perSecond(let rate): "\(grouped(Int(rate.rounded())))/s"
    case .microseconds(let time) where time >= 10_000: "\((time / 100).rounded() / 10) ms"
    case .microseconds(let time): "\((time * 100).rounded() / 100) µs"
    }
  }

  private static func grouped(_ number: Int) -> String {
    number < 10_000 ? "\(number)" : grouped(number / 1000) + " \(String(number % 1000 + 1000).dropFirst())"
  }

  /// One JSON object.
  var json: [UInt8] {
    var text = Array(#"{"scenario":"\#(plan.scenario.rawValue)","seconds":"#.utf8)
    text.appendJSON(seconds)
    text += Array(
      #","connections":\#(plan.requesters),"subscribers":\#(plan.watchers),"window":\#(plan.window),"bytes":\#(plan.size)"#
        .utf8)
    for row in rows {
      text += Array(#","\#(row.key)":"#.utf8)
      switch row.value {
      case .count(let count): text.appendJSON(count)
      case .perSecond(let number), .microseconds(let number): text.appendJSON(number)
      }
    }
    text.append(UInt8(ascii: "}"))
    return text
  }
}

extension String {
  fileprivate var capitalizedFirst: String { prefix(1).uppercased() + dropFirst() }
}
