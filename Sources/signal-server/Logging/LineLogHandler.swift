// SPDX-License-Identifier: MIT
import JSON
import Logging
import SignalHTTP
import SignalStore

/// Makes each event a line, for people or as a JSON object, which is written in the background.
struct LineLogHandler: LogHandler {
  private let level: LogLevel
  private var ownLevel: Logger.Level?
  var metadata: Logger.Metadata = [:]
  let format: Settings.Log.Format
  private let writer: LogWriter

  init(_ format: Settings.Log.Format, _ level: LogLevel, _ writer: LogWriter = .standard) {
    self.format = format
    self.level = level
    self.writer = writer
  }

  /// The process's, unless this logger has been given one of its own.
  var logLevel: Logger.Level {
    get { ownLevel ?? level.value }
    set { ownLevel = newValue }
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
    let fields = all.map { ($0.key, "\($0.value)") }.sorted { $0.0 < $1.0 }
    let time = Timestamp.now.description
    let text = line(time: time, level: event.level.rawValue, message: "\(event.message)", fields: fields)
    writer.put(.line(text), as: self)
  }

  /// Logs a request that was answered, whatever the level is.
  func log(_ request: AnsweredRequest) { writer.put(.request(request, at: .now), as: self) }

  /// The line of a request without its end.
  func line(time: String, request: AnsweredRequest) -> String {
    var fields = [
      ("peer", "\(request.peer)"), ("method", request.method), ("path", request.path), ("status", "\(request.status)"),
      ("code", request.code), ("bytes", "\(request.bytes)"), ("duration", Self.seconds(request.duration)),
    ].filter { !$0.1.isEmpty }
    if let trace = request.trace { fields += [("trace", trace.traceID), ("parent", trace.parentID)] }
    let level = request.status >= 500 ? "warning" : "info"
    return line(time: time, level: level, message: "request", fields: fields, numbers: ["status", "bytes", "duration"])
  }

  /// The line about those that are missing, without its end.
  func line(dropped count: Int, time: String) -> String {
    line(
      time: time, level: "warning", message: "lines of the log were dropped here: they came faster than they were read",
      fields: [("dropped", "\(count)")], numbers: ["dropped"])
  }

  /// A duration in seconds, to the microsecond.
  private static func seconds(_ duration: Duration) -> String {
    let (seconds, attoseconds) = duration.components
    let digits = "\(attoseconds / 1_000_000_000_000)"
    return "\(seconds).\(String(repeating: "0", count: max(0, 6 - digits.utf8.count)))\(digits)"
  }

  /// The line without its end.
  ///
  /// - Parameter numbers: The fields that are numbers in JSON.
  func line(
    time: String, level: String, message: String, fields: [(name: String, text: String)], numbers: Set<String> = []
  ) -> String {
    switch format {
    case .text:
      let padding = String(repeating: " ", count: max(0, 8 - level.count))
      let tail = fields.map { " \($0.name)=\(Self.quotedIfNeeded($0.text))" }.joined()
      return "\(time) \(level)\(padding) \(message)\(tail)".printable
    case .json:
      var bytes = Array("{\"time\":".utf8)
      bytes.appendJSON(time)
      for (name, text) in [("level", level), ("message", message)] + fields {
        bytes.append(UInt8(ascii: ","))
        bytes.appendJSON(name)
        bytes.append(UInt8(ascii: ":"))
        if numbers.contains(name) { bytes += text.utf8 } else { bytes.appendJSON(text) }
      }
      bytes.append(UInt8(ascii: "}"))
      return String(decoding: bytes, as: UTF8.self)
    }
  }

  private static func quotedIfNeeded(_ text: String) -> String {
    let isWord = !text.isEmpty && text.utf8.allSatisfy { $0 > UInt8(ascii: " ") && $0 != UInt8(ascii: "\"") }
    return isWord ? text : text.debugDescription
  }
}
