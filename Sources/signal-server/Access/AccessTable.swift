// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// What somebody can do, and what not, as a file of tests says it (`docs/access.md`).
struct AccessTable {
  /// Why a file is no table, and where.
  struct Fault: Error, Equatable, CustomStringConvertible {
    let message: String
    /// Counted from one, like `column`.
    let line: Int
    let column: Int

    var description: String { "\(line):\(column): \(message)" }
  }

  /// One operation that is possible, or not.
  struct Item {
    /// As it is written.
    let text: String
    let operation: AccessOperation
    let pattern: PathPattern
    /// The property; nil where it is about a pattern, or messages that are not known.
    let path: PropertyPath?
    /// What is set or sent.
    let value: JSONText?
    let line: Int
  }

  /// One entry: who, in which state of things, and what is expected.
  struct Row {
    /// nil for somebody unknown.
    var identity: Identity?
    var properties: [PropertyPath: JSONText] = [:]
    var request = RequestFacts()
    var now = Timestamp.now
    var can: [Item] = []
    var cannot: [Item] = []
  }

  /// The largest file.
  static let byteLimit = 1 << 20

  var rows: [Row] = []

  /// Reads a file.
  init(_ bytes: [UInt8], paths: PathLimits, values: JSONLimits) throws(Fault) {
    guard bytes.count <= Self.byteLimit else {
      throw Fault(message: "a table has at most \(SettingText.text(bytes: Self.byteLimit))", line: 1, column: 1)
    }
    let root: YAMLNode?
    do throws(YAMLError) {
      root = try YAMLNode(bytes)
    } catch {
      throw Fault(message: error.message, line: error.line, column: 1)
    }
    guard let root, case .sequence(let entries) = root.content, !entries.isEmpty else {
      throw Fault(message: "a table is a list of entries that begin with '- as:'", line: root?.line ?? 1, column: 1)
    }
    let reader = Reader(paths: paths, values: values)
    for entry in entries { rows.append(try reader.row(entry)) }
  }

  /// How many operations it has.
  var count: Int { rows.reduce(0) { $0 + $1.can.count + $1.cannot.count } }
}

/// Reads the parts of a table.
private struct Reader {
  let paths: PathLimits
  let values: JSONLimits

  private static let members = ["as", "given", "request", "now", "can", "cannot"]

  func row(_ node: YAMLNode) throws(AccessTable.Fault) -> AccessTable.Row {
    let members = try self.members(of: node, among: Self.members, of: "an entry")
    guard let subject = members["as"] else {
      throw fault("an entry says who it is about: 'as' with claims, or null for somebody unknown", node)
    }
    var row = AccessTable.Row()
    row.identity = try identity(subject)
    if let given = members["given"] {
      guard case .mapping(let properties) = given.content else {
        throw fault("'given' is values by their paths", given)
      }
      for property in properties {
        let path = try path(property.key, at: property.value)
        row.properties[path] = try json(property.value)
      }
    }
    if let request = members["request"] { row.request = try facts(request) }
    if let now = members["now"] {
      guard case .scalar(let text) = now.content, let time = Timestamp(text) else {
        throw fault("'now' is a time such as 2026-01-02T03:04:05Z", now)
      }
      row.now = time
    }
    row.can = try items(members["can"], "can")
    row.cannot = try items(members["cannot"], "cannot")
    guard !row.can.isEmpty || !row.cannot.isEmpty else { throw fault("an entry has 'can' or 'cannot'", node) }
    return row
  }

  private func identity(_ node: YAMLNode) throws(AccessTable.Fault) -> Identity? {
    if node.content == .nothing { return nil }
    guard let identity = Identity(assuming: JSONTree(try json(node))) else {
      let kinds = Identity.Kind.allCases.map(\.rawValue).joined(separator: ", ")
      throw fault(
        "'as' is null or claims, in which kind is one of \(kinds), id is a text and expires a time", node)
    }
    return identity
  }

  private func facts(_ node: YAMLNode) throws(AccessTable.Fault) -> RequestFacts {
    let members = try self.members(of: node, among: ["ip", "origin", "tls"], of: "a request")
    func text(_ name: String) throws(AccessTable.Fault) -> String? {
      guard let node = members[name], node.content != .nothing else { return nil }
      guard case .scalar(let text) = node.content else { throw fault("'\(name)' of a request is a text", node) }
      return text
    }
    let tls = try text("tls") ?? "false"
    guard let isEncrypted = Bool(tls) else {
      throw fault("'tls' of a request is true or false", members["tls"] ?? node)
    }
    return RequestFacts(address: try text("ip"), origin: try text("origin"), isEncrypted: isEncrypted)
  }

  // MARK: Items

  private func items(_ node: YAMLNode?, _ name: String) throws(AccessTable.Fault) -> [AccessTable.Item] {
    guard let node else { return [] }
    guard case .sequence(let nodes) = node.content else { throw fault("'\(name)' is a list of operations", node) }
    var items: [AccessTable.Item] = []
    for node in nodes { items += try self.items(of: node) }
    return items
  }

  /// The operations of one item: `read` and `write` stand for several.
  private func items(of node: YAMLNode) throws(AccessTable.Fault) -> [AccessTable.Item] {
    guard case .scalar(let text) = node.content else {
      throw fault(
        "an operation is one line such as get rooms/r1/topic; with braces or ', ' in it, it needs quotes", node)
    }
    let word = String(text.prefix { $0 != " " })
    let names = AccessOperation.allCases.map(\.rawValue) + ["read", "write"]
    guard let operations = AccessOperation.named(word) else {
      let nearest = Suggestion.nearest(to: word, among: names).map { "; did you mean \($0)?" }
      let hint = nearest ?? "; it begins with one of \(names.joined(separator: ", "))"
      throw fault("unknown operation '\(word.printable)'\(hint)", node)
    }
    let (place, rest) = try place(text.dropFirst(word.count).drop { $0 == " " }, at: node)
    guard !place.isEmpty else { throw fault("'\(word)' needs a path", node) }
    var value: JSONText?
    if !rest.isEmpty {
      guard operations.contains(where: { [.set, .send, .listen].contains($0) }) else {
        throw fault("there is no value to \(word); what is there stands in 'given'", node)
      }
      do throws(JSONError) {
        value = try JSONText(validating: String(rest), limits: values)
      } catch {
        throw fault("'\(String(rest).printable)' is not JSON: \(error)", node)
      }
    }
    var items: [AccessTable.Item] = []
    for operation in operations {
      if value == nil, operation == .set || operation == .send {
        throw fault("'\(word)' needs a value behind the path, such as \(word) \(place.printable) 1", node)
      }
      items.append(try item(text, operation, place, operation == .delete ? nil : value, at: node))
    }
    return items
  }

  private func item(
    _ text: String, _ operation: AccessOperation, _ place: String, _ value: JSONText?, at node: YAMLNode
  ) throws(AccessTable.Fault) -> AccessTable.Item {
    let pattern: PathPattern
    do throws(PathError) {
      pattern = try PathPattern(place, limits: paths)
    } catch {
      throw fault("'\(place.printable)' is no path: \(error)", node)
    }
    // One property, or messages and watchers of whatever there is.
    let isAboutPattern =
      switch operation {
      case .list, .watch: !pattern.isLiteral
      case .listen: value == nil
      case .demand: true
      case .get, .set, .delete, .define, .send, .timer: false
      }
    return AccessTable.Item(
      text: text, operation: operation, pattern: pattern, path: isAboutPattern ? nil : try path(place, at: node),
      value: value, line: node.line)
  }

  /// The path at the beginning of a text, which may stand in quotes as in JSON, and what follows it.
  private func place(
    _ text: Substring, at node: YAMLNode
  ) throws(AccessTable.Fault) -> (place: String, rest: Substring) {
    guard text.first == "\"" else {
      let place = text.prefix { $0 != " " }
      return (String(place), text[place.endIndex...].drop { $0 == " " })
    }
    var isEscaped = false
    for index in text.indices.dropFirst() {
      if isEscaped {
        isEscaped = false
      } else if text[index] == "\\" {
        isEscaped = true
      } else if text[index] == "\"" {
        let end = text.index(after: index)
        guard let json = try? JSONText(validating: String(text[..<end])), let place = JSONTree(json).string(.root)
        else { break }
        return (place, text[end...].drop { $0 == " " })
      }
    }
    throw fault("the path does not end with a quote", node)
  }

  private func path(_ text: String, at node: YAMLNode) throws(AccessTable.Fault) -> PropertyPath {
    do throws(PathError) {
      return try PropertyPath(text, limits: paths)
    } catch {
      throw fault("'\(text.printable)' is no path of a property: \(error)", node)
    }
  }

  // MARK: YAML

  private func members(
    of node: YAMLNode, among names: [String], of subject: String
  ) throws(AccessTable.Fault) -> [String: YAMLNode] {
    guard case .mapping(let members) = node.content else {
      throw fault("\(subject) is a group of \(names.joined(separator: ", "))", node)
    }
    var nodes: [String: YAMLNode] = [:]
    for member in members {
      guard names.contains(member.key) else {
        let nearest = Suggestion.nearest(to: member.key, among: names).map { "; did you mean \($0)?" } ?? ""
        throw AccessTable.Fault(
          message: "\(subject) has no '\(member.key.printable)'\(nearest)", line: member.line, column: node.column)
      }
      nodes[member.key] = member.value
    }
    return nodes
  }

  /// A value of YAML as JSON: what has no quotes is a number or a bool if JSON reads it so.
  private func json(_ node: YAMLNode) throws(AccessTable.Fault) -> JSONText {
    var text: [UInt8] = []
    append(node, to: &text)
    do throws(JSONError) {
      return try JSONText(validating: text, limits: values)
    } catch {
      throw fault("the value cannot be one of a property: \(error)", node)
    }
  }

  private func append(_ node: YAMLNode, to text: inout [UInt8]) {
    switch node.content {
    case .nothing: text.append(contentsOf: "null".utf8)
    case .scalar(let scalar):
      let number = node.isPlain ? try? JSONText(validating: scalar, limits: values) : nil
      let isJSON = number.map { json in
        [.number, .true, .false].contains(JSONTree(json).kind(of: .root))
      }
      if isJSON == true, let number { text.appendJSON(number) } else { text.appendJSON(scalar) }
    case .sequence(let nodes):
      text.append(UInt8(ascii: "["))
      for (index, node) in nodes.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        append(node, to: &text)
      }
      text.append(UInt8(ascii: "]"))
    case .mapping(let members):
      text.append(UInt8(ascii: "{"))
      for (index, member) in members.enumerated() {
        if index > 0 { text.append(UInt8(ascii: ",")) }
        text.appendJSON(member.key)
        text.append(UInt8(ascii: ":"))
        append(member.value, to: &text)
      }
      text.append(UInt8(ascii: "}"))
    }
  }

  private func fault(_ message: String, _ node: YAMLNode) -> AccessTable.Fault {
    AccessTable.Fault(message: message, line: node.line, column: node.column)
  }
}
