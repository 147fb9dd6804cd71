// SPDX-License-Identifier: MIT
import JSON

/// A message of the live protocol from the server, as far as `watch` acts on it (docs/protocol.md §3).
enum ServerMessage: Equatable, Sendable {
  /// The first one of a connection; the epoch is the front half of every cursor.
  case hello(epoch: String)
  /// The subscription is granted; `recovered` is there when a cursor was given.
  case ok(recovered: Bool?)
  /// The subscription is refused.
  case error(code: String, text: String)
  /// A change, or one property of a snapshot.
  case change(WatchedChange)
  /// A message of a signal, and when it was sent.
  case signal(path: String, message: JSONText, time: String)
  /// The end of a snapshot or of what was missed.
  case live(revision: UInt64)
  /// The present cursor of a quiet subscription.
  case bookmark(revision: UInt64)
  /// Events were dropped; the remaining ones follow, if there are `more`; the revision is that of the last.
  case gap(revision: UInt64, count: UInt64, isSlow: Bool, more: Bool)
  /// The known state is invalid, a snapshot follows.
  case reset
  /// The answer to a ping, and whatever a later server may add.
  case other

  /// Reads the text of one message.
  ///
  /// - Throws: `Failure` when it is not what the protocol says.
  init(_ bytes: [UInt8]) throws(Failure) {
    let tree: JSONTree
    do {
      tree = JSONTree(try JSONText(validating: bytes, limits: Self.limits))
    } catch {
      throw Failure(.refused, "the server sent what is no JSON: \(error)")
    }
    let members = Members(tree: tree, node: .root)
    switch members.string("type") {
    case "hello": self = .hello(epoch: members.string("epoch") ?? "")
    case "ok" where members.has("subscription"): self = .ok(recovered: members.bool("recovered"))
    case "error":
      let problem = members.members("error")
      self = .error(code: problem?.string("code") ?? "", text: problem?.problemText ?? "error")
    case "didSet": self = try .change(WatchedChange(.set, members))
    case "didDelete": self = try .change(WatchedChange(.deleted, members))
    case "didExpire": self = try .change(WatchedChange(.expired, members))
    case "didExit": self = try .change(WatchedChange(.exit(by: members.string("op")), members))
    case "signal":
      guard let path = members.string("path"), let message = members.text("message") else {
        throw Failure(.refused, "the server sent a signal without a path or a message")
      }
      self = .signal(path: path, message: message, time: members.string("time") ?? "")
    case "live": self = .live(revision: try members.revision())
    case "bookmark": self = .bookmark(revision: try members.revision())
    case "reset": self = .reset
    case "gap":
      self = .gap(
        revision: try members.revision("to"), count: members.number("count") ?? 0,
        isSlow: members.string("reason") == "slow", more: members.bool("more") ?? false)
    default: self = .other
    }
  }

  /// The limits of any server: two values of the maximum size, nested to the maximum depth.
  static let limits = JSONLimits(bytes: JSONLimits.bytesCeiling, depth: 2048, digits: .max)
}

/// A change as it is sent to a subscriber.
struct WatchedChange: Equatable, Sendable {
  /// The kind of change, as seen through the filter.
  enum Kind: Sendable {
    /// It has a new value.
    case set
    /// It was deleted.
    case deleted
    /// It expired.
    case expired
    /// It has a value that does not match the filter.
    case left

    /// How a property left, by the member `op` of the event.
    fileprivate static func exit(by op: String?) -> Kind {
      switch op {
      case "set": .left
      case "expire": .expired
      default: .deleted
      }
    }
  }

  let kind: Kind
  let path: String
  /// The new value; nil when deleted.
  let value: JSONText?
  /// The value before; nil when there was none, or it was not asked for.
  let oldValue: JSONText?
  /// Whether the value before did not match the filter.
  let entered: Bool
  let revision: UInt64
  /// When it happened, as it was written; empty when it was not sent.
  let time: String
  /// Whether more of the same transaction follows.
  let more: Bool

  fileprivate init(_ kind: Kind, _ members: Members) throws(Failure) {
    guard let path = members.string("path") else { throw Failure(.refused, "the server sent an event without a path") }
    let value = members.text("value")
    guard kind != .set || value != nil else { throw Failure(.refused, "the server sent a set without a value") }
    self.kind = kind
    self.path = path
    self.value = value
    oldValue = members.text("oldValue")
    entered = members.bool("entered") ?? false
    revision = try members.revision()
    time = members.string("time") ?? ""
    more = members.bool("more") ?? false
  }
}

/// The members of an object, by name and type.
struct Members {
  let tree: JSONTree
  let node: JSONTree.Node

  /// The number of members.
  var count: Int { tree.count(of: node) }
  func has(_ name: String) -> Bool { tree.member(name, of: node) != nil }
  func string(_ name: String) -> String? { tree.member(name, of: node).flatMap { tree.string($0) } }
  func isNull(_ name: String) -> Bool { tree.member(name, of: node).map { tree.kind(of: $0) == .null } ?? false }
  func bool(_ name: String) -> Bool? { tree.member(name, of: node).flatMap { tree.bool($0) } }
  func text(_ name: String) -> JSONText? { tree.member(name, of: node).map { tree.text(of: $0) } }
  func members(_ name: String) -> Members? { tree.member(name, of: node).map { Members(tree: tree, node: $0) } }

  func number(_ name: String) -> UInt64? { tree.member(name, of: node).flatMap { tree.uint64($0) } }

  fileprivate func revision(_ name: String = "revision") throws(Failure) -> UInt64 {
    guard let revision = number(name) else {
      throw Failure(.refused, "the server sent an event without a revision")
    }
    return revision
  }

  /// The members of a body; nil when it is not JSON.
  static func body(_ body: [UInt8]) -> Members? { (try? JSONText(validating: body)).map { Members($0) } }

  /// What a body says that is a problem; nil when it is none.
  static func problemText(in body: [UInt8]) -> String? { self.body(body)?.problemText }

  /// What a problem (RFC 9457) says, in one line; nil when this is none.
  ///
  /// The detail alone when it is a sentence, which says all that the title does; else `title: detail`.
  var problemText: String? {
    guard let title = string("title") else { return nil }
    guard let detail = string("detail"), detail != title else { return title }
    let isSentence = detail.last == "." && detail.first?.isLowercase == false
    return isSentence ? detail : "\(title): \(detail)"
  }
}
