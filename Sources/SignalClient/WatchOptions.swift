// SPDX-License-Identifier: MIT

import JSON

/// What a ``RemoteWatch`` asks for (docs/protocol.md §3.2).
public struct WatchOptions: Sendable {
  /// A filter on the value, the value before, or the change.
  public var filter: String?
  /// Whether what is there comes first; nil is yes.
  public var initial: Bool?
  /// Whether it is told that a property has left the filter; nil leaves it to the server.
  public var exit: Bool?
  /// Whether the server sends values before; what is known here is told anyway.
  public var oldValue: Bool?
  /// The number of events after which it ends.
  public var take: Int?
  /// The members of events to send; those that the client needs are added.
  public var fields: [String]?
  /// The part of each value to see.
  public var pointer: String?
  /// Seconds between bookmarks.
  public var bookmark: Double?
  /// What a client that lags gets: `auto`, `all` or `latest`.
  public var mode: String?
  /// Events per second and path.
  public var maxRate: Double?
  /// How far numbers have to move: `0.5`, or `2%`.
  public var deadband: String?

  /// Everything, as it comes.
  public init() {}

  /// The members of the command, but for ``take``, which is less on each connection.
  func command(_ member: StaticString, _ patterns: [String]) -> [UInt8] {
    var command = CommandText("subscribe")
    command.add(member, patterns)
    command.add("where", filter)
    command.add("initial", initial)
    command.add("exit", exit)
    command.add("oldValue", oldValue)
    // Without these an event cannot be folded.
    let needed = ["path", "value", "revision"]
    command.add("fields", fields.map { fields in needed + fields.filter { !needed.contains($0) } })
    command.add("pointer", pointer)
    command.add("bookmark", bookmark)
    var delivery: [[UInt8]] = []
    if let mode { delivery.append(Array("\"mode\":".utf8) + JSONText(mode).bytes) }
    if let rate = maxRate.flatMap({ JSONText($0) }) { delivery.append(Array("\"maxRate\":".utf8) + rate.bytes) }
    if let deadband {
      // A number as it is; all else is a string, of which the server knows whether it is a share.
      let number = (try? JSONText(validating: deadband)).flatMap { JSONTree($0).double(.root) == nil ? nil : $0 }
      delivery.append(Array("\"deadband\":".utf8) + (number ?? JSONText(deadband)).bytes)
    }
    if !delivery.isEmpty {
      command.addObject("delivery", delivery)
    }
    return command.members
  }
}
