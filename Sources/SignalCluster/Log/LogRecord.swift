// SPDX-License-Identifier: MIT

internal import JSON
package import SignalStore

/// One message of the log: a head that says who has written it where, and for a batch the entries, each a line of JSON.
package struct LogRecord: Sendable {
  /// The version of the format that is written, and the highest that is read.
  ///
  /// A kind of record, or of message between nodes, or a member, that those who read the version before do not know makes
  /// a new one, and it is written only when all nodes that are heard of read it (``Beat/version``). `v` and `prev` stay
  /// what they are in all versions, and fences as a whole.
  package static let version: UInt64 = 1

  /// What the first line says.
  package enum Head: Sendable, Equatable {
    case batch(BatchHead)
    case claim(ClaimHead)
    case fence(FenceHead)
  }

  package let head: Head
  /// The whole record.
  package let bytes: [UInt8]
  /// Where the entries begin; the end of the bytes when there are none.
  let bodyStart: Int

  /// How many entries there are, and how many of them take a revision.
  package let counts: (entries: Int, revisions: Int)

  /// The lines of the entries, without their ends.
  package var lines: Lines { Lines(rest: bytes[bodyStart...]) }

  package struct Lines: Sequence, IteratorProtocol {
    fileprivate var rest: ArraySlice<UInt8>

    package mutating func next() -> ArraySlice<UInt8>? {
      guard let end = rest.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
      defer { rest = rest[(end + 1)...] }
      return rest[..<end]
    }
  }

  /// Counts the lines behind an offset; nil when the last has no end, or one is empty.
  private static func counts(of bytes: Span<UInt8>, from start: Int) -> (entries: Int, revisions: Int)? {
    var counts = (entries: 0, revisions: 0)
    var lineStart = start
    for index in start..<bytes.count where bytes[index] == UInt8(ascii: "\n") {
      if index == lineStart { return nil }
      counts.entries += 1
      if isCommit(bytes.extracting(lineStart..<index)) { counts.revisions += 1 }
      lineStart = index + 1
    }
    return lineStart == bytes.count ? counts : nil
  }

  /// Whether a line is the entry of a commit, which begins like no other: `{"c":`.
  private static func isCommit(_ line: Span<UInt8>) -> Bool {
    line.count >= 5 && line[0] == UInt8(ascii: "{") && line[1] == UInt8(ascii: "\"") && line[2] == UInt8(ascii: "c")
      && line[3] == UInt8(ascii: "\"") && line[4] == UInt8(ascii: ":")
  }
}

/// The head of entries that the leader of a term has appended.
package struct BatchHead: Sendable, Equatable {
  package let term: UInt64
  /// Its place among the batches of its term, from 1.
  package let number: UInt64
  /// The leader.
  package let node: String
  /// The revision of the first commit in it, or of the next one.
  package let first: Revision
  /// The link of the record before it.
  package let previous: ChainLink
}

/// The head of a record by which a node becomes the leader of a new term.
package struct ClaimHead: Sendable, Equatable {
  package let term: UInt64
  package let node: String
  /// Tells apart the processes of one node.
  package let session: String
  /// The revision of the last commit before it.
  package let last: Revision
  package let previous: ChainLink
  /// The history to which the revisions from here on belong.
  package let epoch: Epoch
}

/// The head of a record that ends a history: behind it nothing counts but a claim with another epoch.
///
/// It is written by a node that has shown something which is not in the stream any more, so that no cursor of before is
/// taken for what follows.
package struct FenceHead: Sendable, Equatable {
  /// The term of its writer, which need not be that of the stream.
  package let term: UInt64
  package let node: String
  package let session: String
  /// The sequence of the record before it: anywhere else it does not count.
  package let after: UInt64
  /// What only who has the secret can make of these: the writer need not know the link of the record before it.
  package let proof: ChainLink

  package init(term: UInt64, node: String, session: String, after: UInt64, _ key: ChainKey) {
    self.init(
      term: term, node: node, session: session, after: after, proof: Self.proof(node, session, after, key))
  }

  init(term: UInt64, node: String, session: String, after: UInt64, proof: ChainLink) {
    (self.term, self.node, self.session, self.after, self.proof) = (term, node, session, after, proof)
  }

  /// Whether it was written by somebody who has the secret.
  func isProven(by key: ChainKey) -> Bool { proof == Self.proof(node, session, after, key) }

  private static func proof(_ node: String, _ session: String, _ after: UInt64, _ key: ChainKey) -> ChainLink {
    key.link(after: .none, Array("fence \(after) \(session) \(node)".utf8))
  }
}

// MARK: - Writing

extension LogRecord {
  /// - Parameter lines: The entries, each with a line feed at its end.
  package init(_ head: BatchHead, lines: [UInt8]) {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(lines.count + 160)
    Self.begin("batch", head.term, head.node, &bytes)
    bytes.append(literal: #","n":"#)
    bytes.appendJSON(head.number)
    bytes.append(literal: #","first":"#)
    bytes.appendJSON(head.first.number)
    Self.end(head.previous, &bytes)
    self.head = .batch(head)
    bodyStart = bytes.count
    bytes.append(contentsOf: lines)
    guard let counts = Self.counts(of: bytes.span, from: bodyStart) else {
      preconditionFailure("Entries are lines that end.")
    }
    self.counts = counts
    self.bytes = bytes
  }

  package init(_ head: ClaimHead) {
    var bytes: [UInt8] = []
    Self.begin("claim", head.term, head.node, &bytes)
    bytes.append(literal: #","session":"#)
    bytes.appendJSON(head.session)
    bytes.append(literal: #","last":"#)
    bytes.appendJSON(head.last.number)
    bytes.append(literal: #","epoch":""#)
    head.epoch.write(to: &bytes)
    bytes.append(literal: "\"")
    Self.end(head.previous, &bytes)
    self.head = .claim(head)
    (bodyStart, counts) = (bytes.count, (0, 0))
    self.bytes = bytes
  }

  package init(_ head: FenceHead) {
    var bytes: [UInt8] = []
    Self.begin("fence", head.term, head.node, &bytes)
    bytes.append(literal: #","session":"#)
    bytes.appendJSON(head.session)
    bytes.append(literal: #","after":"#)
    bytes.appendJSON(head.after)
    Self.end(head.proof, &bytes)
    self.head = .fence(head)
    (bodyStart, counts) = (bytes.count, (0, 0))
    self.bytes = bytes
  }

  private static func begin(_ kind: StaticString, _ term: UInt64, _ node: String, _ bytes: inout [UInt8]) {
    bytes.append(literal: #"{"v":"#)
    bytes.appendJSON(version)
    bytes.append(literal: #","kind":""#)
    bytes.append(literal: kind)
    bytes.append(literal: #"","term":"#)
    bytes.appendJSON(term)
    bytes.append(literal: #","node":"#)
    bytes.appendJSON(node)
  }

  private static func end(_ previous: ChainLink, _ bytes: inout [UInt8]) {
    bytes.append(literal: #","prev":"#)
    bytes.appendJSON(previous.text)
    bytes.append(literal: "}\n")
  }
}

// MARK: - Reading

/// Why bytes are no record.
package enum LogRecordError: Error, Equatable {
  /// They are not of the form of a record.
  case malformed
  /// They are of a later version; `previous` is the link that they say they follow.
  case newer(version: UInt64, previous: ChainLink)
}

extension LogRecord {
  /// Numbers in records are below it, so that adding to one cannot overflow.
  private static let numberLimit: UInt64 = 1 << 53

  /// Reads a record; what it holds is not trusted.
  package init(_ bytes: [UInt8]) throws(LogRecordError) {
    let end = bytes.firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
    guard let tree = Self.tree(of: bytes[..<end]), tree.kind(of: tree.root) == .object else { throw .malformed }
    func number(_ name: String) throws(LogRecordError) -> UInt64 {
      guard let node = tree.member(name, of: tree.root), let number = tree.uint64(node), number < Self.numberLimit
      else { throw .malformed }
      return number
    }
    func string(_ name: String) throws(LogRecordError) -> String {
      guard let node = tree.member(name, of: tree.root), tree.kind(of: node) == .string, let text = tree.string(node)
      else { throw .malformed }
      return text
    }
    let version = try number("v")
    guard let previous = ChainLink(try string("prev")) else { throw .malformed }
    guard version <= Self.version else { throw .newer(version: version, previous: previous) }
    let (term, node) = (try number("term"), try string("node"))
    switch try string("kind") {
    case "batch":
      head = .batch(
        BatchHead(
          term: term, number: try number("n"), node: node, first: Revision(try number("first")), previous: previous))
    case "claim":
      guard let epoch = Epoch(try string("epoch")) else { throw .malformed }
      head = .claim(
        ClaimHead(
          term: term, node: node, session: try string("session"), last: Revision(try number("last")),
          previous: previous, epoch: epoch))
    case "fence":
      head = .fence(
        FenceHead(
          term: term, node: node, session: try string("session"), after: try number("after"), proof: previous))
    default: throw .malformed
    }
    bodyStart = min(end + 1, bytes.count)
    guard let counts = Self.counts(of: bytes.span, from: bodyStart) else { throw .malformed }
    self.counts = counts
    self.bytes = bytes
  }

  /// A line as a tree; nil when it is not JSON.
  static func tree(of line: ArraySlice<UInt8>) -> JSONTree? {
    do throws(JSONError) {
      return JSONTree(try JSONText(validating: line.span, limits: .unlimited))
    } catch {
      return nil
    }
  }
}
