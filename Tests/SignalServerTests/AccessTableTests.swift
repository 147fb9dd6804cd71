// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalAccess
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

extension AccessTable {
  /// A table of a text.
  init(_ text: String) throws(Fault) { try self.init(Array(text.utf8), paths: PathLimits(), values: JSONLimits()) }
}

/// The rules of a text, as they would stand in a settings file.
func policy(_ text: String) throws -> AccessPolicy {
  let file = try SettingsFile(path: "rules.yaml", bytes: Array(text.utf8))
  return try #require(ResolvedSettings(file: file).settings.live.policy)
}

@Suite("Tables of who can do what") struct AccessTableTests {
  private static let rules = """
    access:
      admin: auth.role == "admin"
      rules:
        - match: "users/{id}/**"
          read: auth.sub == id
          write: auth.sub == id
        - match: "rooms/{room}/**"
          with: {members: "rooms/{room}/members"}
          read: auth.sub in members
          send: auth.sub in members && value.text != ""
        - match: times
          get: now < timestamp("2026-01-01T00:00:00Z")
        - match: here
          get: request.tls && request.ip == "10.0.0.1" && request.origin == null
        - match: open/*
          read: value.open == true
          listen: value.open == true
          demand: auth != null
          timer: auth != null
          define: auth != null
    """

  private func failures(_ table: String) throws -> [String] {
    try AccessTable(table).failures(policy(Self.rules)).map { "\($0.line): \($0.text)" }
  }

  @Test func `a table that is right says nothing`() throws {
    #expect(
      try failures(
        """
        - as: {sub: ann}
          given: {"rooms/r1/members": ["ann"]}
          can: [get rooms/r1/topic, watch users/ann/**, read rooms/r1/x, write users/ann/x 1, list users/ann/*]
          cannot: [get users/bob/name, set rooms/r1/topic 1, watch users/bob/**]
        - as: {sub: ann}
          given:
            open/1: {open: true, n: 1.50, s: "1", l: [~, x]}
            open/2: {open: false}
            rooms/r 1/members: [ann]
          can:
            - get open/1
            - watch open/1
            - get "rooms/r 1/topic"
            - 'send "rooms/r 1/x" {"text": "a, b"}'
            - listen open/1 {"open":true}
            - demand open/*
            - timer open/1
            - define open/1
          cannot:
            - get open/2
            - list open/2
            - get open/3
            - send "rooms/r 1/x" {"text":""}
            - listen open/1 {"open":false}
            - demand users/**
            - delete open/1
        - as: {role: admin}
          can: [define x, watch **]
        - as: null
          now: 2025-12-31T23:59:59Z
          request: {ip: 10.0.0.1, tls: true}
          can: [get times, get here]
          cannot: [watch rooms/**]
        - as: null
          now: 2026-01-01T00:00:00Z
          request: {ip: 10.0.0.1, origin: "https://a.example", tls: true}
          cannot: [get times, get here]
        """) == [])
  }

  @Test func `what is not as it says is told with its line and the reasons`() throws {
    let told = try failures(
      """
      - as: {sub: ann}
        given: {"rooms/r1/members": ["bob"]}
        can:
          - get rooms/r1/topic
          - watch users/**
        cannot:
          - set users/ann/x 1
          - watch open/*
      - as: null
        can: [get nowhere]
      """)
    #expect(
      told == [
        """
        4: ann is to be able to get rooms/r1/topic, and cannot. No rule allows it. | rule 2 'rooms/{room}/**' read: nothing, \
        because auth.sub in members (auth.sub = "ann", members = ["bob"])
        """,
        """
        5: ann is to be able to watch users/**, and can in part. A part of it can be visible: users/ann/**. | rule 1 \
        'users/{id}/**' read: unknown, because auth.sub == id (auth.sub = "ann", id is not known)
        """,
        """
        7: ann is not to be able to set users/ann/x 1, and can. Rule 1 allows it. | rule 1 'users/{id}/**' write: allows, \
        because auth.sub == id (auth.sub = "ann", id = "ann")
        """,
        """
        8: ann is not to be able to watch open/*, and can in part. A part of it can be visible. | rule 5 'open/*' read: \
        unknown, because value.open == true (value.open is not known)
        """,
        "10: somebody unknown is to be able to get nowhere, and cannot. No rule is about this operation on this path.",
      ])
  }

  @Test(arguments: [
    ("", "1:1: a table is a list"), ("as: null", "1:1: a table is a list"),
    ("- as: [", "1:1: a value or key that begins"),
    ("- can: [get a]", "1:3: an entry says who it is about"), ("- as: null", "1:3: an entry has 'can' or 'cannot'"),
    ("- as: ann\n  can: [get a]", "1:7: 'as' is null or claims"),
    ("- as: {kind: ghost}\n  can: [get a]", "1:7: 'as' is null or claims, in which kind is one of token, jwt"),
    ("- as: null\n  cann: [get a]", "2:3: an entry has no 'cann'; did you mean can?"),
    ("- as: null\n  can: get a", "2:8: 'can' is a list"),
    ("- as: null\n  can:\n    - gte a", "3:7: unknown operation 'gte'; did you mean get?"),
    ("- as: null\n  can: [fly a]", "2:9: unknown operation 'fly'"),
    ("- as: null\n  can: [get]", "2:9: 'get' needs a path"),
    ("- as: null\n  can: [get a//b]", "2:9: 'a//b' is no path"),
    ("- as: null\n  can: [get a/*]", "2:9: 'a/*' is no path"),
    ("- as: null\n  can: [set a]", "2:9: 'set' needs a value"),
    ("- as: null\n  can: [set a 1 2]", "2:9: '1 2' is not JSON"),
    ("- as: null\n  can: [get a 1]", "2:9: there is no value to get"),
    ("- as: null\n  can: ['get \"a']", "2:9: the path does not end with a quote"),
    ("- as: null\n  can: [{get: a}]", "2:9: an operation is one line"),
    ("- as: null\n  given: [a]\n  can: [get a]", "2:10: 'given' is values by their paths"),
    ("- as: null\n  given: {a/*: 1}\n  can: [get a]", "2:16: 'a/*' is no path of a property"),
    ("- as: null\n  now: soon\n  can: [get a]", "2:8: 'now' is a time"),
    ("- as: null\n  request: {host: x}\n  can: [get a]", "2:12: a request has no 'host'"),
    ("- as: null\n  request: {tls: maybe}\n  can: [get a]", "2:18: 'tls' of a request is true or false"),
    ("- as: null\n  as: null\n  can: [get a]", "2:1: as: is already set on line 1"),
  ])
  func `a file that is no table is refused with its place`(text: String, reason: String) {
    do throws(AccessTable.Fault) {
      _ = try AccessTable(text)
      Issue.record("\(text) is a table")
    } catch {
      #expect("\(error)".hasPrefix(reason), "\(error)")
    }
  }
}

@Suite("The verb access") struct AccessVerbTests {
  private let root = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path

  private func withFiles(_ files: [String: String], _ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: root) }
    for (name, text) in files { try Data(text.utf8).write(to: URL(filePath: "\(root)/\(name)")) }
    try body()
  }

  private let rules = """
    access:
      rules:
        - match: "users/{id}/**"
          read: auth.sub == id
    """

  @Test func `test tells what is not as the table says, and its status`() throws {
    let tables = [
      "rules.yaml": rules, "right.yaml": "- as: {sub: ann}\n  can: [watch users/ann/**]\n  cannot: [get users/bob/x]\n",
      "wrong.yaml": "- as: null\n  can: [get users/ann/x]\n", "bad.yaml": "- as: null\n  can: [got a]\n",
      "none.yaml": "log: {level: info}\n",
    ]
    try withFiles(tables) {
      func run(_ table: String, _ config: String = "rules.yaml") throws -> Program.Run {
        try Program.run(["access", "test", "\(root)/\(table)", "--config", "\(root)/\(config)"])
      }
      let right = try run("right.yaml")
      #expect(right == .init(status: 0, output: "\(root)/right.yaml: 2 operations as the table says\n", errors: ""))
      let wrong = try run("wrong.yaml")
      #expect(wrong.status == 1 && wrong.errors.hasSuffix("of 1 operation 1 not as the table says\n"), "\(wrong)")
      #expect(
        wrong.output.hasPrefix("\(root)/wrong.yaml:2: somebody unknown is to be able to get users/ann/x, and cannot."))
      let bad = try run("bad.yaml")
      #expect(
        bad.status == 78 && bad.errors.contains("bad.yaml:2:9: unknown operation 'got'; did you mean get?"), "\(bad)")
      #expect(try run("missing.yaml").status == 78)
      let none = try run("right.yaml", "none.yaml")
      #expect(none.status == 78 && none.errors.contains("no access rules"), "\(none)")
      // As in the environment of the server.
      let table = "\(root)/right.yaml"
      #expect(try Program.run(["access", "test", table], ["SIGNAL_CONFIG": "\(root)/rules.yaml"]).status == 0)
    }
  }

  @Test func `check prints what rules cost, and what of them is not meant`() throws {
    let tokens = "\(root)/tokens.json"
    let more = """
      auth:
        tokens: \(tokens)
      access:
        rules:
          - match: "users/{id}/**"
            read: auth.subb == id
          - match: "**"
            get: 'true'
          - match: "rooms/{room}/{rest=**}"
            with: {members: "rooms/{room}/members", other: "others/{auth.sub}"}
            get: auth.sub in members
            set: value.all(x, value.all(y, x == y))
            deny-send: "'a/b' == room"
      """
    try withFiles(["rules.yaml": rules, "more.yaml": more]) {
      let plain = try Program.run(["access", "check", "--config", "\(root)/rules.yaml"])
      #expect(plain.status == 0, "\(plain)")
      #expect(plain.output.hasPrefix("rule 1, line 3: users/{id}/**\n  read: auth.sub == id  (cost "), "\(plain)")
      #expect(plain.output.contains("warning: rule 1: read: auth is always null"), "\(plain)")
      #expect(
        try Program.run(["token", "create", "--id", "t", "--claim", "sub=ann", "--file", tokens]).status == 0)
      let found = try Program.run(["access", "check", "--config", "\(root)/more.yaml"])
      #expect(found.status == 1 && found.errors == "signal-server: 3 rules, 2 errors, 4 warnings\n", "\(found)")
      let told = found.output.split(separator: "\n").filter { $0.hasPrefix("error") || $0.hasPrefix("warning") }
      #expect(
        told.sorted() == [
          "error: rule 3: deny-send: denies nothing, whoever asks",
          "error: rule 3: get: has no effect, as rule 2 decides that for everybody on all of its paths",
          "warning: rule 1: read: nobody is known to have the claim auth.subb; did you mean auth.sub?",
          "warning: rule 3: nothing uses the capture 'rest'; ** matches the same",
          "warning: rule 3: set: may cost 1170503 units for lists of 100 elements and texts of 100 bytes; beyond 10000 it fails",
          "warning: rule 3: with: no condition uses 'other'",
        ], "\(found)")
    }
  }

  @Test func `explain asks a server`() throws {
    try withFiles(["rules.yaml": rules]) {
      let tokens = "\(root)/tokens.json"
      let made = try Program.run(["token", "create", "--id", "ann-1", "--claim", "role=cook", "--file", tokens])
      let token = made.output.trimmingCharacters(in: .newlines)
      let server = try RunningServer(["--config", "\(root)/rules.yaml", "--auth-tokens", tokens])
      defer { _ = server.stop() }
      let question = ["access", "explain", "--operation", "get", "--path", "users/ann/x"]
      let own = try Program.run(question, ["SIGNAL_SERVER": server.url, "SIGNAL_TOKEN": token])
      #expect(own.status == 0 && own.errors.isEmpty)
      #expect(
        own.output == """
          not allowed: No rule allows it.
          rule 1 'users/{id}/**' read: nothing, because auth.sub == id (id = "ann"); it fails: no such key, at byte 4

          """, "\(own)")
      let unknown = try Program.run(question, ["SIGNAL_SERVER": server.url])
      #expect(unknown.status == 0 && unknown.output == "not allowed: No rule allows it.\n", "\(unknown)")
      let other = try server.run("access", "explain", "--as", "null", "--operation", "get", "--path", "a")
      #expect(other.status == 1 && other.errors.contains("Only administrators"), "\(other)")
      let wrong = try server.run("access", "explain", "--operation", "gte", "--path", "a")
      #expect(wrong.status == 64 && wrong.errors.contains("did you mean get?"), "\(wrong)")
      let bad = try server.run("access", "explain", "--as", "ann", "--operation", "get", "--path", "a")
      #expect(bad.status == 64 && bad.errors.contains("--as: 'ann' is not JSON"), "\(bad)")
      #expect(try server.run("access", "explain", "--operation", "set", "--path", "a", "--value", "-5").status == 0)
    }
  }
}
