// SPDX-License-Identifier: MIT
import JSON

/// A message of the live protocol as a test looks at it: its members by name, or all of it in one line.
package struct LiveMessage: Sendable {
  /// The text as it came.
  package let text: String
  private let tree: JSONTree

  /// Parses a text.
  ///
  /// - Throws: `JSONError` when it is none.
  package init(_ text: String) throws {
    self.text = text
    tree = JSONTree(try JSONText(validating: text, limits: JSONLimits(bytes: 64 << 20)))
  }

  /// The member's value as it stands in the text; nil when there is none.
  package func raw(_ name: String) -> String? { node(name).map { tree.text(of: $0).description } }

  /// The member, if it is a string.
  package func string(_ name: String) -> String? { node(name).flatMap { tree.string($0) } }

  /// The member, if it is an integer.
  package func int(_ name: String) -> Int? { node(name).flatMap { tree.int64($0) }.map { Int($0) } }

  /// The member, if it is true or false.
  package func bool(_ name: String) -> Bool? { node(name).flatMap { tree.bool($0) } }

  /// The member as a message of its own, if it is an object.
  package func object(_ name: String) -> LiveMessage? {
    guard let node = node(name), tree.kind(of: node) == .object else { return nil }
    return try? LiveMessage(tree.text(of: node).description)
  }

  /// The elements of the member, if it is an array, as messages of their own.
  package func objects(_ name: String) -> [LiveMessage] {
    guard let node = node(name) else { return [] }
    return tree.elements(of: node).compactMap { try? LiveMessage(tree.text(of: $0).description) }
  }

  /// The names of the members, in order.
  package var names: [String] { tree.keys(of: tree.root).compactMap { tree.string($0) } }

  /// `type`.
  package var type: String { string("type") ?? "" }
  /// `revision`.
  package var revision: Int { int("revision") ?? -1 }
  /// `path`.
  package var path: String { string("path") ?? "" }

  private func node(_ name: String) -> JSONTree.Node? {
    // The last of several, as readers of JSON have it.
    var found: JSONTree.Node?
    for key in tree.keys(of: tree.root) where tree.string(key) == name { found = tree.value(ofKey: key) }
    return found
  }
}

extension LiveMessage: CustomStringConvertible {
  /// Everything but the time in one line, in the form in which tests write what they expect.
  ///
  ///     ok 1 sub=1 @3 recovered
  ///     didSet 1 a=2 was=1 entered @4 more
  ///     live 1 @4
  ///     error 2 400 bad_filter
  package var description: String {
    var words = [type]
    if type == "error", let error = object("error") {
      words += [int("id").map(String.init), error.raw("status"), error.string("code")].compactMap(\.self)
      return words.joined(separator: " ")
    }
    if type == "hello" { return "hello @\(revision)" }
    for name in names {
      let value = raw(name) ?? ""
      switch name {
      case "type", "time", "value": break
      case "id": words.append(value)
      case "subscription": words.append(type == "ok" ? "sub=\(value)" : value)
      case "path": words.append(raw("value").map { "\(path)=\($0)" } ?? path)
      case "oldValue": words.append("was=\(value)")
      case "revision": words.append("@\(value)")
      case "op", "reason": words.append(string(name) ?? value)
      case "entered", "more", "recovered", "changed": words.append(value == "true" ? name : "\(name)=\(value)")
      default: words.append("\(name)=\(value)")
      }
    }
    return words.joined(separator: " ")
  }
}
