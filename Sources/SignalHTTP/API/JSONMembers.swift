// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The members of one object of a message, taken by name; any that are left at the end are refused by name.
///
/// Names are compared by their bytes.
struct JSONMembers {
  let tree: JSONTree
  private var members: [(key: JSONTree.Node, value: JSONTree.Node)] = []
  /// What the members belong to, for messages: "a subscribe command".
  private let subject: String

  /// More names than any object of the protocol has: an object with that many has an unknown one.
  private static let nameLimit = 32

  /// Opens an object; nil when the node is not one.
  ///
  /// Members after too many names are not examined: the object is refused for its names already, and comparing each of
  /// a hundred thousand with all before it would stall the loop.
  init?(_ tree: JSONTree, _ node: JSONTree.Node, of subject: String) {
    guard tree.kind(of: node) == .object else { return nil }
    self.tree = tree
    self.subject = subject
    for key in tree.keys(of: node) {
      guard let value = tree.value(ofKey: key) else { continue }
      // Of several members with the same name the last counts.
      tree.withUTF8(of: key) { name in members.removeAll { tree.string($0.key, equals: name) == true } }
      members.append((key, value))
      if members.count > Self.nameLimit { break }
    }
  }

  /// Parses a text that has to be an object.
  init(reading text: Span<UInt8>, within limits: JSONLimits, of subject: String) throws(Problem) {
    let tree: JSONTree
    do throws(JSONError) {
      tree = JSONTree(try JSONText(validating: text, limits: limits))
    } catch {
      throw Problem(.badJSON, "\(error)", position: error.offset)
    }
    guard let members = JSONMembers(tree, tree.root, of: subject) else {
      throw Problem(.badMessage, "\(Self.sentenceSubject(subject)) is a JSON object.")
    }
    self = members
  }

  mutating func take(_ name: String) -> JSONTree.Node? {
    index(of: name).map { members.remove(at: $0).value }
  }

  func has(_ name: String) -> Bool { index(of: name) != nil }

  private func index(of name: String) -> Int? {
    members.firstIndex { tree.string($0.key, equals: name.utf8.span) == true }
  }

  mutating func string(_ name: String) throws(Problem) -> String? {
    guard let node = take(name) else { return nil }
    guard tree.kind(of: node) == .string, let string = tree.string(node) else { throw wrong(name, "a string") }
    return string
  }

  mutating func bool(_ name: String) throws(Problem) -> Bool? {
    guard let node = take(name) else { return nil }
    guard let bool = tree.bool(node) else { throw wrong(name, "true or false") }
    return bool
  }

  /// An integer that every JSON implementation represents exactly: 0 to 2^53-1.
  mutating func integer(_ name: String) throws(Problem) -> Int? {
    guard let node = take(name) else { return nil }
    guard let number = tree.int64(node), number >= 0, number < 1 << 53 else {
      throw wrong(name, "an integer from 0 to 2^53-1")
    }
    return Int(number)
  }

  /// A number, rounded to the nearest `Double`.
  mutating func number(_ name: String) throws(Problem) -> Double? {
    guard let node = take(name) else { return nil }
    guard let number = tree.double(node) else { throw wrong(name, "a number") }
    return number
  }

  mutating func strings(_ name: String) throws(Problem) -> [String]? {
    guard let node = take(name) else { return nil }
    guard tree.kind(of: node) == .array, tree.count(of: node) <= Self.nameLimit else {
      throw wrong(name, "an array of names")
    }
    var strings: [String] = []
    for element in tree.elements(of: node) {
      guard tree.kind(of: element) == .string, let string = tree.string(element) else {
        throw wrong(name, "an array of names")
      }
      strings.append(string)
    }
    return strings
  }

  mutating func object(_ name: String, of subject: String) throws(Problem) -> JSONMembers? {
    guard let node = take(name) else { return nil }
    guard let members = JSONMembers(tree, node, of: subject) else { throw wrong(name, "an object") }
    return members
  }

  /// A number, or a percentage in a string.
  mutating func deadband(_ name: String) throws(Problem) -> Deadband? {
    guard let node = take(name) else { return nil }
    switch tree.kind(of: node) {
    case .number: return try DeliveryRequest.deadband(tree.text(of: node).description)
    case .string where tree.string(node)?.hasSuffix("%") == true:
      return try DeliveryRequest.deadband(tree.string(node) ?? "")
    default: throw wrong(name, "a number or a share like \"2%\"")
    }
  }

  /// A value as it is written in the message.
  mutating func value(_ name: String) -> JSONText? { take(name).map { tree.text(of: $0) } }

  /// A value that is to be stored, held to the limits of values: the message around it may be larger.
  mutating func value(_ name: String, within limits: JSONLimits) throws(Problem) -> JSONText? {
    guard let node = take(name) else { return nil }
    guard tree.range(of: node).count <= limits.bytes else {
      throw Problem(.bodyTooLarge, "\"\(name)\" of \(subject) has at most \(limits.bytes) bytes.")
    }
    guard tree.depth(of: node) <= limits.depth else {
      throw Problem(.badJSON, "\"\(name)\" of \(subject) has at most \(limits.depth) levels.")
    }
    return tree.text(of: node)
  }

  mutating func path(_ name: String, limits: PathLimits) throws(Problem) -> PropertyPath {
    // Two different ones would be the same path.
    if let index = index(of: name), tree.hasLoneSurrogate(members[index].value) {
      throw Problem(.badPath, "The path contains half of a surrogate pair.")
    }
    guard let text = try string(name) else { throw missing(name) }
    do {
      return try PropertyPath(text, limits: limits)
    } catch {
      throw Problem(.badPath, "\(error)")
    }
  }

  mutating func cursor(_ name: String) throws(Problem) -> Cursor? {
    guard let text = try string(name) else { return nil }
    guard let cursor = Cursor(text) else {
      throw Problem(.badCursor, "\"\(name)\" is not of the form <epoch>.<revision>.")
    }
    return cursor
  }

  /// A length of time, such as `"30s"`.
  mutating func duration(_ name: String) throws(Problem) -> Duration? {
    guard let text = try string(name) else { return nil }
    return try WireDuration.read(text, name)
  }

  /// `ifMatch` and `ifNoneMatch`, which exclude each other.
  mutating func condition() throws(Problem) -> Condition {
    let match = try cursor("ifMatch")
    let noneMatch = try string("ifNoneMatch")
    if let noneMatch, noneMatch != "*" { throw Problem(.badCondition, #""ifNoneMatch" can only be "*"."#) }
    switch (match, noneMatch) {
    case (let cursor?, nil): return .matches(cursor)
    case (nil, _?): return .absent
    case (nil, nil): return .any
    case (_?, _?): throw Problem(.badCondition, #""ifMatch" and "ifNoneMatch" exclude each other."#)
    }
  }

  /// One pattern or an array of them.
  mutating func patterns(_ name: String, limits: LiveLimits, paths: PathLimits) throws(Problem) -> [PathPattern] {
    guard let node = take(name) else { throw missing(name) }
    let nodes = tree.kind(of: node) == .array ? Array(tree.elements(of: node)) : [node]
    guard nodes.count <= limits.patternsPerSubscription else {
      throw Problem(.tooManyPatterns, "A subscription has at most \(limits.patternsPerSubscription) patterns.")
    }
    guard !nodes.isEmpty else { throw Problem(.badMessage, "\"\(name)\" of \(subject) is empty.") }
    var patterns: [PathPattern] = []
    for node in nodes {
      guard tree.kind(of: node) == .string, let text = tree.string(node) else {
        throw wrong(name, "a pattern or an array of patterns")
      }
      if tree.hasLoneSurrogate(node) {
        throw Problem(.badPattern, "The pattern contains half of a surrogate pair.")
      }
      do {
        patterns.append(try PathPattern(text, limits: paths))
      } catch {
        throw Problem(.badPattern, "\(error)")
      }
    }
    return patterns
  }

  /// Refuses members that have not been taken.
  func end() throws(Problem) {
    guard let left = members.first else { return }
    throw Problem(.unknownMember, "\(sentenceSubject) has no member \"\(tree.string(left.key) ?? "")\".")
  }

  private var sentenceSubject: String { Self.sentenceSubject(subject) }

  private static func sentenceSubject(_ subject: String) -> String {
    subject.prefix(1).uppercased() + subject.dropFirst()
  }

  func missing(_ name: String) -> Problem { Problem(.badMessage, "\(sentenceSubject) needs \"\(name)\".") }

  private func wrong(_ name: String, _ what: String) -> Problem {
    Problem(.badMessage, "\"\(name)\" of \(subject) is not \(what).")
  }
}
