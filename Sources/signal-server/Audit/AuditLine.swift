// SPDX-License-Identifier: MIT
import JSON
import SignalAccess
import SignalHTTP
import SignalStore

/// Writes events as lines of JSON objects.
enum AuditLine {
  /// Appends an event.
  static func append(_ event: AuditEvent, to text: inout [UInt8]) {
    begin(event.kind.rawValue, event.time, &text)
    append(membersOf: event, to: &text)
    end(&text)
  }

  /// Appends how many events like one that was written have followed it.
  static func append(
    _ count: Int, like first: AuditEvent, until last: Timestamp, to text: inout [UInt8]
  ) {
    begin(first.kind.rawValue, last, &text)
    append(membersOf: first, to: &text)
    member("count", &text)
    text.appendJSON(count)
    member("since", first.time.description, &text)
    end(&text)
  }

  /// Appends that events are not in the log.
  static func append(dropped count: Int, because reason: String, at time: Timestamp, to text: inout [UInt8]) {
    begin("dropped", time, &text)
    member("count", &text)
    text.appendJSON(count)
    member("reason", reason, &text)
    end(&text)
  }

  private static func append(membersOf event: AuditEvent, to text: inout [UInt8]) {
    if let identity = event.identity {
      member("identity", &text)
      text.append(contentsOf: "{\"kind\":".utf8)
      text.appendJSON(identity.kind.rawValue)
      member("id", identity.id, &text)
      text.append(UInt8(ascii: "}"))
    }
    if let peer = event.peer {
      member("peer", peer.description, &text)
      if let user = peer.credentials?.user {
        member("user", &text)
        text.appendJSON(Int(user))
      }
      member("listener", peer.endpoint.description, &text)
    }
    for (name, value) in [
      ("request", event.request), ("operation", event.operation), ("path", event.path), ("outcome", event.outcome),
      (event.subjectName, event.subject), ("key", event.key),
    ] {
      if let value { member(name, value, &text) }
    }
  }

  private static func begin(_ name: String, _ time: Timestamp, _ text: inout [UInt8]) {
    text.append(contentsOf: "{\"time\":".utf8)
    text.appendJSON(time.description)
    member("event", name, &text)
  }

  private static func end(_ text: inout [UInt8]) { text.append(contentsOf: "}\n".utf8) }

  private static func member(_ name: String, _ value: String, _ text: inout [UInt8]) {
    member(name, &text)
    text.appendJSON(value)
  }

  private static func member(_ name: String, _ text: inout [UInt8]) {
    text.append(contentsOf: ",\"".utf8)
    text.append(contentsOf: name.utf8)
    text.append(contentsOf: "\":".utf8)
  }
}

extension AuditEvent {
  /// What the subject of an event of this kind is.
  fileprivate var subjectName: String {
    switch kind {
    case .refused: "rule"
    case .limitExceeded: "limit"
    case .settingsReloaded, .settingsRefused: "settings"
    case .authenticationFailed: "proof"
    default: "subject"
    }
  }
}
