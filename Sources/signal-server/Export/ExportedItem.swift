// SPDX-License-Identifier: MIT
import JSON

/// One item of an export: a JSON object whose members determine its kind.
///
///     {"path":"a","value":1,"ttl":"59300ms"}
///     {"path":"f","formula":"properties['a'] * 2"}
///     {"timer":"t","every":"5s","message":1}
///     {"signal":"s","message":"kept"}
enum ExportedItem: Equatable {
  case property(path: String, value: JSONText, ttl: String?)
  case computed(path: String, formula: String)
  /// The member that says when it fires, and its value.
  case timer(path: String, kind: String, time: String, message: JSONText)
  /// The message that a signal keeps.
  case signal(path: String, message: JSONText)

  /// The item as a line, without the end of it.
  var line: [UInt8] {
    var text: [UInt8] = []
    func append(_ name: String, _ string: String) {
      text += Array((text.isEmpty ? "{" : ",").utf8) + Array("\"\(name)\":".utf8)
      text.appendJSON(string)
    }
    func append(_ name: String, _ value: JSONText) { text += Array(",\"\(name)\":".utf8) + value.bytes }
    switch self {
    case .property(let path, let value, let ttl):
      append("path", path)
      append("value", value)
      if let ttl { append("ttl", ttl) }
    case .computed(let path, let formula):
      append("path", path)
      append("formula", formula)
    case .timer(let path, let kind, let time, let message):
      append("timer", path)
      append(kind, time)
      append("message", message)
    case .signal(let path, let message):
      append("signal", path)
      append("message", message)
    }
    return text + Array("}".utf8)
  }

  /// Reads the members of a line.
  ///
  /// - Throws: What is wrong with them, in a sentence.
  init(_ members: Members) throws(ExportedLine.Fault) {
    guard let item = Self.item(members) else {
      throw ExportedLine.Fault(message: "it is no property, timer or kept message, as an export has them")
    }
    // An unknown member is a mistake that should not be ignored silently.
    let known = ["path", "value", "ttl", "formula", "timer", "every", "at", "after", "message", "signal"]
    guard members.count == item.members, known.count(where: members.has) == item.members else {
      throw ExportedLine.Fault(message: "it has members that do not belong together, or that an export has not")
    }
    self = item
  }

  /// The number of members it is written with.
  private var members: Int {
    switch self {
    case .property(_, _, nil), .computed, .signal: 2
    case .property, .timer: 3
    }
  }

  private static func item(_ members: Members) -> ExportedItem? {
    if let path = members.string("path") {
      if let formula = members.string("formula") { return .computed(path: path, formula: formula) }
      guard let value = members.text("value") else { return nil }
      if members.has("ttl"), members.string("ttl") == nil { return nil }
      return .property(path: path, value: value, ttl: members.string("ttl"))
    }
    if let path = members.string("timer") {
      for kind in ["every", "at", "after"] {
        guard let time = members.string(kind), let message = members.text("message") else { continue }
        return .timer(path: path, kind: kind, time: time, message: message)
      }
      return nil
    }
    guard let path = members.string("signal"), let message = members.text("message") else { return nil }
    return .signal(path: path, message: message)
  }
}
