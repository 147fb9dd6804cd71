// SPDX-License-Identifier: MIT

internal import JSON
internal import SignalHTTP
internal import SignalStore

/// What a node tells of what its clients watch: some of it, or what of it has changed.
struct DemandMessage: Sendable, Equatable {
  /// The name of the node, and of its process.
  var node: String
  var session: String
  /// Counts the messages of the process.
  var number: UInt64
  /// The number of the first message of the last time that it has told everything.
  var first: UInt64
  /// Whether with this message, and those since the first, everything is told.
  var isWhole: Bool
  /// Lists of patterns, each with how many subscriptions have it now.
  var lists: [WatchedList]

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
}

extension DemandMessage {
  /// Reads it; nil when it is none.
  init?(_ bytes: [UInt8]) {
    guard let reader = MessageReader(bytes[...]), let node = reader.text("node"),
      let session = reader.text("session"), let count = reader.number("n"), let first = reader.number("first"),
      let isWhole = reader.flag("whole"), let list = reader.member("lists"), reader.tree.kind(of: list) == .array
    else { return nil }
    let tree = reader.tree
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
