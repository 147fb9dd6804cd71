// SPDX-License-Identifier: MIT
import ArgumentParser
import SignalHTTP

/// `signal-server bench`: measures a server.
struct BenchVerb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bench",
    abstract: "Measure a server: rate, latency, and processor time.",
    discussion: """
      Scenarios: set, get (many connections, many properties); fanout (one property, many watchers); filter (one \
      property, each watcher with a threshold of its own); connect (watchers that come, take a snapshot and go); mixed \
      (nine reads for each set, with watchers).

      It writes below bench/ and deletes nothing. With --rate, requests are due at fixed times, and a late server is \
      charged for the wait.
      """)

  @Argument(help: "set, get, fanout, filter, connect or mixed.")
  var scenario: BenchScenario

  @Option(help: "Connections that send requests (set, get, mixed), or that connect at a time (connect).")
  var connections = 64

  @Option(help: "Watchers (fanout, filter, mixed).")
  var subscribers = 1000

  @Option(help: "Requests under way on one connection.")
  var window = 1

  @Option(help: "Requests per second in all; as many as are answered unless given.")
  var rate: Double?

  @Option(help: "Bytes of each value, about.")
  var size = 64

  @Option(help: "Properties that are set and read.")
  var keys = 1000

  @Option(help: "Watchers whose filter matches an update (filter).")
  var matching = 10

  @Option(help: "Seconds to measure.")
  var seconds = 10.0

  @Option(help: "Requests to make, or connections, when that takes less than the seconds.")
  var requests: Int?

  @Option(help: "Threads of the clients.")
  var threads = 2

  @Option(help: ArgumentHelp("The server's process, for its processor time; on this machine only.", valueName: "pid"))
  var pid: Int32?

  @Flag(help: "Print the result as JSON.")
  var json = false

  @OptionGroup var client: ClientOptions

  func validate() throws {
    func check(_ name: String, _ value: Int, _ range: ClosedRange<Int>) throws {
      guard range.contains(value) else {
        throw ValidationError("--\(name) is a number from \(range.lowerBound) to \(range.upperBound)")
      }
    }
    try check("connections", connections, 1...10_000)
    try check("subscribers", subscribers, 1...100_000)
    try check("window", window, 1...10_000)
    try check("size", size, 0...1_000_000)
    try check("keys", keys, 1...1_000_000)
    try check("matching", matching, 0...subscribers)
    if let requests { try check("requests", requests, 1...1_000_000_000) }
    try check("threads", threads, 1...64)
    guard seconds > 0, seconds <= 86_400 else { throw ValidationError("--seconds is from 0 to 86400") }
    if let rate, !(rate > 0) || rate > 10_000_000 { throw ValidationError("--rate is from 0 to 10000000") }
  }

  func run() async throws {
    var plan = BenchPlan()
    plan.scenario = scenario
    plan.connections = connections
    plan.subscribers = subscribers
    plan.window = window
    plan.rate = rate
    plan.size = size
    plan.keys = keys
    plan.matching = matching
    plan.loops = threads
    plan.seconds = seconds
    plan.requests = requests
    let server = try client.url()
    _ = DescriptorLimit.raise(toServe: plan.watchers + plan.requesters + plan.connections)
    let report = try await BenchRun(plan, server, process: pid, isQuiet: json).run()
    if json {
      Terminal.print(bytes: report.json)
    } else {
      for line in report.table { Terminal.print(line) }
    }
  }
}
