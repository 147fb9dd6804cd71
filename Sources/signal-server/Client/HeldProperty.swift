// SPDX-License-Identifier: MIT
import JSON

/// A property that is there as long as this process is: set over a connection whose end deletes it.
struct HeldProperty {
  let path: String
  let value: JSONText
  var ifMatch: String?
  var ifAbsent = false
  var always = false
  var ttl: String?

  /// Between two signs of life.
  private static let silence = Duration.seconds(30)
  private static let patience = Duration.seconds(10)

  /// Sets the property, prints the cursor of the change, and returns only when the connection has ended.
  ///
  /// - Throws: `Failure` when the server refuses, or when the connection breaks.
  func run(_ url: ServerURL) throws(Failure) -> Never {
    ProcessSignals.makeSuccess()
    do throws(LinkFailure) {
      let link = try WebSocketLink(url)
      let hello = Members(try message(of: link))
      // First what happens at the end, so that there is no moment without.
      try link.send(registration)
      try check(Members(try message(of: link)))
      try link.send(command)
      let reply = Members(try message(of: link))
      try check(reply)
      Terminal.print("\(hello.string("epoch") ?? "").\(reply.text("revision")?.description ?? "")".printable)
      while true {
        guard try link.receive(within: Self.silence) == nil else { continue }
        try link.send(Array(#"{"id":0,"type":"ping"}"#.utf8))
      }
    } catch {
      switch error {
      case .broken: throw Failure(.unreachable, error.text)
      case .refused, .closed: throw Failure(.refused, error.text)
      }
    }
  }

  private func message(of link: WebSocketLink) throws(LinkFailure) -> JSONText {
    guard let bytes = try link.receive(within: Self.patience) else { throw .broken("the server does not answer") }
    guard let text = try? JSONText(validating: bytes, limits: JSONLimits(bytes: JSONLimits.bytesCeiling)) else {
      throw .broken("the server sent what is no JSON")
    }
    return text
  }

  private func check(_ reply: Members) throws(LinkFailure) {
    guard reply.string("type") == "error" else { return }
    throw .refused(status: 0, text: (reply.members("error")?.problemText ?? "error").printable)
  }

  /// The command that registers the deletion.
  var registration: [UInt8] {
    var text = Array(#"{"id":1,"type":"onDisconnect","operations":[{"op":"delete","path":"#.utf8)
    text.appendJSON(path)
    return text + Array("}]}".utf8)
  }

  /// The command that sets the property.
  var command: [UInt8] {
    var text = Array(#"{"id":2,"type":"set","path":"#.utf8)
    text.appendJSON(path)
    text += Array(#","value":"#.utf8) + value.bytes
    if let ifMatch { text += Array(#","ifMatch":"#.utf8) + JSONText(ifMatch).bytes }
    if ifAbsent { text += Array(#","ifNoneMatch":"*""#.utf8) }
    if always { text += Array(#","always":true"#.utf8) }
    if let ttl { text += Array(#","ttl":"#.utf8) + JSONText(ttl).bytes }
    return text + Array("}".utf8)
  }
}

extension Members {
  /// The members of a whole text.
  init(_ text: JSONText) { self.init(tree: JSONTree(text), node: .root) }
}
