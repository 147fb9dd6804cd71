// SPDX-License-Identifier: MIT
import JSON

/// What the user of `watch` asked for, and the command of the live protocol that asks the server for it.
struct SubscribeCommand: Equatable, Sendable {
  var patterns: [String]
  var filter: String?
  /// Whether the present state comes first.
  var initial = true
  /// Whether events hold the value before.
  var oldValue = true
  /// Whether what stops matching is told; nil leaves it to the server.
  var exit: Bool?
  /// Where to resume.
  var since: String?

  /// The text of the message.
  func message(id: Int) -> [UInt8] {
    var message = Array("{\"id\":\(id),\"type\":\"subscribe\",\"match\":[".utf8)
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
    message.append(UInt8(ascii: "}"))
    return message
  }
}
