// SPDX-License-Identifier: MIT

internal import JSON
package import SignalHTTP
internal import SignalStore

/// What a node tells of what its clients watch: some of it, or what of it has changed.
package struct DemandMessage: Sendable, Equatable {
  /// The name of the node, and of its process.
  package var node: String
  package var session: String
  /// Counts the messages of the process.
  package var number: UInt64
  /// The number of the first message of the last time that it has told everything.
  package var first: UInt64
  /// Whether with this message, and those since the first, everything is told.
  package var isWhole: Bool
  /// Lists of patterns, each with how many subscriptions have it now.
  package var lists: [WatchedList]

  package init(
    node: String, session: String, number: UInt64, first: UInt64, isWhole: Bool, lists: [WatchedList]
  ) {
    self.node = node
    self.session = session
    self.number = number
    self.first = first
    self.isWhole = isWhole
    self.lists = lists
  }

  /// As it is sent: an object of JSON, with a list for each list, the number before its patterns.
  var bytes: [UInt8] {
    var text: [UInt8] = []
    text.append(literal: #"{"node":"#)
    text.appendJSON(node)
    text.append(literal: #","session":"#)
    text.appendJSON(session)
    text.append(literal: #","n":"#)
    text.appendJSON(number)
    text.append(literal: #","first":"#)
    text.appendJSON(first)
    text.append(literal: isWhole ? #","whole":true,"lists":["# : #","whole":false,"lists":["#)
    for (index, list) in lists.enumerated() {
      text.append(literal: index == 0 ? "[" : ",[")
      text.appendJSON(list.count)
      for pattern in list.patterns {
        text.append(UInt8(ascii: ","))
        text.appendJSON(pattern.description)
      }
      text.append(UInt8(ascii: "]"))
    }
    text.append(literal: "]}")
    return text
  }

  /// Reads it; nil when it is none.
  init?(_ bytes: [UInt8]) {
    guard let tree = LogRecord.tree(of: bytes[...]), tree.kind(of: tree.root) == .object else { return nil }
    func number(_ name: String) -> UInt64? {
      tree.member(name, of: tree.root).flatMap { tree.uint64($0) }.flatMap { $0 < 1 << 62 ? $0 : nil }
    }
    func text(_ name: String) -> String? { tree.member(name, of: tree.root).flatMap { tree.string($0) } }
    guard let node = text("node"), let session = text("session"), let count = number("n"),
      let first = number("first"), let isWhole = tree.member("whole", of: tree.root).flatMap({ tree.bool($0) }),
      let list = tree.member("lists", of: tree.root), tree.kind(of: list) == .array
    else { return nil }
    var lists: [WatchedList] = []
    for element in tree.elements(of: list) {
      guard tree.kind(of: element) == .array else { return nil }
      var patterns: [PathPattern] = []
      var subscriptions: UInt64?
      for part in tree.elements(of: element) {
        if subscriptions == nil {
          guard let value = tree.uint64(part), value < 1 << 31 else { return nil }
          subscriptions = value
        } else {
          guard let string = tree.string(part), let pattern = try? PathPattern(string, limits: EntryReader.paths) else {
            return nil
          }
          patterns.append(pattern)
        }
      }
      guard let subscriptions, !patterns.isEmpty else { return nil }
      lists.append(WatchedList(patterns, Int(subscriptions)))
    }
    self.init(node: node, session: session, number: count, first: first, isWhole: isWhole, lists: lists)
  }
}
