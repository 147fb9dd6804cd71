// SPDX-License-Identifier: MIT
package import JSON
package import SignalStore

/// The tokens that a server accepts: a JSON file that holds their digests, and never a token itself.
///
/// ```json
/// {"tokens":[
/// {"id":"kitchen","sha256":"9f86…","claims":{"role":"sensor"},"created":"2026-01-02T03:04:05.000Z"}
/// ]}
/// ```
package struct TokenFile: Equatable, Sendable {
  /// What is kept of one token.
  package struct Entry: Equatable, Sendable {
    /// The name in the token.
    package let id: String
    /// The SHA-256 of the token's text.
    package let digest: Digest
    /// The object that becomes `auth`, with what ``Identity`` adds.
    package let claims: JSONText
    package let created: Timestamp
    /// When it ends; nil for never.
    package let expires: Timestamp?

    /// What is kept of a token.
    ///
    /// - Parameter claims: An object.
    package init(_ token: Token, claims: JSONText, created: Timestamp, expires: Timestamp?) {
      self.init(
        id: token.id, digest: Digest(of: token.text.utf8.span), claims: claims, created: created, expires: expires)
    }

    fileprivate init(id: String, digest: Digest, claims: JSONText, created: Timestamp, expires: Timestamp?) {
      self.id = id
      self.digest = digest
      self.claims = claims
      self.created = created
      self.expires = expires
    }
  }

  /// The largest file.
  package static let mostBytes = 64 << 20
  /// The maximum number of tokens.
  package static let mostTokens = 100_000
  /// The largest claims of a token, in bytes.
  package static let mostClaimBytes = 8 << 10

  /// In the order in which they were made.
  package private(set) var entries: [Entry] = []

  /// No tokens.
  package init() {}

  /// Reads a file that only its owner can read.
  package init(reading path: String) throws(IdentityError) {
    let bytes = try SecretFile.read(path, atMost: Self.mostBytes, readers: .ownerOnly)
    do throws(Fault) {
      try self.init(bytes)
    } catch {
      throw IdentityError(path, error.reason)
    }
  }

  /// Changes a file that no other process changes meanwhile.
  ///
  /// - Parameter createsIfMissing: Whether a file that does not exist is created.
  package static func change<Result>(
    _ path: String, createsIfMissing: Bool = true, _ body: (inout TokenFile) throws(IdentityError) -> Result
  ) throws(IdentityError) -> Result {
    try SecretFile.changing(path) { () throws(IdentityError) in
      let isNew = createsIfMissing && !SecretFile.exists(path)
      var file = isNew ? TokenFile() : try TokenFile(reading: path)
      let before = file
      let result = try body(&file)
      if file != before { try SecretFile.replace(path, with: file.text) }
      return result
    }
  }

  /// The token with an id.
  package func entry(_ id: String) -> Entry? { entries.first { $0.id == id } }

  /// Adds a token; false when there is one with its id already.
  package mutating func add(_ entry: Entry) throws(IdentityError) -> Bool {
    guard self.entry(entry.id) == nil else { return false }
    guard entries.count < Self.mostTokens else {
      throw IdentityError("the file", "has \(Self.mostTokens) tokens, and no room for another")
    }
    entries.append(entry)
    return true
  }

  /// Removes a token; false when there is none with this id.
  package mutating func remove(_ id: String) -> Bool {
    guard let index = entries.firstIndex(where: { $0.id == id }) else { return false }
    entries.remove(at: index)
    return true
  }

  // MARK: Text

  /// The bytes of the file, with a token on each line.
  package var text: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"tokens":["#)
    for (index, entry) in entries.enumerated() {
      text.append(literal: index == 0 ? "\n" : ",\n")
      text.append(literal: #"{"id":"#)
      text.appendJSON(entry.id)
      text.append(literal: #","sha256":"#)
      text.appendJSON(entry.digest.hexadecimal)
      text.append(literal: #","claims":"#)
      text.appendJSON(entry.claims)
      text.append(literal: #","created":"#)
      text.appendJSON("\(entry.created)")
      if let expires = entry.expires {
        text.append(literal: #","expires":"#)
        text.appendJSON("\(expires)")
      }
      text.append(UInt8(ascii: "}"))
    }
    text.append(literal: "\n]}\n")
    return text
  }

  /// Why bytes are no file of tokens.
  private struct Fault: Error {
    let reason: String
  }

  private init(_ bytes: [UInt8]) throws(Fault) {
    let tree: JSONTree
    do throws(JSONError) {
      tree = JSONTree(try JSONText(validating: bytes, limits: JSONLimits(bytes: Self.mostBytes)))
    } catch {
      throw Fault(reason: "is not JSON: \(error)")
    }
    guard tree.kind(of: .root) == .object, let list = tree.member("tokens", of: .root), tree.count(of: .root) == 1,
      tree.kind(of: list) == .array
    else { throw Fault(reason: "is not an object with the member \"tokens\", an array") }
    guard tree.count(of: list) <= Self.mostTokens else {
      throw Fault(reason: "has more than \(Self.mostTokens) tokens")
    }
    var ids: Set<String> = []
    for (index, node) in tree.elements(of: list).enumerated() {
      let entry = try Self.entry(tree, node, index + 1)
      guard ids.insert(entry.id).inserted else { throw Fault(reason: "has two tokens \"\(entry.id)\"") }
      entries.append(entry)
    }
  }

  private static func entry(_ tree: JSONTree, _ node: JSONTree.Node, _ number: Int) throws(Fault) -> Entry {
    func wrong(_ reason: String) -> Fault { Fault(reason: "token \(number): \(reason)") }
    guard tree.kind(of: node) == .object else { throw wrong("is not an object") }
    if let name = tree.repeatedName(in: node) { throw wrong("has the member \"\(name)\" twice") }
    for key in tree.keys(of: node) {
      let name = tree.string(key) ?? ""
      guard ["id", "sha256", "claims", "created", "expires"].contains(name) else {
        throw wrong("has an unknown member \"\(name)\"")
      }
    }
    func string(_ name: String) -> String? {
      tree.member(name, of: node).flatMap { tree.kind(of: $0) == .string ? tree.string($0) : nil }
    }
    guard let id = string("id"), Token.isID(id) else { throw wrong("has no valid \"id\"") }
    guard let digest = string("sha256").flatMap({ Digest(hexadecimal: $0) }) else {
      throw wrong("has no valid \"sha256\", which has 64 hexadecimal digits")
    }
    let claims = tree.member("claims", of: node)
    guard claims.map({ tree.kind(of: $0) == .object }) ?? true else { throw wrong("has \"claims\" that are no object") }
    func time(_ name: String) throws(Fault) -> Timestamp? {
      guard tree.member(name, of: node) != nil else { return nil }
      guard let text = string(name), let time = TimeText(Array(text.utf8)) else {
        throw wrong("has no valid \"\(name)\", a time such as 2026-01-02T03:04:05Z")
      }
      return Timestamp(milliseconds: time.seconds * 1000 + Int64(time.nanoseconds / 1_000_000))
    }
    guard let created = try time("created") else { throw wrong("has no \"created\"") }
    return Entry(
      id: id, digest: digest, claims: claims.map { tree.text(of: $0) } ?? Self.noClaims, created: created,
      expires: try time("expires"))
  }

  /// An object without members.
  package static let noClaims = JSONText(alreadyCompact: Array("{}".utf8))
}

extension JSONTree {
  /// A name that an object below this node, or this node itself, has twice; nil when there is none.
  package func repeatedName(in node: Node) -> String? {
    switch kind(of: node) {
    case .array:
      for element in elements(of: node) {
        if let name = repeatedName(in: element) { return name }
      }
    case .object:
      var names: Set<[UInt8]> = []
      for key in keys(of: node) {
        let isNew = withUTF8(of: key) { bytes in
          var name: [UInt8] = []
          name.append(bytes: bytes)
          return names.insert(name).inserted
        }
        if isNew == false { return string(key) }
        if let value = value(ofKey: key), let name = repeatedName(in: value) { return name }
      }
    default: break
    }
    return nil
  }
}
