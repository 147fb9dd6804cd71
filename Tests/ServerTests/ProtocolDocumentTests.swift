// SPDX-License-Identifier: MIT
import CEL
import Foundation
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// `docs/protocol.md` is normative: what can be compared with the code by a machine is.
@Suite struct ProtocolDocumentTests {
  private let text: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.md")
    text = try String(contentsOf: root, encoding: .utf8)
  }

  private func section(_ title: String) throws -> Substring {
    let start = try #require(text.range(of: "\n## \(title)"))
    let rest = text[start.upperBound...]
    return rest.range(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
  }

  /// The codes of §6 with their status.
  private func documented() throws -> [String: Int] {
    var codes: [String: Int] = [:]
    for row in try section("6 Error codes").split(separator: "\n") where row.hasPrefix("| `") {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let status = try #require(Int(cells[2]), "no status in \(row)")
      for code in cells[1].matches(of: /`([a-z_]+)`/) { codes[String(code.1)] = status }
    }
    return codes
  }

  @Test func `every code of the API is in the table, with its status`() throws {
    let documented = try documented()
    for code in Problem.Code.allCases { #expect(documented[code.rawValue] == code.status, "\(code.rawValue)") }
  }

  @Test func `every code of HTTP is in the table, with its status`() throws {
    let documented = try documented()
    for error in HTTPParseError.allCases {
      #expect(documented[error.problemCode] == Int(error.status.code), "\(error.problemCode)")
    }
  }

  @Test func `the close codes of the table tell what the client reads from them`() throws {
    for row in try section("7 Close codes").split(separator: "\n") where row.hasPrefix("| 1") || row.hasPrefix("| 4") {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let code = CloseCode(rawValue: try #require(UInt16(cells[1])))
      let says: CloseCode.Advice =
        cells[3].hasPrefix("reconnect")
        ? .reconnectLater : cells[3] == "not reconnect" ? .doNotReconnect : .reconnectAfterFixing
      #expect(code.advice == says, "\(row)")
    }
  }

  @Test func `every code of the table is sent by someone`() throws {
    let api = Set(Problem.Code.allCases.map(\.rawValue))
    let http = Set(HTTPParseError.allCases.map(\.problemCode))
    // What sessions refuse that is not a fault of the request's bytes.
    let sessions: Set = [
      "bad_handshake", "request_timeout", "response_timeout", "tls_required", "too_many_connections",
      "upgrade_required",
    ]
    #expect(try Set(documented().keys) == api.union(http).union(sessions))
  }

  @Test func `the limits of the table have their defaults`() throws {
    let limits = Limits()
    let live = LiveLimits()
    let store = StoreLimits()
    func triples(_ number: Int) -> String {
      number < 1000 ? "\(number)" : "\(triples(number / 1000)) \(String(number % 1000 + 1000).dropFirst())"
    }
    func grouped(_ number: Int) -> String { number < 10_000 ? "\(number)" : triples(number) }
    let expected = [
      "`http.head-bytes`": size(limits.http.headBytes), "`http.target-bytes`": size(limits.http.targetBytes),
      "`http.fields`": grouped(limits.http.fields), "`http.body-bytes`": size(limits.http.bodyBytes),
      "`websocket.message-bytes`": size(limits.webSocket.messageBytes), "`store.value-bytes`": size(JSONLimits().bytes),
      "`store.value-depth`": grouped(JSONLimits().depth), "`store.number-digits`": grouped(JSONLimits().digits),
      "`live.subscriptions-per-connection`": grouped(live.subscriptionsPerConnection),
      "`live.patterns-per-subscription`": grouped(live.patternsPerSubscription),
      "`live.filter-bytes`": size(CELLimits().bytes), "`live.high-water-mark`": size(limits.highWaterMark),
      "`live.filter-budget`": grouped(live.filterBudget), "`live.filter-work`": grouped(live.filterWork),
      "`live.loop-filter-work`": grouped(live.loopFilterWork), "`live.request-work`": grouped(live.requestWork),
      "`live.conflated-bytes`": size(live.conflatedBytes),
      "`live.bookmark-interval`": "\(live.bookmarkInterval.components.seconds) s",
      "`live.shortest-bookmark`, `live.longest-bookmark`": "1 s, 1 h",
      "`live.shortest-pace`, `live.longest-pace`": "1 ms, 60 s",
      "`live.deadband-paths`": grouped(live.deadbandPaths),
      "`store.properties`": grouped(store.properties),
      "`store.transaction-operations`": grouped(store.transactionOperations),
      "`store.list-limit`": grouped(live.listLimit), "`store.computed-properties`": grouped(store.computedProperties),
      "`store.formula-depth`": grouped(store.formulaDepth), "`store.formula-units`": grouped(store.formulaUnits),
      "`store.formula-bytes`": size(store.formulaBytes), "`store.formula-inputs`": grouped(store.formulaInputs),
      "`store.held-properties`": grouped(store.heldProperties),
      "`live.disconnect-operations`": grouped(live.disconnectOperations), "`store.timers`": grouped(store.timers),
      "`store.remembered-signals`, `store.remembered-bytes`":
        "\(grouped(store.rememberedSignals)), \(size(store.rememberedBytes))",
      "`store.timer-interval`": "\(Int(store.timerInterval / .milliseconds(1))) ms",
      "`live.patch-operations`": grouped(live.patchOperations), "`live.patch-work`": grouped(live.patchWork),
      "`live.wait-limit`": "\(live.waitLimit.components.seconds / 60) min",
      "`store.ttl-limit`": "\(store.ttlLimit.components.seconds / 86_400) days",
      "`store.history-changes`, `store.history-bytes`": "\(grouped(store.historyChanges)), \(size(store.historyBytes))",
      "`http.connections`": grouped(limits.connections),
    ]
    var found: [String: String] = [:]
    for cells in try rows(of: "8 Limits") where cells[2].hasPrefix("`") { found[cells[2]] = cells[3] }
    #expect(found == expected)
  }

  private func size(_ bytes: Int) -> String {
    let mebibytes = bytes >> 20
    let kibibytes = bytes >> 10 & 1023
    let parts = [mebibytes > 0 ? "\(mebibytes) MiB" : nil, kibibytes > 0 ? "\(kibibytes) KiB" : nil]
    return parts.compactMap(\.self).joined(separator: " + ")
  }

  /// The cells of the rows of a section's tables, from 1 on.
  private func rows(of title: String) throws -> [[String]] {
    try section(title).split(separator: "\n").filter { $0.hasPrefix("|") }.map { row in
      row.split(separator: "|", omittingEmptySubsequences: false).map { $0.trimmingCharacters(in: .whitespaces) }
    }
  }

  // MARK: Against a server

  @Test func `every route of the document exists`() throws {
    let client = try TestServer().connect()
    let named = try section("2 HTTP").matches(of: /`(?:GET |POST )?(\/[a-z]+(?:\/[a-z{}]+)?)`/).map { String($0.1) }
    let routes = Set(named.map { $0.replacing("{path}", with: "a") })
    #expect(
      routes == [
        "/properties/a", "/properties", "/transactions", "/events", "/expressions/explain", "/health/live",
        "/health/ready", "/health/writable", "/signals/a", "/timers/a", "/timers", "/history/a", "/metrics",
      ])
    for route in routes { #expect(try client.request("OPTIONS", route).status == 204) }
  }

  @Test func `every command of the document is understood`() throws {
    let server = try TestServer()
    let client = try LiveClient(server)
    var types: Set<String> = []
    for match in try section("3 Live protocol").matches(of: /\{"id":[0-9]+,"type":"([a-zA-Z]+)".*?\}(?=`|\n)/) {
      let type = String(match.1)
      guard type != "ok", type != "error" else { continue }
      types.insert(type)
      try client.send(String(match.0))
      let reply = try #require(try client.next { $0.int("id") != nil }.last)
      // It may find nothing to do, but nothing wrong with the command.
      let wanted = type == "auth" ? 401 : 404
      #expect(reply.type == "ok" || reply.object("error")?.int("status") == wanted, "\(match.0): \(reply)")
      // From there on this client would have to take batches apart.
      if type == "hello" { _ = try client.ask(#"{"id":9999,"type":"hello","batch":false}"#) }
    }
    #expect(
      types == [
        "subscribe", "unsubscribe", "set", "delete", "get", "hello", "ping", "transaction", "patch", "send",
        "onDisconnect",
        "define", "auth",
      ])
  }

  @Test func `every member of subscribe is understood, in a command and in a URL`() throws {
    let server = try TestServer()
    let members = try rows(of: "3 Live protocol").filter {
      ["required", "all", "true", "–"].contains($0.last { !$0.isEmpty })
    }
    .map { $0[1].trimmingCharacters(in: ["`"]) }
    #expect(
      members == [
        "match", "where", "initial", "since", "audience", "exit", "oldValue", "delivery", "take", "fields", "pointer",
        "bookmark",
      ])
    let client = try LiveClient(server)
    let command = """
      "match":["a"],"where":"value > 1","initial":true,"since":"e.0","audience":"x","exit":true,"oldValue":true,\
      "delivery":{"mode":"auto","maxRate":10,"deadband":"2%"},"take":9,"fields":["path"],"pointer":"/a","bookmark":2
      """
    #expect(try client.subscribe(command).last?.type == "live")
    let stream = try EventStreamClient(
      server,
      query: "match=a&where=value+%3E+1&initial=true&since=e.0&audience=x&exit=true&oldValue=true"
        + "&mode=auto&maxRate=10&deadband=2%25&take=9&fields=path&pointer=/a&bookmark=2")
    #expect(stream.response.status == 200)
  }

  @Test func `the hello of the document is that of the server`() throws {
    let line = try #require(section("3 Live protocol").split(separator: "\n").first { $0.contains(#""type":"hello""#) })
    let documented = try LiveMessage(line.trimmingCharacters(in: .whitespaces))
    let hello = try LiveClient(try TestServer()).hello
    #expect(hello.names == documented.names)
    #expect(hello.raw("limits") == documented.raw("limits"))
  }
}
