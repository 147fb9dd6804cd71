// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// What a subscriber is told of a change.
enum LiveEvent: Equatable {
  case didSet(entered: Bool)
  case didDelete
  /// The property stopped matching a state filter, by a set or by deletion.
  case didExit
}

/// Writes the messages of one subscription as JSON (`docs/protocol.md` §3.3), the constant parts first.
struct LiveEventWriter {
  let subscription: Int
  let includesOldValue: Bool

  /// Writes the event without its closing brace: whether `more` follows is known when the next change is.
  func append(_ event: LiveEvent, _ change: Change, to text: inout [UInt8]) {
    switch event {
    case .didSet: text.append(literal: #"{"type":"didSet","subscription":"#)
    case .didDelete: text.append(literal: #"{"type":"didDelete","subscription":"#)
    case .didExit: text.append(literal: #"{"type":"didExit","subscription":"#)
    }
    text.appendJSON(subscription)
    text.append(literal: #","path":"#)
    text.appendJSON(utf8: change.path.bytes.span)
    if let new = change.new {
      text.append(literal: #","value":"#)
      text.appendJSON(new.value)
    }
    if includesOldValue, let old = change.old {
      text.append(literal: #","oldValue":"#)
      text.appendJSON(old.value)
    }
    switch event {
    case .didSet(entered: true): text.append(literal: #","entered":true"#)
    case .didExit: text.append(literal: change.op == .set ? #","op":"set""# : #","op":"delete""#)
    case .didSet, .didDelete: break
    }
    text.append(literal: #","revision":"#)
    text.appendJSON(change.revision.number)
    text.append(literal: #","time":""#)
    change.time.write(to: &text)
    text.append(literal: #"""#)
  }

  /// Writes what ends an event of a change.
  static func close(more: Bool, _ text: inout [UInt8]) {
    text.append(literal: more ? #","more":true}"# : "}")
  }

  /// A property of a snapshot.
  func appendSnapshot(_ stored: StoredValue, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"didSet","subscription":"#)
    text.appendJSON(subscription)
    text.append(literal: #","path":"#)
    let path = stored.path.bytes
    text.appendJSON(utf8: path.span)
    text.append(literal: #","value":"#)
    text.appendJSON(stored.value)
    text.append(literal: #","revision":"#)
    text.appendJSON(stored.revision.number)
    text.append(literal: #","time":""#)
    stored.time.write(to: &text)
    text.append(literal: #""}"#)
  }

  func appendLive(_ revision: Revision, to text: inout [UInt8]) {
    appendMark(#"{"type":"live","subscription":"#, revision, to: &text)
    text.append(literal: "}")
  }

  func appendBookmark(_ revision: Revision, to text: inout [UInt8]) {
    appendMark(#"{"type":"bookmark","subscription":"#, revision, to: &text)
    text.append(literal: "}")
  }

  func appendReset(_ revision: Revision, _ reason: ResetReason, to text: inout [UInt8]) {
    appendMark(#"{"type":"reset","subscription":"#, revision, to: &text)
    text.append(literal: #","reason":""#)
    text.append(contentsOf: reason.rawValue.utf8)
    text.append(literal: #""}"#)
  }

  private func appendMark(_ beginning: StaticString, _ revision: Revision, to text: inout [UInt8]) {
    text.append(literal: beginning)
    text.appendJSON(subscription)
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
  }
}

/// Why a cursor could not be resumed from.
enum ResetReason: String {
  /// It belongs to another history of the store.
  case epoch
  /// What came after it is no longer kept.
  case history
  /// The store has never been there.
  case future
}
