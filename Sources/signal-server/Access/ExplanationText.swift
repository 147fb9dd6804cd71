// SPDX-License-Identifier: MIT
import JSON

/// What the server answers to a question about access, for people.
enum ExplanationText {
  /// The decision, and a line for each condition.
  static func lines(_ tree: JSONTree) -> [String] {
    let answer = Members(tree: tree, node: .root)
    let word =
      switch tree.member("allowed", of: .root).flatMap(tree.bool) {
      case true?: "allowed"
      case false?: "not allowed"
      case nil: "unknown"
      }
    var lines = ["\(word): \((answer.string("reason") ?? "").printable)"] + entries(tree)
    if let more = tree.member("more", of: .root) { lines.append("and \(tree.text(of: more)) further conditions") }
    return lines
  }

  /// All of it in one line.
  static func line(_ tree: JSONTree) -> String {
    let reason = (Members(tree: tree, node: .root).string("reason") ?? "").printable
    return ([reason] + entries(tree)).joined(separator: " | ")
  }

  private static func entries(_ tree: JSONTree) -> [String] {
    guard let list = tree.member("entries", of: .root), tree.kind(of: list) == .array else { return [] }
    return tree.elements(of: list).map { line($0, tree) }
  }

  private static func line(_ node: JSONTree.Node, _ tree: JSONTree) -> String {
    let entry = Members(tree: tree, node: node)
    let rule = tree.member("rule", of: node).map { "\(tree.text(of: $0))" } ?? "?"
    var text = "rule \(rule) '\(entry.string("match") ?? "")' \(entry.string("condition") ?? ""):"
    text += " \(entry.string("result") ?? ""), because \(entry.string("because") ?? "")"
    var values: [String] = []
    if let object = tree.member("values", of: node), tree.kind(of: object) == .object {
      for key in tree.keys(of: object) {
        guard let name = tree.string(key), let value = tree.value(ofKey: key) else { continue }
        values.append("\(name) = \(tree.text(of: value))")
      }
    }
    if let withheld = tree.member("withheld", of: node), tree.kind(of: withheld) == .array {
      values += tree.elements(of: withheld).compactMap { tree.string($0).map { "\($0) is not known" } }
    }
    if !values.isEmpty { text += " (\(values.joined(separator: ", ")))" }
    if let failure = entry.string("failure") { text += "; it fails: \(failure)" }
    return text.printable
  }
}
