// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// The conversations of `Transcripts`, against this server; and that together they show all there is.
@Suite struct TranscriptTests {
  @Test(arguments: Transcript.all)
  func `the server says what the transcript says`(_ transcript: Transcript) throws {
    let conversation = try Conversation()
    for line in transcript.lines {
      do {
        try conversation.take(line)
      } catch {
        throw Conversation.Fault("\(transcript.name):\(line.number): \(error)")
      }
    }
    try conversation.end()
  }

  // MARK: All there is

  private var steps: [Transcript.Step] { Transcript.all.flatMap(\.lines).map(\.step) }

  /// The messages of the server, each event for itself.
  private var told: [String] {
    steps.flatMap { step -> [String] in
      switch step {
      case .message(let events): events
      case .event(let event, _, _): [event]
      default: []
      }
    }
  }

  @Test func `every message has the form of its schema, with no member that the schema does not know`() throws {
    let schema = try MessageSchema()
    for text in told {
      let faults = try schema.faults(in: Conversation.filled(text), as: "message", isClosed: true)
      #expect(faults.isEmpty, "\(text): \(faults)")
    }
  }

  @Test func `a command has the form of its schema when the server understands it, and only then`() throws {
    let schema = try MessageSchema()
    for transcript in Transcript.all {
      for (line, answer) in zip(transcript.lines, transcript.lines.dropFirst()) {
        guard case .send(let text) = line.step, text.hasPrefix("{"), case .message(let events) = answer.step else {
          continue
        }
        let code = try LiveMessage(Conversation.filled(events[0])).object("error")?.string("code")
        let misshapen: Set = [
          "bad_message", "unknown_type", "unknown_member", "bad_duration", "bad_cursor", "bad_pointer",
        ]
        let faults = try schema.faults(in: Conversation.filled(text), as: "command", isClosed: false)
        #expect(faults.isEmpty != misshapen.contains(code ?? ""), "\(transcript.name):\(line.number): \(faults)")
      }
    }
  }

  @Test func `every command and every message of the schema is in a transcript`() throws {
    let schema = try MessageSchema()
    let sent = steps.compactMap { step in if case .send(let text) = step { text } else { nil } }
    for (kind, texts) in [("command", sent), ("message", told)] {
      for name in try schema.alternatives(of: kind) {
        let isShown = try texts.contains { text in
          guard text.hasPrefix("{") else { return false }
          return try schema.faults(in: Conversation.filled(text), as: name, isClosed: true).isEmpty
        }
        #expect(isShown, "\(name)")
      }
    }
  }

  @Test func `the schema has every type that the document has, and every code of a command`() throws {
    let schema = try MessageSchema()
    let document = try MessageSchema.file("docs/protocol.md")
    let live = document[
      try #require(document.range(of: "\n## 3 Live"))
        .lowerBound..<(try #require(document.range(of: "\n## 4 "))).lowerBound]
    let types = Set(live.matches(of: /"type":"([a-zA-Z]+)"/).map { String($0.1) })
    #expect(
      try types == Set((schema.alternatives(of: "command") + schema.alternatives(of: "message")).map(schema.type)))
    // What can be wrong with a request only.
    let ofRequests: Set<Problem.Code> = [
      .badQuery, .unknownParameter, .partialContent, .originRefused, .pointerNotFound, .noSuchRoute, .noSuchTimer,
      .noSuchConnection, .methodNotAllowed, .notAcceptable, .unsupportedEncoding, .unsupportedPatch, .misdirected,
      .notImplemented, .noHistory, .historyBusy, .historyFailed, .notLeading, .notReached,
    ]
    #expect(
      try Set(schema.strings(at: ["error", "properties", "error", "properties", "code", "enum"]))
        == Set(Problem.Code.allCases.filter { !ofRequests.contains($0) }.map(\.rawValue)))
  }

  @Test func `every code is in a transcript, but for those of a limit that is reached`() {
    let ofLimits: Set<Problem.Code> = [
      .bodyTooLarge, .contended, .formulaTooDeep, .quotaExceeded, .storeFull, .tooManyComputed, .tooManyHeld,
      .tooManyInputs,
      .tooManyOperations, .tooManyPatterns, .tooManySubscriptions, .tooManyRequests,
      // Of memory, and of a disk.
      .memoryFull,
      // Of access rules, which the server of the transcripts does not have: AccessTests.
      .forbidden, .invalidValue,
      .diskFull, .readOnly, .storageFailed, .storageSlow, .historyBusy, .historyFailed,
      // Of a cluster: ClusterTests.
      .noLeader, .noAnswer,
    ]
    let bodies = steps.compactMap { step in if case .answer(_, _, let body) = step { body } else { nil } }
    let shown = (told + bodies).flatMap { $0.matches(of: /"code":"([a-z_]+)"/).map { String($0.1) } }
    for code in Problem.Code.allCases where !ofLimits.contains(code) { #expect(shown.contains(code.rawValue)) }
  }

  @Test func `every operation of the description of HTTP is in a transcript`() throws {
    let description = try MessageSchema.file("Sources/SignalHTTP/API/openapi.yaml")
    var path = ""
    var described: Set<String> = []
    for line in description.split(separator: "\n") {
      if let match = line.wholeMatch(of: #/  (\/.*):/#) { path = String(match.1) }
      if let match = line.wholeMatch(of: #/    (get|put|patch|post|delete):/#) {
        described.insert("\(match.1.uppercased()) \(path)")
      }
    }
    var shown: Set<String> = []
    for step in steps {
      switch step {
      case .request(let method, let target, _, _):
        let path = target.prefix { $0 != "?" }
        shown.insert(
          "\(method) "
            + path.replacing(/^\/(properties|signals|timers|history)\/.+$/) { "/\($0.1)/{path}" }
            .replacing(/^\/server\/connections\/.+$/, with: "/server/connections/{id}"))
      case .open, .stream: shown.insert("GET /events")
      default: break
      }
    }
    #expect(described.count > 10)
    #expect(described.subtracting(shown).isEmpty)
  }

  /// AsyncAPI 3.0.0 allows no other fields than these, and those that begin with `x-`.
  @Test func `the description of the live protocol has no fields that AsyncAPI has not`() throws {
    let text = try MessageSchema.file("Sources/SignalHTTP/API/asyncapi.yaml")
    let allowed: [(place: String, fields: Set<String>)] = [
      ("", ["asyncapi", "id", "info", "servers", "defaultContentType", "channels", "operations", "components"]),
      (
        "info",
        ["title", "version", "description", "termsOfService", "contact", "license", "tags", "externalDocs"]
      ),
      ("info.license", ["name", "url"]),
      (
        "servers.*",
        [
          "host", "protocol", "protocolVersion", "pathname", "description", "title", "summary", "variables", "security",
          "tags", "externalDocs", "bindings",
        ]
      ),
      (
        "channels.*",
        [
          "address", "messages", "title", "summary", "description", "servers", "parameters", "tags", "externalDocs",
          "bindings",
        ]
      ),
      ("channels.*.bindings.ws", ["method", "query", "headers", "bindingVersion"]),
      (
        "operations.*",
        [
          "action", "channel", "title", "summary", "description", "security", "tags", "externalDocs", "bindings",
          "traits", "messages", "reply",
        ]
      ),
      ("operations.*.reply", ["address", "channel", "messages"]),
      (
        "components.messages.*",
        [
          "headers", "payload", "correlationId", "contentType", "name", "title", "summary", "description", "tags",
          "externalDocs", "bindings", "examples", "traits",
        ]
      ),
      ("components.messages.*.payload", ["schemaFormat", "schema"]),
    ]
    // Keys by their indentation: the document is written in blocks, but for single references.
    var stack: [(indent: Int, key: String)] = []
    var checked: Set<String> = []
    for line in text.split(separator: "\n") {
      guard let match = line.firstMatch(of: /^( *)([A-Za-z$-]+):/), !line.contains(#/^ *-/#) else { continue }
      let indent = match.1.utf8.count
      stack.removeAll { $0.indent >= indent }
      let place = stack.map(\.key)
      for rule in allowed {
        let names = rule.place.split(separator: ".").map(String.init)
        guard names.count == place.count, zip(names, place).allSatisfy({ $0 == "*" || $0 == $1 }) else { continue }
        #expect(rule.fields.contains(String(match.2)), "\(place.joined(separator: ".")) has \(match.2)")
        checked.insert(rule.place)
      }
      stack.append((indent, String(match.2)))
    }
    #expect(checked == Set(allowed.map(\.place)))
  }

  @Test func `the description of the live protocol names every message of the schema, and nothing else`() throws {
    let schema = try MessageSchema()
    let text = try MessageSchema.file("Sources/SignalHTTP/API/asyncapi.yaml")
    let commands = try schema.alternatives(of: "command")
    let messages = try schema.alternatives(of: "message")
    func names(_ pattern: Regex<(Substring, Substring)>, in text: Substring) -> [String] {
      text.matches(of: pattern).map { String($0.1) }
    }
    let components = text[try #require(text.range(of: "\ncomponents:")).lowerBound...]
    let operations = text[try #require(text.range(of: "\noperations:")).lowerBound..<components.startIndex]
    let tell = try #require(operations.range(of: "\n  tell:")).lowerBound
    #expect(names(#/\n    ([a-zA-Z]+):\n      name:/#, in: components) == commands + messages)
    #expect(names(##/messages\.schema\.json#/definitions/([a-zA-Z]+)"/##, in: components) == commands + messages)
    #expect(
      try names(#/      name: ([a-zA-Z]+)/#, in: components) == (commands + messages).map { try schema.type($0) })
    #expect(
      names(##/      - \$ref: "#/channels/live/messages/([a-zA-Z]+)"/##, in: operations[..<tell]) == commands + [
        "ok", "error",
      ])
    #expect(
      names(##/      - \$ref: "#/channels/live/messages/([a-zA-Z]+)"/##, in: operations[tell...])
        == messages.filter { $0 != "ok" && $0 != "error" })
    let channel = text[..<operations.startIndex]
    #expect(names(#/components/messages/([a-zA-Z]+)"/#, in: channel) == commands + messages)
    #expect(
      Set(names(#/            ([a-zA-Z]+): \{ type: string \}/#, in: channel))
        == Set(LiveAPI.subscriptionParameters + ["batch", "ticket"]))
  }
}
