// SPDX-License-Identifier: MIT
import JSON

/// The options of `watch`, and the command of the live protocol that requests them.
struct SubscribeCommand: Equatable, Sendable {
  var patterns: [String]
  /// Whether the patterns are those of signals.
  var isForSignals = false
  var filter: String?
  /// Whether the present state comes first.
  var initial = true
  /// Whether events hold the value before.
  var oldValue = true
  /// Whether exits from the filter are sent; nil leaves it to the server.
  var exit: Bool?
  /// Where to resume.
  var since: String?
  /// The mode of delivery when this client lags; nil leaves it to the server.
  var mode: String?
  /// Events per second and path.
  var maxRate: Double?
  /// How far numbers have to move, as it was written: `0.5`, `2%`.
  var deadband: String?
  /// The part of each value to see.
  var pointer: String?
  /// What events carry; nil for everything.
  var fields: [String]?

  /// The text of the message.
  func message(id: Int) -> [UInt8] {
    var message = Array("{\"id\":\(id),\"type\":\"subscribe\",\"\(isForSignals ? "signals" : "match")\":[".utf8)
    for (index, pattern) in patterns.enumerated() {
      if index > 0 { message.append(UInt8(ascii: ",")) }
      message.appendJSON(pattern)
    }
    message.append(UInt8(ascii: "]"))
    func add(_ name: String, _ value: [UInt8]) {
      message += Array(",\"\(name)\":".utf8) + value
    }
    if let filter { add("where", JSONText(filter).bytes) }
    if !initial { add("initial", JSONText.false.bytes) }
    if !oldValue { add("oldValue", JSONText.false.bytes) }
    if let exit { add("exit", JSONText(exit).bytes) }
    if let since { add("since", JSONText(since).bytes) }
    if let pointer { add("pointer", JSONText(pointer).bytes) }
    if let fields { add("fields", Array("[\(fields.map { JSONText($0).description }.joined(separator: ","))]".utf8)) }
    if let delivery { add("delivery", delivery) }
    message.append(UInt8(ascii: "}"))
    return message
  }

  /// The object of that name; nil when there is nothing to say.
  private var delivery: [UInt8]? {
    var members: [[UInt8]] = []
    if let mode { members.append(Array("\"mode\":".utf8) + JSONText(mode).bytes) }
    if let rate = maxRate.flatMap({ JSONText($0) }) { members.append(Array("\"maxRate\":".utf8) + rate.bytes) }
    if let deadband {
      // A number as it is; all else is a string, of which the server knows whether it is a share.
      let number = (try? JSONText(validating: deadband)).map { JSONTree($0) }.flatMap {
        $0.kind(of: $0.root) == .number ? $0.text : nil
      }
      members.append(Array("\"deadband\":".utf8) + (number ?? JSONText(deadband)).bytes)
    }
    guard !members.isEmpty else { return nil }
    return [UInt8(ascii: "{")] + members.joined(separator: [UInt8(ascii: ",")]) + [UInt8(ascii: "}")]
  }
}
