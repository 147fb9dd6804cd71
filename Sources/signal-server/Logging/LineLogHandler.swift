// SPDX-License-Identifier: MIT
import JSON
import Logging
import SignalStore

/// Writes each event as one line to the standard error, for people or as a JSON object.
struct LineLogHandler: LogHandler {
  private let level: LogLevel
  private var ownLevel: Logger.Level?
  var metadata: Logger.Metadata = [:]
  let format: Settings.Log.Format

  init(_ format: Settings.Log.Format, _ level: LogLevel) {
    self.format = format
    self.level = level
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
    Terminal.printToError(line(time: time, level: event.level.rawValue, message: "\(event.message)", fields: fields))
  }

  /// The line without its end.
  func line(time: String, level: String, message: String, fields: [(name: String, text: String)]) -> String {
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
        bytes.appendJSON(text)
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
