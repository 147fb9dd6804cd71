// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalStore

/// Beats as they are sent: an object of JSON.
extension Beat {
  var bytes: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"node":"#)
    text.appendJSON(node)
    text.append(literal: #","session":"#)
    text.appendJSON(session)
    text.append(literal: #","term":"#)
    text.appendJSON(term)
    text.append(literal: isLeading ? #","leads":true"# : #","leads":false"#)
    if isResigning { text.append(literal: #","resigns":true"#) }
    text.append(literal: #","sequence":"#)
    text.appendJSON(sequence)
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
    text.append(literal: #","holders":"#)
    text.appendJSON(holders)
    if demand > 0 {
      text.append(literal: #","demand":"#)
      text.appendJSON(demand)
    }
    if told > 0 {
      text.append(literal: #","told":"#)
      text.appendJSON(told)
    }
    text.append(literal: #","time":"#)
    text.append(contentsOf: String(time.milliseconds).utf8)
    text.append(literal: #","v":"#)
    text.appendJSON(version)
    text.append(UInt8(ascii: "}"))
    return text
  }

  /// Reads a beat; nil when it is none.
  init?(_ bytes: [UInt8]) {
    guard let tree = LogRecord.tree(of: bytes[...]), tree.kind(of: tree.root) == .object else { return nil }
    func number(_ name: String) -> UInt64? {
      tree.member(name, of: tree.root).flatMap { tree.uint64($0) }.flatMap { $0 < 1 << 62 ? $0 : nil }
    }
    func text(_ name: String) -> String? { tree.member(name, of: tree.root).flatMap { tree.string($0) } }
    func flag(_ name: String) -> Bool { tree.member(name, of: tree.root).flatMap { tree.bool($0) } ?? false }
    guard let node = text("node"), let session = text("session"), let term = number("term"),
      let sequence = number("sequence"), let revision = number("revision"), let version = number("v"),
      let time = tree.member("time", of: tree.root).flatMap({ tree.int64($0) })
    else { return nil }
    self.init(
      node: node, session: session, term: term, isLeading: flag("leads"), isResigning: flag("resigns"),
      sequence: sequence, revision: Revision(revision), holders: number("holders") ?? 0, demand: number("demand") ?? 0,
      told: number("told") ?? 0,
      time: Timestamp(milliseconds: time), version: version)
  }
}
