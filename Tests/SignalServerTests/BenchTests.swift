// SPDX-License-Identifier: MIT
import SignalHTTP
import SignalStore
import Testing

@testable import signal_server

/// Each scenario against a server of this process, small: what is counted adds up.
@Suite("Bench", .serialized) struct BenchTests {
  private func run(_ scenario: BenchScenario, _ change: (inout BenchPlan) -> Void = { _ in }) async throws
    -> BenchReport
  {
    let server = Server(ServerConfiguration(port: 0, loops: 1), store: PropertyStore(), live: LiveConfiguration())
    try server.start()
    defer { server.shutdown() }
    var plan = BenchPlan()
    plan.scenario = scenario
    plan.connections = 4
    plan.subscribers = 20
    plan.matching = 5
    plan.keys = 10
    plan.loops = 2
    // The number of requests is what ends it, however slow the machine.
    plan.seconds = 60
    plan.requests = 100
    change(&plan)
    let port = try #require(server.address?.port)
    return try await BenchRun(plan, ServerURL(.tcp(host: "127.0.0.1", port: port)), process: nil, isQuiet: true).run()
  }

  @Test(arguments: [BenchScenario.set, .get]) func `requests are answered and none fails`(_ scenario: BenchScenario)
    async throws
  {
    let report = try await run(scenario) { $0.window = 3 }
    #expect(report.counts.answered == 100 && report.counts.failed == 0)
    #expect(report.counts.answers.count == report.counts.answered)
    #expect(report.counts.delivered == 0)
  }

  @Test func `every watcher gets every update`() async throws {
    let report = try await run(.fanout)
    #expect(report.counts.live == 20 && report.counts.failed == 0 && report.counts.answered == 100)
    #expect(report.counts.delivered == 20 * report.counts.answered)
    #expect(report.counts.deliveries.count == report.counts.delivered)
  }

  @Test func `only the watchers get an update whose thresholds it passes`() async throws {
    let report = try await run(.filter)
    #expect(report.counts.failed == 0 && report.counts.answered == 100)
    #expect(report.counts.delivered == 5 * report.counts.answered)
  }

  @Test func `watchers come, take their snapshot and go`() async throws {
    let report = try await run(.connect)
    #expect(report.counts.failed == 0 && report.counts.answered == 100)
    #expect(report.counts.live == report.counts.answered)
  }

  @Test func `one of ten requests of the mixture is a set, which all watchers get`() async throws {
    let report = try await run(.mixed)
    #expect(report.counts.failed == 0)
    #expect(report.counts.answered == 100 && report.counts.delivered == 20 * 10)
  }

  @Test func `a rate is kept, and the report is JSON and lines`() async throws {
    let report = try await run(.set) { $0.rate = 500 }
    // Each loop has half the rate, and its fiftieth request is due after 49 of its intervals.
    #expect(report.counts.answered == 100 && report.seconds >= 49.0 / 250)
    let json = String(decoding: report.json, as: UTF8.self)
    #expect(json.hasPrefix(#"{"scenario":"set","seconds":"#) && json.contains(#""requestsPerSecond":"#))
    #expect(report.table.contains { $0.hasPrefix("answer p99 ") })
  }

  @Test func `a server that is not there is told`() async throws {
    let run = try BenchRun(BenchPlan(), ServerURL(.tcp(host: "127.0.0.1", port: 1)), process: nil, isQuiet: true)
    await #expect { try await run.run() } throws: { ($0 as? Failure)?.status == .unreachable }
  }
}
