// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// One page of the list (`docs/protocol.md` §2.2), bounded in properties, in bytes, and in properties looked at.
struct PropertyListPage {
  /// What the page is true for.
  let cursor: Cursor
  /// The response's content.
  private(set) var text: [UInt8] = []
  /// Where the next page begins; nil when this is the last.
  private(set) var next: PropertyPath?

  init(
    _ snapshot: StoreSnapshot, _ patterns: [PathPattern], _ filter: Filter?, after: PropertyPath?, limit: Int,
    _ limits: LiveLimits, asLines: Bool
  ) {
    cursor = snapshot.cursor
    var scan = snapshot.scan(match: patterns, after: after)
    var budget = limits.turnProperties
    var count = 0
    if !asLines {
      text.append(literal: #"{"cursor":""#)
      cursor.write(to: &text)
      text.append(literal: #"","properties":["#)
    }
    while count < limit, text.count < limits.listBytes, let stored = scan.next(visiting: &budget) {
      if let filter, !filter.holds(forStored: stored) { continue }
      if !asLines, count > 0 { text.append(UInt8(ascii: ",")) }
      text.append(literal: #"{"path":"#)
      let path = stored.path.bytes
      text.appendJSON(utf8: path.span)
      text.append(literal: #","value":"#)
      text.appendJSON(stored.value)
      text.append(literal: #","revision":"#)
      text.appendJSON(stored.revision.number)
      text.append(literal: #","time":""#)
      stored.time.write(to: &text)
      text.append(UInt8(ascii: "\""))
      if let computation = stored.computation { Self.append(computation, to: &text) }
      LiveEventWriter.appendExpires(of: stored, to: &text)
      text.append(literal: asLines ? "}\n" : "}")
      count += 1
    }
    next = scan.isAtEnd ? nil : scan.visited
    guard !asLines else { return }
    text.append(literal: "]")
    if let next {
      text.append(literal: #","next":"#)
      let path = next.bytes
      text.appendJSON(utf8: path.span)
    }
    text.append(UInt8(ascii: "}"))
  }
  /// The member that tells a computed property from others.
  private static func append(_ computation: Computation, to text: inout [UInt8]) {
    text.append(literal: #","computed":{"formula":"#)
    text.appendJSON(computation.formula.source)
    if let error = computation.error {
      text.append(literal: #","error":"#)
      text.appendJSON(error)
    }
    text.append(UInt8(ascii: "}"))
  }
}
