// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalStore

/// Judging a table by what judges requests.
extension AccessTable {
  /// An item that is not as the table says.
  struct Failure {
    let line: Int
    /// What is wrong, and why it is so: one line.
    let text: String
  }

  /// The items that are not as the table says, in the order of the file.
  func failures(_ policy: AccessPolicy) -> [Failure] {
    let index = RuleIndex(policy)
    var failures: [Failure] = []
    for row in rows {
      let rights = Rights(index, row.identity, row.request)
      for (items, isExpected) in [(row.can, true), (row.cannot, false)] {
        for item in items {
          let explanation = row.explain(item, rights)
          guard explanation.answer != isExpected else { continue }
          let says = isExpected ? "is to be able to" : "is not to be able to"
          let found =
            switch explanation.answer {
            case true?: "can"
            case false?: "cannot"
            case nil: "can in part"
            }
          failures.append(
            Failure(
              line: item.line,
              text: "\(row.who) \(says) \(item.text.printable), and \(found). "
                + ExplanationText.line(JSONTree(explanation.json))))
        }
      }
    }
    return failures.sorted { $0.line < $1.line }
  }
}

extension AccessTable.Row {
  fileprivate func explain(_ item: AccessTable.Item, _ rights: Rights) -> AccessExplanation {
    func read(_ path: PropertyPath) -> JSONText? { properties[path] }
    guard let path = item.path else { return rights.explain(item.operation, of: item.pattern, read: read) }
    let subject = AccessSubject(item.operation, path, item.value, found: properties[path], at: now)
    return rights.explain(item.operation, subject, read: read)
  }

  /// Who it is about, for people.
  fileprivate var who: String {
    guard let identity else { return "somebody unknown" }
    return identity.id.isEmpty ? "somebody with \(identity.auth.text(of: .root))" : identity.id.printable
  }
}

extension AccessExplanation {
  /// Whether it can be done; nil when it can in part.
  fileprivate var answer: Bool? {
    switch visibility {
    case .whole?: true
    case .part?: nil
    case .nothing?: false
    case nil: isAllowed
    }
  }
}
