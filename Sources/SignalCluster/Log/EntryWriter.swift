// SPDX-License-Identifier: MIT

internal import JSON
package import SignalStore

/// Writes records of a store as entries of the log, each a line of JSON.
///
///     {"c":[["set","k/t",22.5],["delete","k/u"]],"time":"…","op":"b.4k2.17"}
///     {"renew":"k/t","ttl":[…]}
///     {"signal":"doorbell","message":"front","time":"…","number":9}
///
/// Only commits begin with `c`, and only they take a revision.
package enum EntryWriter {
  /// Appends a record.
  ///
  /// - Parameter operation: The forwarded operation that has made it; nil for none.
  package static func append(_ record: Record, operation: String?, to text: inout [UInt8]) {
    text.append(UInt8(ascii: "{"))
    switch record {
    case .commit(let commit), .omittedCommit(let commit): append(commit, &text)
    case .amendment(let property), .omittedAmendment(let property):
      text.append(literal: #""renew":"#)
      append(property.path, &text)
      appendExtra(of: property, keepsFormula: true, &text)
    case .signal(let message, let isKept):
      text.append(literal: #""signal":"#)
      append(message, &text)
      if isKept { text.append(literal: #","kept":true"#) }
    case .timerFired(let message, let count):
      text.append(literal: #""fired":"#)
      append(message, &text)
      text.append(literal: #","count":"#)
      text.appendJSON(count)
    case .timer(let timer): append(timer, &text)
    case .timerRemoved(let path):
      text.append(literal: #""timer":"#)
      append(path, &text)
      text.append(literal: #","removed":true"#)
    case .lastOperations(let holder, let operations):
      text.append(literal: #""will":"#)
      text.appendJSON(holder.number)
      text.append(literal: #","operations":"#)
      text.appendJSON(operations ?? .null)
    case .rules: preconditionFailure("A store of a cluster omits nothing.")
    }
    if let operation {
      text.append(literal: #","op":"#)
      text.appendJSON(operation)
    }
    text.append(literal: "}\n")
  }

  private static func append(_ commit: Commit, _ text: inout [UInt8]) {
    text.append(literal: #""c":["#)
    var isFirst = true
    for change in commit {
      if !isFirst { text.append(UInt8(ascii: ",")) }
      isFirst = false
      append(change, &text)
    }
    text.append(literal: #"],"time":"#)
    append(commit.time, &text)
  }

  private static func append(_ change: Change, _ text: inout [UInt8]) {
    guard let new = change.new else {
      switch change.op {
      case .set, .delete: text.append(literal: #"["delete","#)
      case .expire: text.append(literal: #"["expire","#)
      case .release: text.append(literal: #"["release","#)
      }
      append(change.path, &text)
      if change.isCorrection { text.append(literal: #",{"corrects":true}"#) }
      text.append(UInt8(ascii: "]"))
      return
    }
    text.append(literal: #"["set","#)
    append(new.path, &text)
    text.append(UInt8(ascii: ","))
    text.appendJSON(new.value)
    if new.lease != nil || new.computation != nil || change.isCorrection {
      text.append(literal: #",{"corrects":"#)
      text.appendJSON(change.isCorrection)
      let formula = new.computation?.formula
      appendExtra(of: new, keepsFormula: formula != nil && change.old?.computation?.formula == formula, &text)
      text.append(UInt8(ascii: "}"))
    }
    text.append(UInt8(ascii: "]"))
  }

  /// Appends what a property has beside its value, each with a comma before it.
  ///
  /// - Parameter keepsFormula: Whether it is computed by the formula that it had before, which is not written again.
  static func appendExtra(of property: StoredValue, keepsFormula: Bool = false, _ text: inout [UInt8]) {
    if let term = property.lease?.term {
      text.append(literal: #","ttl":"#)
      append(term, &text)
    }
    if let holder = property.lease?.holder {
      text.append(literal: #","holder":"#)
      text.appendJSON(holder.number)
    }
    if let computation = property.computation {
      text.append(literal: #","computed":"#)
      if keepsFormula { text.append(literal: "true") } else { text.appendJSON(computation.formula.source) }
      guard let error = computation.error else { return }
      text.append(literal: #","error":"#)
      text.appendJSON(error)
    }
  }

  /// The end, and the length exactly: whole seconds and the rest in attoseconds.
  private static func append(_ term: Lease.Term, _ text: inout [UInt8]) {
    text.append(contentsOf: "[\(term.end.milliseconds),".utf8)
    append(parts: term.length, &text)
    text.append(UInt8(ascii: "]"))
  }

  private static func append(parts length: Duration, _ text: inout [UInt8]) {
    let (seconds, attoseconds) = length.components
    text.append(contentsOf: "\(seconds),\(attoseconds)".utf8)
  }

  private static func append(_ message: SignalMessage, _ text: inout [UInt8]) {
    append(message.path, &text)
    text.append(literal: #","message":"#)
    text.appendJSON(message.message)
    text.append(literal: #","time":"#)
    append(message.time, &text)
    text.append(literal: #","number":"#)
    text.appendJSON(message.number)
  }

  static func append(_ timer: StoredTimer, _ text: inout [UInt8]) {
    text.append(literal: #""timer":"#)
    append(timer.path, &text)
    switch timer.schedule {
    case .after(let delay):
      text.append(literal: #","after":["#)
      append(parts: delay, &text)
      text.append(UInt8(ascii: "]"))
    case .at(let time): text.append(contentsOf: #","at":\#(time.milliseconds)"#.utf8)
    case .every(let interval):
      text.append(literal: #","every":["#)
      append(parts: interval, &text)
      text.append(UInt8(ascii: "]"))
    }
    text.append(literal: #","message":"#)
    text.appendJSON(timer.message)
    text.append(contentsOf: #","start":\#(timer.start.milliseconds),"count":\#(timer.count)"#.utf8)
  }

  private static func append(_ time: Timestamp, _ text: inout [UInt8]) {
    text.append(UInt8(ascii: "\""))
    time.write(to: &text)
    text.append(UInt8(ascii: "\""))
  }

  static func append(_ path: PropertyPath, _ text: inout [UInt8]) { text.appendJSON(utf8: path.bytes.span) }
}
