// SPDX-License-Identifier: MIT
import JSON
import SignalHTTP

/// A property that exists as long as this process: held by its connection (`docs/protocol.md` §3.6), and set again
/// over a new one when that breaks.
struct HeldProperty {
  let path: String
  let value: JSONText
  var ifMatch: String?
  var ifAbsent = false
  var always = false
  var ttl: String?
  /// An expression that has to hold for the current value.
  var filter: String?

  /// How long the server may be silent before it is pinged, and then the timeout of its answer.
  ///
  /// Together less than the time after which the server ends a connection that is cut (`http.idle-timeout`), so that
  /// the property is held by the new connection when the old one ends.
  static let silence = Duration.seconds(10)
  static let patience = Duration.seconds(5)

  /// The condition under which a connection sets the property.
  enum Condition: Equatable {
    /// The condition given by the user.
    case asked
    /// No condition: it was set before, without one.
    case none
    /// It has not changed since it was set.
    case match(String)
    /// It no longer exists.
    case absent
  }

  /// Sets the property, prints the cursor of the change, and holds it until the process ends.
  ///
  /// - Throws: `Failure` when the server refuses, when the first connection cannot be made, or when another client has
  ///   set the property while there was no connection and a condition was given.
  func run(in surroundings: Watcher.Surroundings) throws(Failure) -> Never {
    var own: String?
    var failures = 0
    while true {
      do throws(LinkFailure) {
        let link = try surroundings.connect()
        let cursor = try hold(over: link, own)
        if own == nil { surroundings.print(Array(cursor.printable.utf8)) }
        if failures > 0 { surroundings.complain("connected again") }
        own = cursor
        failures = 0
        try keep(link)
      } catch {
        guard own != nil, error.invitesReconnect else {
          if case .broken(let text) = error { throw Failure(.unreachable, text) }
          throw Failure(.refused, error.text)
        }
        if failures == 0 { surroundings.complain("\(error.text); reconnecting") }
        failures += 1
        surroundings.sleep(Backoff().delay(after: failures, random: surroundings.random()))
      }
    }
  }

  /// Sets the property over a new connection.
  ///
  /// - Parameter own: The cursor of its last set; nil for the first one.
  /// - Returns: The cursor that it has now.
  private func hold(over link: any LiveLink, _ own: String?) throws(LinkFailure) -> String {
    let epoch = Members(try message(of: link)).string("epoch") ?? ""
    let isConditional = ifMatch != nil || ifAbsent || filter != nil
    var condition = Condition.asked
    if let own { condition = isConditional ? .match(own) : .none }
    var reply = try ask(link, condition)
    if case .match = condition, let error = reply.members("error"), error.string("code") == "precondition_failed",
      error.isNull("current")
    {
      // It has ended with the old connection, or with the server.
      reply = try ask(link, .absent)
    }
    guard reply.string("type") != "error" else {
      throw .refused(status: 0, text: (reply.members("error")?.problemText ?? "error").printable)
    }
    if reply.bool("changed") == false {
      // In that case the revision of the reply is that of the store.
      try link.send(Array(#"{"id":1,"type":"get","path":"#.utf8) + JSONText(path).bytes + Array("}".utf8))
      reply = Members(try message(of: link))
    }
    return "\(epoch).\(reply.text("revision")?.description ?? "")"
  }

  /// Never returns: throws when the connection has ended.
  private func keep(_ link: any LiveLink) throws(LinkFailure) -> Never {
    while true {
      if try link.receive(within: Self.silence) != nil { continue }
      try link.send(Array(#"{"id":0,"type":"ping"}"#.utf8))
      guard try link.receive(within: Self.patience) != nil else { throw .broken("the server does not answer") }
    }
  }

  private func ask(_ link: any LiveLink, _ condition: Condition) throws(LinkFailure) -> Members {
    try link.send(command(condition))
    return Members(try message(of: link))
  }

  private func message(of link: any LiveLink) throws(LinkFailure) -> JSONText {
    guard let bytes = try link.receive(within: Self.patience) else { throw .broken("the server does not answer") }
    guard let text = try? JSONText(validating: bytes, limits: JSONLimits(bytes: JSONLimits.bytesCeiling, digits: .max))
    else {
      throw .broken("the server sent what is no JSON")
    }
    return text
  }

  /// The command that sets the property.
  func command(_ condition: Condition) -> [UInt8] {
    var text = Array(#"{"id":1,"type":"set","path":"#.utf8)
    text.appendJSON(path)
    text += Array(#","value":"#.utf8) + value.bytes + Array(#","hold":true"#.utf8)
    switch condition {
    case .asked:
      if let ifMatch { text += Array(#","ifMatch":"#.utf8) + JSONText(ifMatch).bytes }
      if ifAbsent { text += Array(#","ifNoneMatch":"*""#.utf8) }
      if always { text += Array(#","always":true"#.utf8) }
      if let filter { text += Array(#","if":"#.utf8) + JSONText(filter).bytes }
    case .none: break
    case .match(let cursor): text += Array(#","ifMatch":"#.utf8) + JSONText(cursor).bytes
    case .absent: text += Array(#","ifNoneMatch":"*""#.utf8)
    }
    if let ttl { text += Array(#","ttl":"#.utf8) + JSONText(ttl).bytes }
    return text + Array("}".utf8)
  }
}

extension Members {
  /// The members of a whole text.
  init(_ text: JSONText) { self.init(tree: JSONTree(text), node: .root) }
}
