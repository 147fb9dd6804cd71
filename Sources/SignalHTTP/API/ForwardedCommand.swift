// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
package import SignalStore

/// A command of a client that is executed on another node: as the client has sent it, with who asks.
package struct ForwardedCommand: Sendable {
  enum Content: Sendable {
    /// A request: its head, and its body without framing.
    case request(head: [UInt8], body: [UInt8])
    /// A message of the live protocol.
    case message([UInt8])
    /// The end of a connection.
    case end
    /// Nothing: it is answered when everything that was written before it is here.
    case barrier
  }

  let content: Content
  /// The number of the holder that the client is; nil where nothing can be held.
  let holder: UInt64?
  /// The claims of its identity, as `auth` has them; nil for somebody unknown.
  let auth: JSONText?
  /// Whether it may do everything, because of the socket it has come by.
  let isAdministrator: Bool
  let facts: RequestFacts?

  init(_ content: Content, from caller: Caller) {
    self.content = content
    holder = caller.holder?.number
    auth = caller.identity?.auth.text
    isAdministrator = caller.isAdministrator
    facts = caller.request
  }

  /// Changes nothing, and is answered when everything that was written before it, at whatever node, is here.
  package static let barrier = ForwardedCommand(
    .barrier, from: Caller(holder: nil, identity: nil, isAdministrator: true, request: nil))

  /// The end of a connection of a node that is gone: what it has registered was judged when it was.
  package init(endOf holder: Holder) {
    content = .end
    self.holder = holder.number
    auth = nil
    isAdministrator = true
    facts = nil
  }

  /// The holder whose connection has ended; nil for other commands.
  package var endedHolder: Holder? {
    if case .end = content { holder.map { Holder(number: $0) } } else { nil }
  }

  /// Whether it is ``barrier``.
  package var isBarrier: Bool { if case .barrier = content { true } else { false } }

  /// Who asks.
  var caller: Caller {
    Caller(
      holder: holder.map { Holder(number: $0) }, identity: auth.flatMap { Identity(assuming: JSONTree($0)) },
      isAdministrator: isAdministrator, request: facts)
  }
}

// MARK: - As bytes

extension ForwardedCommand {
  /// The form in which it is sent: a line of JSON, and the content.
  package var bytes: [UInt8] {
    var text: [UInt8] = []
    var rest: [UInt8] = []
    switch content {
    case .request(let head, let body):
      text.append(literal: #"{"kind":"request","head":"#)
      text.appendJSON(head.count)
      rest = head + body
    case .message(let message):
      text.append(literal: #"{"kind":"message""#)
      rest = message
    case .end: text.append(literal: #"{"kind":"end""#)
    case .barrier: text.append(literal: #"{"kind":"barrier""#)
    }
    if let holder {
      text.append(literal: #","holder":"#)
      text.appendJSON(holder)
    }
    if let auth {
      text.append(literal: #","auth":"#)
      text.appendJSON(auth)
    }
    if isAdministrator { text.append(literal: #","admin":true"#) }
    if let facts {
      text.append(literal: #","secured":"#)
      text.appendJSON(facts.isEncrypted)
      if let address = facts.address {
        text.append(literal: #","address":"#)
        text.appendJSON(address)
      }
      if let origin = facts.origin {
        text.append(literal: #","origin":"#)
        text.appendJSON(origin)
      }
    }
    text.append(literal: "}\n")
    return text + rest
  }

  /// Reads the form in which it is sent; nil when it is another.
  package init?(_ bytes: ArraySlice<UInt8>) {
    guard let (tree, rest) = ForwardedAnswer.parts(of: bytes) else { return nil }
    func member(_ name: String) -> JSONTree.Node? { tree.member(name, of: tree.root) }
    switch member("kind").flatMap({ tree.string($0) }) {
    case "request":
      guard let size = member("head").flatMap({ tree.int64($0) }), 0...Int64(rest.count) ~= size else { return nil }
      content = .request(head: Array(rest.prefix(Int(size))), body: Array(rest.dropFirst(Int(size))))
    case "message": content = .message(Array(rest))
    case "end": content = .end
    case "barrier": content = .barrier
    default: return nil
    }
    holder = member("holder").flatMap { tree.uint64($0) }
    auth = member("auth").map { tree.text(of: $0) }
    isAdministrator = member("admin").flatMap { tree.bool($0) } ?? false
    facts = member("secured").flatMap { tree.bool($0) }.map { isSecured in
      RequestFacts(
        address: member("address").flatMap { tree.string($0) }, origin: member("origin").flatMap { tree.string($0) },
        isEncrypted: isSecured)
    }
  }
}

/// The answer to a command that was forwarded.
package struct ForwardedAnswer: Sendable, Equatable {
  /// The status of a response; 0 for a message of the live protocol.
  var status = 0
  /// The code of the problem that it tells of; empty for none.
  var problem = ""
  /// The field lines of a response, without those that each node writes itself.
  var fields: [UInt8] = []
  /// The content, or the message.
  var body: [UInt8] = []

  package var bytes: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"status":"#)
    text.appendJSON(status)
    text.append(literal: #","problem":"#)
    text.appendJSON(problem)
    text.append(literal: #","fields":"#)
    text.appendJSON(fields.count)
    text.append(literal: "}\n")
    return text + fields + body
  }

  package init?(_ bytes: ArraySlice<UInt8>) {
    guard let (tree, rest) = Self.parts(of: bytes) else { return nil }
    func member(_ name: String) -> JSONTree.Node? { tree.member(name, of: tree.root) }
    guard let status = member("status").flatMap({ tree.int64($0) }), 0...999 ~= status,
      let size = member("fields").flatMap({ tree.int64($0) }), 0...Int64(rest.count) ~= size
    else { return nil }
    self.status = Int(status)
    problem = member("problem").flatMap { tree.string($0) } ?? ""
    fields = Array(rest.prefix(Int(size)))
    body = Array(rest.dropFirst(Int(size)))
  }

  /// A message; of a barrier, nothing.
  package init(message: [UInt8]) { body = message }

  /// A whole response, of which the fields that each node writes itself are left out.
  init(_ response: ResponseWriter) {
    status = response.status
    problem = response.problemCode
    var rest = response.output[...]
    var isFirst = true
    while let end = rest.firstIndex(of: ASCII.lf) {
      let line = rest[rest.startIndex...end]
      rest = rest[(end + 1)...]
      if line.count <= 2 { break }
      if !isFirst, !Self.own.contains(where: { line.starts(with: $0) }) { fields.append(contentsOf: line) }
      isFirst = false
    }
    body = Array(rest)
  }

  private static let own: [[UInt8]] = [
    "Date:", "X-Content-Type-Options:", "Content-Security-Policy:", "Referrer-Policy:", "Strict-Transport-Security:",
    "Content-Length:", "Connection:", "Transfer-Encoding:", "Vary:", "Keep-Alive:",
  ].map { Array($0.utf8) }

  /// The line of JSON, and what is behind it.
  static func parts(of bytes: ArraySlice<UInt8>) -> (JSONTree, ArraySlice<UInt8>)? {
    guard let end = bytes.firstIndex(of: ASCII.lf) else { return nil }
    guard let text = try? JSONText(validating: Array(bytes[..<end])) else { return nil }
    let tree = JSONTree(text)
    guard tree.kind(of: tree.root) == .object else { return nil }
    return (tree, bytes[(end + 1)...])
  }
}

extension ResponseWriter {
  /// Writes the answer of another node.
  mutating func write(_ answer: ForwardedAnswer) {
    guard let status = HTTPStatus(code: answer.status) else { return refuse(.problem(.noAnswer)) }
    relay(status, problem: answer.problem, fields: answer.fields, body: answer.body)
  }
}
