// SPDX-License-Identifier: MIT
import SignalStore

/// Writes metrics in the text format of Prometheus (version 0.0.4), or in that of OpenMetrics 1.0.
struct MetricsText {
  /// How a metric behaves.
  enum Kind: String {
    /// It only grows, and its name ends in `_total`.
    case counter
    case gauge
    case histogram
    /// A sum and how many there were.
    case summary
    /// Always 1, with what there is to say in the labels; its name ends in `_info`.
    case info
  }

  typealias Labels = KeyValuePairs<StaticString, String>

  private(set) var bytes: [UInt8] = []
  private let isOpenMetrics: Bool
  private var name: StaticString = ""

  /// - Parameter isOpenMetrics: Whether it is OpenMetrics.
  init(isOpenMetrics: Bool) { self.isOpenMetrics = isOpenMetrics }

  /// The media type of what is written.
  static func mediaType(isOpenMetrics: Bool) -> StaticString {
    isOpenMetrics
      ? "application/openmetrics-text; version=1.0.0; charset=utf-8" : "text/plain; version=0.0.4; charset=utf-8"
  }

  /// Begins a metric, whose samples follow.
  mutating func begin(_ name: StaticString, _ kind: Kind, _ help: StaticString) {
    self.name = name
    // OpenMetrics names the family, whose samples have the suffix.
    let suffix =
      switch kind {
      case .counter: "_total"
      case .info: "_info"
      case .gauge, .histogram, .summary: ""
      }
    let family = isOpenMetrics ? String("\(name)".dropLast(suffix.utf8.count)) : "\(name)"
    let type = kind == .info && !isOpenMetrics ? .gauge : kind
    bytes += "# HELP \(family) \(help)\n# TYPE \(family) \(type.rawValue)\n".utf8
    guard isOpenMetrics else { return }
    for unit in ["seconds", "bytes"] where family.hasSuffix("_\(unit)") { bytes += "# UNIT \(family) \(unit)\n".utf8 }
  }

  /// A sample of the metric that was begun last.
  mutating func sample(_ value: Int, _ labels: Labels = [:]) {
    begin(labels)
    append(value)
  }

  /// A sample in seconds.
  mutating func sample(nanoseconds: Int, _ labels: Labels = [:]) {
    begin(labels)
    append(nanoseconds: nanoseconds)
  }

  /// A sample in seconds that may be negative.
  mutating func sample(milliseconds: Int64) {
    begin([:])
    if milliseconds < 0 { bytes.append("-") }
    append(nanoseconds: Int(min(milliseconds.magnitude, 1 << 40)) * 1_000_000)
  }

  /// A metric with one sample.
  mutating func write(_ name: StaticString, _ kind: Kind, _ help: StaticString, _ value: Int) {
    begin(name, kind, help)
    sample(value)
  }

  /// The samples of a histogram.
  mutating func sample(_ durations: DurationCounts, _ labels: Labels = [:]) {
    var count = 0
    for (index, number) in durations.buckets.enumerated() {
      count += number
      begin(labels, suffix: "_bucket", bound: .some(DurationBuckets.bound(of: index)))
      append(count)
    }
    begin(labels, suffix: "_sum")
    append(nanoseconds: durations.nanoseconds)
    begin(labels, suffix: "_count")
    append(count)
  }

  /// The samples of a summary.
  mutating func sample(sum: Int, count: Int) {
    begin([:], suffix: "_sum")
    append(sum)
    begin([:], suffix: "_count")
    append(count)
  }

  /// Ends the text.
  mutating func end() { if isOpenMetrics { bytes.append("# EOF\n") } }

  /// Writes name and labels of a sample.
  ///
  /// - Parameter bound: The bound of a bucket in microseconds, or nil in it for none; nil when it is no bucket.
  private mutating func begin(_ labels: Labels, suffix: StaticString = "", bound: UInt64?? = nil) {
    bytes.append(name)
    bytes.append(suffix)
    var separator: StaticString = "{"
    for (name, value) in labels {
      bytes.append(separator)
      separator = ","
      bytes.append(name)
      bytes.append("=\"")
      append(escaping: value)
      bytes.append("\"")
    }
    if let bound {
      bytes.append(separator)
      separator = ","
      bytes.append("le=\"")
      if let bound { append(seconds: Int(bound) * 1000) } else { bytes.append("+Inf") }
      bytes.append("\"")
    }
    if labels.isEmpty, bound == nil { bytes.append(" ") } else { bytes.append("} ") }
  }

  private mutating func append(escaping value: String) {
    for byte in value.utf8 {
      switch byte {
      case UInt8(ascii: "\\"): bytes.append("\\\\")
      case UInt8(ascii: "\""): bytes.append("\\\"")
      case UInt8(ascii: "\n"): bytes.append("\\n")
      default: bytes.append(byte)
      }
    }
  }

  /// Numbers that go down are read while others count, and may be seen below zero for a moment.
  private mutating func append(_ value: Int) {
    bytes.append(decimal: max(0, value))
    bytes.append("\n")
  }

  private mutating func append(nanoseconds: Int) {
    append(seconds: max(0, nanoseconds))
    bytes.append("\n")
  }

  /// Writes nanoseconds as seconds, with as many digits as it takes.
  private mutating func append(seconds nanoseconds: Int) {
    bytes.append(decimal: nanoseconds / 1_000_000_000)
    var rest = nanoseconds % 1_000_000_000
    guard rest > 0 else { return }
    bytes.append(".")
    var place = 100_000_000
    while rest > 0 {
      bytes.append(UInt8(ascii: "0") + UInt8(rest / place))
      rest %= place
      place /= 10
    }
  }
}
