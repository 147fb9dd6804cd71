// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Processes
import SignalAccess
import SignalStore
import Synchronization
import TestSupport
import Testing

@testable import SignalHTTP

/// The metrics of a server, as its page tells them.
struct ToldMetrics {
  let text: String
  /// The values of samples by name and labels, as they stand in the text.
  let samples: [String: Double]

  init(_ text: String) {
    self.text = text
    var samples: [String: Double] = [:]
    for line in text.split(separator: "\n") where !line.hasPrefix("#") {
      guard let space = line.lastIndex(of: " ") else { continue }
      samples[String(line[..<space])] = Double(line[line.index(after: space)...])
    }
    self.samples = samples
  }

  init(of client: RawClient, fields: [(String, String)] = []) throws {
    self.init(try client.request("GET", "/metrics", fields: fields).text)
  }

  subscript(_ sample: String) -> Double? { samples[sample] }

  /// The names of the metrics.
  var names: Set<String> { Set(text.matches(of: #/[#] TYPE (\S+) [a-z]+/#).map { String($0.1) }) }
}

@Suite("§2.5 Metrics") struct MetricsTests {
  private static func file(_ path: String) throws -> String {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    return try String(contentsOf: tests.appending(path: "../../../\(path)"), encoding: .utf8)
  }

  @Test func `requests are counted by route, method and status, and never by a path`() throws {
    let server = try TestServer()
    let client = try server.connect()
    _ = try client.request("PUT", "/properties/secret/path", body: "1")
    for _ in 0..<3 { _ = try client.request("GET", "/properties/secret/path") }
    _ = try client.request("GET", "/properties/no")
    _ = try client.request("GET", "/nowhere/secret")
    _ = try client.request("BREW", "/properties/secret/path")
    let told = try ToldMetrics(of: client)
    func count(_ route: String, _ method: String, _ status: Int) -> Double? {
      told["signal_http_requests_total{route=\"\(route)\",method=\"\(method)\",status=\"\(status)\"}"]
    }
    #expect(count("/properties/{path}", "PUT", 201) == 1 && count("/properties/{path}", "GET", 200) == 3)
    #expect(count("/properties/{path}", "GET", 404) == 1 && count("none", "GET", 404) == 1)
    #expect(count("none", "other", 501) == 1)
    #expect(told["signal_refusals_total{code=\"not_found\"}"] == 1)
    #expect(told["signal_refusals_total{code=\"no_such_route\"}"] == 1)
    #expect(!told.text.contains("secret"))
    let durations = "signal_http_request_duration_seconds_count{route=\"/properties/{path}\",method=\"GET\"}"
    #expect(told[durations] == 4)
    // Those that wait are not timed.
    _ = try client.request("GET", "/properties/secret/path?wait=10ms&until=value==2")
    #expect(try ToldMetrics(of: client)[durations] == 4)
  }

  @Test func `a request that cannot be read is counted`() throws {
    let server = try TestServer()
    _ = try server.connect(sending: "GET / HTTP/1.1\r\nHost : x\r\n\r\n").receive()
    let told = try ToldMetrics(of: server.connect())
    #expect(told["signal_http_requests_total{route=\"none\",method=\"other\",status=\"400\"}"] == 1)
    #expect(told["signal_refusals_total{code=\"bad_request\"}"] == 1)
  }

  @Test func `connections, subscriptions and deliveries are counted`() throws {
    let server = try TestServer()
    let clients = try (0..<2).map { _ in try LiveClient(server) }
    for client in clients {
      _ = try client.subscribe(#""match":"a/**","where":"value > 1""#)
      _ = try client.ask(#"{"id":2,"type":"subscribe","signals":["**"]}"#)
    }
    let stream = try EventStreamClient(server, query: "match=b/**")
    try server.store.set("a/1", "2")
    try server.store.set("a/1", "1")
    _ = try server.store.signals.send(PropertyPath("s"), JSONText(validating: "1"))
    for client in clients { _ = try client.next { $0.type == "signal" } }
    // A refused command.
    _ = try clients[0].ask(#"{"id":3,"type":"unsubscribe","subscription":9}"#)
    // The turn in which something was sent is counted at its end, and another one is after it.
    for client in clients { _ = try client.ask(#"{"id":4,"type":"ping"}"#) }
    let told = try ToldMetrics(of: server.connect())
    #expect(told["signal_connections{kind=\"websocket\"}"] == 2)
    #expect(told["signal_connections{kind=\"event_stream\"}"] == 1)
    #expect(told["signal_subscriptions{topic=\"properties\"}"] == 3)
    #expect(told["signal_subscriptions{topic=\"signals\"}"] == 2)
    #expect((told["signal_subscription_groups"] ?? 0) >= 3)
    #expect(told["signal_refusals_total{code=\"no_such_subscription\"}"] == 1)
    #expect(told["signal_commits_total"] == 2 && told["signal_properties"] == 1)
    #expect(told["signal_signals_sent_total"] == 1)
    // didSet, didExit and a message for each.
    #expect(told["signal_deliveries_total"] == 6)
    #expect((told["signal_delivery_delay_seconds_count"] ?? 0) >= 2)
    #expect((told["signal_websocket_messages_received_total"] ?? 0) >= 7)
    #expect((told["signal_received_bytes_total"] ?? 0) > 100 && (told["signal_sent_bytes_total"] ?? 0) > 100)
    withExtendedLifetime((clients, stream)) {}
  }

  @Test func `resets and expiries are counted`() throws {
    let server = try TestServer()
    try server.store.set("a", "1")
    let client = try LiveClient(server)
    _ = try client.subscribe(#""match":"**","since":"other.1""#)
    let told = try ToldMetrics(of: server.connect())
    #expect(told["signal_resets_total{reason=\"epoch\"}"] == 1)
    #expect(told["signal_expiries_total"] == 0 && told["signal_history_changes"] == 1)
  }

  @Test func `a connection that is not served is counted with the reason`() throws {
    var limits = Limits()
    limits.connections = 1
    let server = try TestServer(limits: limits, loops: 1)
    let client = try server.connect()
    _ = try client.request("GET", "/health/live")
    #expect(try server.connect().request("GET", "/health/live").status == 503)
    #expect(try ToldMetrics(of: client)["signal_connections_refused_total{reason=\"limit\"}"] == 1)
  }

  @Test func `the document lists what there is, and nothing else`() throws {
    let server = try TestServer()
    let told = try ToldMetrics(of: server.connect())
    let document = try Self.file("docs/metrics.md")
    var rows = Set(
      document.matches(of: /\n\| `([a-z_]+)` \| (counter|gauge|histogram|summary)/).map { "\($0.1) \($0.2)" })
    rows = rows.filter { !$0.hasPrefix("signal_journal_") && !$0.hasPrefix("signal_cluster_") }
    let types = Set(told.text.matches(of: /[#] TYPE (\S+) (\S+)/).map { "\($0.1) \($0.2)" })
    #expect(rows.subtracting(types).isEmpty && types.subtracting(rows).isEmpty)
  }

  @Test func `a node of a cluster says how it is, in figures and for probes`() throws {
    let node = StubNode()
    let client = try TestServer(cluster: node).connect()
    let told = try ToldMetrics(of: client)
    let document = try Self.file("docs/metrics.md")
    let rows = document.matches(of: /\n\| `(signal_cluster_[a-z_]+)` \| ([a-z]+)/).map { "\($0.1) \($0.2)" }
    let types = told.text.matches(of: /[#] TYPE (signal_cluster_\S+) (\S+)/).map { "\($0.1) \($0.2)" }
    #expect(rows == types && rows.count > 10)
    #expect(told["signal_cluster_batch_operations_sum"] == 12 && told["signal_cluster_batch_operations_count"] == 3)
    #expect(told["signal_cluster_lag_seconds"] == 1.5 && told["signal_cluster_clock_skew_seconds"] == -0.02)
    if let (status, output) = try promtool(["check", "metrics"], input: told.text) {
      #expect(status == 0 && output.isEmpty, "\(output)")
    }
    let accept = [("Accept", "application/openmetrics-text; version=1.0.0")]
    #expect(try ToldMetrics(of: client, fields: accept).text.contains("# TYPE signal_cluster_stale_records counter\n"))
    #expect(try client.request("GET", "/health/ready").status == 200)
    #expect(try client.request("GET", "/health/writable").status == 503)
    node.isCaughtUp.store(false, ordering: .relaxed)
    let behind = try client.request("GET", "/health/ready")
    #expect(behind.status == 503 && behind.text.contains(#""status":"behind""#))
  }

  @Test func `the routes are those of the OpenAPI document`() throws {
    let document = try Self.file("Sources/SignalHTTP/API/openapi.yaml")
    let paths = Set(document.matches(of: /\n  (\/[^:]*):\n/).map { String($0.1) })
    #expect(Set(LiveAPI.routeTemplates) == paths.union(["none", "*"]))
  }

  @Test func `OpenMetrics is for those who prefer it`() throws {
    let client = try TestServer().connect()
    let plain = try client.request("GET", "/metrics")
    #expect(plain.value("Content-Type") == "text/plain; version=0.0.4; charset=utf-8" && !plain.text.contains("# EOF"))
    let accept =
      "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,"
      + "text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
    let open = try client.request("GET", "/metrics", fields: [("Accept", accept)])
    #expect(open.value("Content-Type")?.hasPrefix("application/openmetrics-text; version=1.0.0") == true)
    #expect(open.text.hasSuffix("# EOF\n") && open.text.contains("# TYPE signal_received_bytes counter\n"))
    #expect(try client.request("GET", "/metrics", fields: [("Accept", "text/html")]).status == 200)
    let escaped = accept.replacing("version=1.0.0", with: "version=1.0.0;escaping=allow-utf-8")
    #expect(try client.request("GET", "/metrics", fields: [("Accept", escaped)]).text.hasSuffix("# EOF\n"))
    let head = try client.request("HEAD", "/metrics")
    #expect(head.status == 200 && head.body.isEmpty && head.value("Cache-Control") == "no-store")
    #expect(try client.request("GET", "/metrics?x=1").code == "unknown_parameter")
  }

  @Test func `where they are turned off there is no such route`() throws {
    var live = LiveConfiguration()
    live.metrics = false
    let client = try TestServer(live: live).connect()
    let refused = try client.request("GET", "/metrics")
    #expect(refused.status == 404 && refused.code == "no_such_route")
    #expect(client.isAlive())
  }

  @Test func `with rules they are for administrators and for whom a condition names`() throws {
    var live = LiveConfiguration()
    live.policy = try AccessPolicy(
      AccessRules(
        admin: "auth.role == 'admin'", metrics: "auth.role == 'monitor'",
        rules: [AccessRule(match: "**", conditions: ["read": "true"])]))
    let server = try TokenServer(live: live)
    let client = try server.server.connect()
    #expect(try client.request("GET", "/metrics").code == "unauthenticated")
    func status(_ role: String) throws -> Int {
      let token = try server.make("x-\(role)", claims: "{\"role\":\"\(role)\"}")
      return try client.request("GET", "/metrics", fields: TokenServer.fields(token)).status
    }
    #expect(try status("user") == 403)
    #expect(try status("monitor") == 200)
    #expect(try status("admin") == 200)
    #expect(try client.request("GET", "/properties/a").status == 200)
  }

  // MARK: Prometheus

  /// Runs `promtool` on a text; nil when it is not installed.
  private func promtool(_ arguments: [String], input: String) throws -> (status: Int32, output: String)? {
    let tool = "/usr/bin/promtool"
    guard FileManager.default.isExecutableFile(atPath: tool) else { return nil }
    let (given, said) = (Pipe(), Pipe())
    let process = try ChildProcess(
      tool, arguments, input: .pipe(given), output: .pipe(said), errors: .pipe(said))
    given.fileHandleForWriting.write(Data(input.utf8))
    try given.fileHandleForWriting.close()
    let output = String(decoding: said.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    return (process.terminationStatus, output)
  }

  @Test func `promtool finds nothing to complain about`() throws {
    let server = try TestServer()
    let client = try server.connect()
    _ = try client.request("PUT", "/properties/a", body: "1")
    _ = try client.request("GET", "/properties/none")
    let text = try ToldMetrics(of: client).text
    guard let (status, output) = try promtool(["check", "metrics"], input: text) else { return }
    #expect(status == 0 && output.isEmpty, "\(output)")
  }

  @Test(arguments: ["Config/grafana/signal-server.json", "Config/prometheus/alerts.yaml"])
  func `what is shown and alerted on exists`(path: String) throws {
    let text = try Self.file(path)
    let known = Set(try Self.file("docs/metrics.md").matches(of: /\n\| `([a-z_]+)` \|/).map { String($0.1) })
    let named = Set(text.matches(of: /\b(?:signal|process)_[a-z_]+/).map { String($0.0) })
    #expect(named.count > 10)
    // A node that nobody watches is found out by its clients.
    for name in known where name.hasPrefix("signal_cluster_") && path.hasSuffix(".json") {
      #expect(named.contains { $0.hasPrefix(name) }, "\(name)")
    }
    for name in named {
      let family = name.replacing(/_(bucket|sum|count)$/, with: "")
      #expect(known.contains(name) || known.contains(family), "\(name)")
    }
    // A JSON document is YAML as well, but a mistake in it would be found only when somebody imports it.
    if path.hasSuffix(".json") { _ = try JSONText(validating: text) }
  }

  @Test func `the rules for alerts are right`() throws {
    let tests = URL(filePath: #filePath).deletingLastPathComponent()
    let folder = tests.appending(path: "../../../Config/prometheus").standardized.path
    for arguments in [["check", "rules", "\(folder)/alerts.yaml"], ["test", "rules", "\(folder)/alerts-test.yaml"]] {
      guard let (status, output) = try promtool(arguments, input: "") else { return }
      #expect(status == 0 && output.contains("SUCCESS"), "\(output)")
    }
  }
}

/// A node of a cluster that does nothing.
private final class StubNode: ClusterNode {
  let isCaughtUp = Atomic(true)
  let isLeading = true

  func forward(_ command: ForwardedCommand, _ answer: @escaping @Sendable (ForwardedOutcome) -> Void) {
    answer(.noLeader)
  }

  func serve(by executor: any ForwardedExecutor, watchers: Watchers) {}
  func awaitWatchers(_ done: @escaping @Sendable () -> Void) { done() }
  func stepDown() -> Bool { false }

  var status: ClusterStatus {
    var status = ClusterStatus()
    (status.cluster, status.node, status.role) = ("home", "a", "following")
    (status.batches, status.batchEntries, status.lag, status.clockSkew) = (3, 12, 1.5, -20)
    status.commits.record(1_000_000)
    status.isCaughtUp = isCaughtUp.load(ordering: .relaxed)
    return status
  }
}
