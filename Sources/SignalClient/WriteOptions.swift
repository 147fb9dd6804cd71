// SPDX-License-Identifier: MIT

/// How a property is set or deleted, and under which condition (docs/protocol.md §2.1, §3.4).
public struct WriteOptions: Sendable {
  /// Only if its last change was at this cursor.
  public var ifMatch: String?
  /// Only if there is no property at the path.
  public var ifAbsent = false
  /// Only if this expression holds for it.
  public var condition: String?
  /// A set of an equal value is a change, too.
  public var always = false
  /// How long it lives, as `30s`; nil is for ever.
  public var ttl: String?
  /// It goes when this client goes.
  ///
  /// It is set again on each new connection, until another write of this store has succeeded: not where there is a condition,
  /// because by then it may be another's, and not for a JSON Patch, which may be another change then.
  public var hold = false
  /// The reply waits until the change is on the disk of the server.
  public var sync = false
  /// How long to wait for the reply; nil is ``RemoteStore/Configuration/timeout``.
  public var timeout: Duration?

  /// Without a condition, for ever.
  public init() {}

  /// Only if its last change was at this cursor; without one, only if there is none.
  static func unchanged(since cursor: String?) -> WriteOptions {
    var options = WriteOptions()
    options.ifMatch = cursor
    options.ifAbsent = cursor == nil
    return options
  }

  /// Whether it is set again.
  var isKept: Bool { hold && ifMatch == nil && !ifAbsent && condition == nil }

  func add(to command: inout CommandText) {
    command.add("ifMatch", ifMatch)
    if ifAbsent { command.add("ifNoneMatch", "*") }
    command.add("if", condition)
    if always { command.add("always", true) }
    command.add("ttl", ttl)
    if hold { command.add("hold", true) }
    if sync { command.add("sync", true) }
  }
}

/// What has become of a write.
public struct WriteResult: Sendable, Equatable {
  /// The cursor after it.
  public let cursor: String
  /// How many properties it has changed; 0 when all were so before.
  public let changed: Int
  /// When the property ends by itself; nil when it does not.
  public let expires: String?

  init(_ reply: Members, epoch: String) {
    cursor = "\(epoch).\(reply.number("revision") ?? 0)"
    changed = reply.bool("changed").map { $0 ? 1 : 0 } ?? reply.number("changed").map { Int(clamping: $0) } ?? 0
    expires = reply.string("expires")
  }
}
