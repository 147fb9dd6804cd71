// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// The kind of event that a subscriber is sent about a change.
enum LiveEvent: Equatable {
  case didSet(entered: Bool)
  case didDelete
  /// The property's time to live has ended, or its holder is gone.
  case didExpire
  /// The subscriber does not see the property any more.
  case didExit(ExitReason)
}

/// Why a subscriber does not see a property any more.
enum ExitReason {
  /// It stopped matching a state filter, by a set, by deletion or by expiry.
  case filter
  /// The access rules hide its new value.
  case access
}

extension LiveEvent {
  /// The event of an operation where no filter says otherwise.
  init(_ op: Change.Operation) {
    switch op {
    case .set: self = .didSet(entered: false)
    case .delete: self = .didDelete
    case .expire, .release: self = .didExpire
    }
  }
}

/// Writes the messages of one subscription as JSON (`docs/protocol.md` §3.3), the constant parts first.
struct LiveEventWriter {
  let subscription: Int
  let fields: EventFields

  init(subscription: Int, fields: EventFields = .all) {
    self.subscription = subscription
    self.fields = fields
  }

  /// Approximate bytes of the fixed parts of an event, its frame and its numbers.
  private static let fixedBytes = 192

  /// The approximate size of the event of a change.
  func room(for change: Change) -> Int {
    var room = Self.fixedBytes + change.path.bytes.count
    if let new = change.new, fields.contains(.value) { room += Self.room(for: new.value) }
    if let old = change.old, fields.contains(.oldValue) { room += Self.room(for: old.value) }
    return room
  }

  private static func room(for value: JSONText) -> Int {
    value.bytes.count < FrameText.largeValue ? value.bytes.count : 0
  }

  /// Writes the event without its closing brace: whether `more` follows is known only with the next change.
  func append(_ event: LiveEvent, _ change: Change, to text: inout FrameText) {
    append(event, change, value: change.new?.value, oldValue: change.old?.value, to: &text)
  }

  /// Writes the event with the values that the subscriber sees.
  func append(_ seen: SeenEvent, to text: inout FrameText) {
    append(seen.event, seen.change, value: seen.value, oldValue: seen.oldValue, to: &text)
  }

  private func append(
    _ event: LiveEvent, _ change: Change, value: JSONText?, oldValue: JSONText?, to text: inout FrameText
  ) {
    switch event {
    case .didSet: text.bytes.append(literal: #"{"type":"didSet","subscription":"#)
    case .didDelete: text.bytes.append(literal: #"{"type":"didDelete","subscription":"#)
    case .didExpire: text.bytes.append(literal: #"{"type":"didExpire","subscription":"#)
    case .didExit: text.bytes.append(literal: #"{"type":"didExit","subscription":"#)
    }
    text.bytes.appendJSON(subscription)
    appendPath(change.path, to: &text.bytes)
    if let value { appendValue(value, to: &text) }
    if let oldValue, fields.contains(.oldValue) {
      text.bytes.append(literal: #","oldValue":"#)
      text.append(oldValue)
    }
    switch event {
    case .didSet(entered: true): if fields.contains(.entered) { text.bytes.append(literal: #","entered":true"#) }
    case .didExit(.filter):
      if fields.contains(.op) { text.bytes.append(literal: Self.exitMember(change.op)) }
    case .didExit(.access):
      if fields.contains(.op) { text.bytes.append(literal: #","reason":"access""#) }
    case .didExpire:
      guard fields.contains(.op) else { break }
      text.bytes.append(literal: change.op == .release ? #","reason":"disconnect""# : #","reason":"ttl""#)
    case .didSet, .didDelete: break
    }
    appendPosition(change.revision, change.time, to: &text.bytes)
    if event == .didExit(.access) { return }
    if fields.contains(.time), let new = change.new { Self.appendExpires(of: new, to: &text.bytes) }
  }

  private func appendPath(_ path: PropertyPath, to text: inout [UInt8]) {
    guard fields.contains(.path) else { return }
    text.append(literal: #","path":"#)
    let bytes = path.bytes
    text.appendJSON(utf8: bytes.span)
  }

  private func appendValue(_ value: JSONText, to text: inout FrameText) {
    guard fields.contains(.value) else { return }
    text.bytes.append(literal: #","value":"#)
    text.append(value)
  }

  private func appendPosition(_ revision: Revision, _ time: Timestamp, to text: inout [UInt8]) {
    if fields.contains(.revision) {
      text.append(literal: #","revision":"#)
      text.appendJSON(revision.number)
    }
    if fields.contains(.time) {
      text.append(literal: #","time":""#)
      time.write(to: &text)
      text.append(UInt8(ascii: "\""))
    }
  }

  private static func exitMember(_ op: Change.Operation) -> StaticString {
    switch op {
    case .set: #","op":"set""#
    case .delete: #","op":"delete""#
    case .expire, .release: #","op":"expire""#
    }
  }

  /// Writes when the property expires, as a further member, if it does.
  static func appendExpires(of stored: StoredValue, to text: inout [UInt8]) {
    guard let expires = stored.expires else { return }
    text.append(literal: #","expires":""#)
    expires.write(to: &text)
    text.append(UInt8(ascii: "\""))
  }

  /// Writes the end of an event of a change.
  static func close(more: Bool, _ text: inout [UInt8]) {
    text.append(literal: more ? #","more":true}"# : "}")
  }

  /// Writes a property of a snapshot, with the value that the subscriber sees.
  func appendSnapshot(_ stored: StoredValue, value: JSONText, to text: inout FrameText) {
    text.bytes.append(literal: #"{"type":"didSet","subscription":"#)
    text.bytes.appendJSON(subscription)
    appendPath(stored.path, to: &text.bytes)
    appendValue(value, to: &text)
    appendPosition(stored.revision, stored.time, to: &text.bytes)
    if fields.contains(.time) { Self.appendExpires(of: stored, to: &text.bytes) }
    text.bytes.append(UInt8(ascii: "}"))
  }

  /// Writes a message of a signal.
  ///
  /// - Parameter isRemembered: Whether it was sent earlier and kept.
  func appendSignal(_ message: StoredValue, isRemembered: Bool, to text: inout FrameText) {
    text.bytes.append(literal: #"{"type":"signal","subscription":"#)
    text.bytes.appendJSON(subscription)
    appendPath(message.path, to: &text.bytes)
    text.bytes.append(literal: #","message":"#)
    text.append(message.value)
    text.bytes.append(literal: #","time":""#)
    message.time.write(to: &text.bytes)
    text.bytes.append(literal: isRemembered ? #"","remembered":true}"# : #""}"#)
  }

  /// Writes what was left out, and why.
  ///
  /// - Parameter more: Whether the events follow that were not left out.
  func appendGap(_ gap: Conflation.Gap, _ reason: GapReason, more: Bool, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"gap","subscription":"#)
    text.appendJSON(subscription)
    text.append(literal: #","from":"#)
    text.appendJSON(gap.from.number)
    text.append(literal: #","to":"#)
    text.appendJSON(gap.to.number)
    text.append(literal: #","count":"#)
    text.appendJSON(gap.count)
    text.append(literal: reason == .slow ? #","reason":"slow""# : #","reason":"paced""#)
    Self.close(more: more, &text)
  }

  /// Writes the end of a subscription that has received all the events it wanted.
  func appendEnd(_ revision: Revision?, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"end","subscription":"#)
    text.appendJSON(subscription)
    if let revision {
      text.append(literal: #","revision":"#)
      text.appendJSON(revision.number)
    }
    text.append(UInt8(ascii: "}"))
  }

  /// Writes that a pattern that overlaps with those of a demand subscription has got its first subscription, or lost
  /// its last.
  func appendDemand(_ pattern: PathPattern, _ isWatched: Bool, to text: inout [UInt8]) {
    text.append(literal: #"{"type":"demand","subscription":"#)
    text.appendJSON(subscription)
    text.append(literal: #","match":"#)
    text.appendJSON(utf8: pattern.bytes.span)
    text.append(literal: isWatched ? #","watched":true}"# : #","watched":false}"#)
  }

  func appendLive(_ revision: Revision, to text: inout [UInt8]) {
    appendMark(#"{"type":"live","subscription":"#, revision, to: &text)
    text.append(literal: "}")
  }

  func appendBookmark(_ revision: Revision, to text: inout [UInt8]) {
    appendMark(#"{"type":"bookmark","subscription":"#, revision, to: &text)
    text.append(literal: "}")
  }

  /// - Parameter audience: Those who see the same from here on; nil when the client has been told in the answer to its
  ///   subscription.
  func appendReset(_ revision: Revision, _ reason: ResetReason, audience: String?, to text: inout [UInt8]) {
    appendMark(#"{"type":"reset","subscription":"#, revision, to: &text)
    text.append(literal: #","reason":""#)
    text.append(contentsOf: reason.rawValue.utf8)
    if let audience {
      text.append(literal: #"","audience":""#)
      text.append(contentsOf: audience.utf8)
    }
    text.append(literal: #""}"#)
  }

  private func appendMark(_ beginning: StaticString, _ revision: Revision, to text: inout [UInt8]) {
    text.append(literal: beginning)
    text.appendJSON(subscription)
    text.append(literal: #","revision":"#)
    text.appendJSON(revision.number)
  }
}

/// Why events were left out.
enum GapReason {
  /// The client was too slow to receive them.
  case slow
  /// The subscription asked for the newest only, or for a maximum rate.
  case paced
}

/// Why a cursor could not be resumed from.
enum ResetReason: String {
  /// It belongs to another history of the store.
  case epoch
  /// The changes after it are no longer kept.
  case history
  /// The store has never reached it.
  case future
  /// The store had reached it, but changes before it were lost: a crash between two syncs, or a restored backup.
  case lost
  /// What the subscriber may see is something else than before.
  case access
}
