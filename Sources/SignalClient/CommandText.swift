// SPDX-License-Identifier: MIT

import JSON
import SignalStore

/// Writes a command of the live protocol, without its `id`, which it gets when it is sent.
struct CommandText: Sendable {
  /// The members, without braces.
  private(set) var members: [UInt8]

  init(_ type: StaticString) {
    members = []
    members.append(literal: "\"type\":\"")
    members.append(literal: type)
    members.append(UInt8(ascii: "\""))
  }

  /// Goes on with what has been written.
  init(members: [UInt8]) { self.members = members }

  mutating func add(_ name: StaticString, _ value: JSONText?) {
    guard let value else { return }
    begin(name)
    members.appendJSON(value)
  }

  mutating func add(_ name: StaticString, _ value: String?) {
    guard let value else { return }
    begin(name)
    members.appendJSON(value)
  }

  mutating func add(_ name: StaticString, _ value: Bool?) {
    guard let value else { return }
    begin(name)
    members.appendJSON(value)
  }

  mutating func add(_ name: StaticString, _ value: UInt64) {
    begin(name)
    members.appendJSON(value)
  }

  mutating func add(_ name: StaticString, _ value: Int?) { add(name, value.map { JSONText($0) }) }

  /// A number that is none (NaN, infinite) is left out.
  mutating func add(_ name: StaticString, _ value: Double?) { add(name, value.flatMap { JSONText($0) }) }

  mutating func add(_ path: PropertyPath) {
    begin("path")
    members.appendJSON(utf8: path.bytes.span)
  }

  mutating func add(_ name: StaticString, _ values: [String]?) {
    guard let values else { return }
    begin(name)
    members.append(UInt8(ascii: "["))
    for (index, value) in values.enumerated() {
      if index > 0 { members.append(UInt8(ascii: ",")) }
      members.appendJSON(value)
    }
    members.append(UInt8(ascii: "]"))
  }

  /// Adds an array of texts that are JSON.
  mutating func add(_ name: StaticString, texts: [[UInt8]]) {
    begin(name)
    members.append(UInt8(ascii: "["))
    members.append(contentsOf: texts.joined(separator: [UInt8(ascii: ",")]))
    members.append(UInt8(ascii: "]"))
  }

  /// Adds an object of members that are JSON.
  mutating func addObject(_ name: StaticString, _ texts: [[UInt8]]) {
    begin(name)
    members.append(UInt8(ascii: "{"))
    members.append(contentsOf: texts.joined(separator: [UInt8(ascii: ",")]))
    members.append(UInt8(ascii: "}"))
  }

  private mutating func begin(_ name: StaticString) {
    members.append(literal: ",\"")
    members.append(literal: name)
    members.append(literal: "\":")
  }

  /// The whole message.
  static func message(_ id: UInt64, _ members: [UInt8]) -> [UInt8] {
    var message: [UInt8] = []
    message.reserveCapacity(members.count + 28)
    message.append(literal: "{\"id\":")
    message.appendJSON(id)
    message.append(UInt8(ascii: ","))
    message.append(contentsOf: members)
    message.append(UInt8(ascii: "}"))
    return message
  }
}
