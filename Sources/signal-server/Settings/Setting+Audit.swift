// SPDX-License-Identifier: MIT
import SignalHTTP

extension Setting {
  /// What an audit log notes: words of a few, each once.
  static func auditTopics(_ name: String, _ field: Field<[AuditTopic]>, _ summary: String) -> Setting {
    let words = AuditTopic.allCases.map(\.rawValue).joined(separator: ", ")
    return Setting(
      name: name, expected: "a list of some of \(words)", summary: summary, isList: true,
      assign: { texts, settings in
        let topics = texts.compactMap { AuditTopic(rawValue: $0) }
        guard topics.count == texts.count, Set(topics).count == topics.count else { return false }
        settings[keyPath: field] = topics
        return true
      },
      texts: { $0[keyPath: field].map(\.rawValue) }, copy: { $1[keyPath: field] = $0[keyPath: field] })
  }
}
