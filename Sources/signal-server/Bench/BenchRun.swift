// SPDX-License-Identifier: MIT
import SignalHTTP

/// One measurement, from the first connection to the report.
struct BenchRun {
  private let plan: BenchPlan
  private let server: ServerURL
  /// What every request carries to say who sends it.
  private let own: [(String, String)]
  private let process: Int32?
  private let isQuiet: Bool
  private let clock = ContinuousClock()

  /// The interval at which due requests are started, and at which completion is polled.
  private static let tick = Duration.milliseconds(1)
  /// How long requests in flight at the end may take.
  private static let patience = Duration.seconds(10)
  /// The time without an answer or a delivery after which no more are expected.
  private static let silence = Duration.seconds(1)

  init(_ plan: BenchPlan, _ server: ServerURL, process: Int32?, isQuiet: Bool) throws(Failure) {
    own = try server.fields
    self.plan = plan
    self.server = server
    self.process = process
    self.isQuiet = isQuiet
  }

  func run() async throws(Failure) -> BenchReport {
    do throws(LoadGenerator.Failure) {
      try prepare()
      let generator = try makeGenerator()
      let report = try await measure(generator)
      await generator.stop()
      return report
    } catch {
      switch error {
      case .system(let error): throw Failure(.system, "\(error)")
      case .client(let error): throw Failure(.unreachable, "\(server): \(error)")
      }
    }
  }

  /// Sets the properties to be read later.
  private func prepare() throws(LoadGenerator.Failure) {
    guard plan.preparedKeys > 0 else { return }
    do throws(ClientError) {
      let client = try HTTPClient(server.endpoint, tls: server.tls)
      for key in 0..<plan.preparedKeys {
        _ = try client.request(
          "PUT", "/properties/bench/key/\(key)", fields: own + [("Content-Type", "application/json")],
          body: Array(#"{"n":\#(key),"pad":"\#(String(repeating: "x", count: plan.size))"}"#.utf8))
      }
    } catch {
      throw .client(error)
    }
  }

  private func makeGenerator() throws(LoadGenerator.Failure) -> LoadGenerator {
    // A single connection is on one loop, many are on all.
    let lanes = plan.requesters == 1 ? 1 : plan.loops
    let fields = [("Host", server.endpoint.authority)] + own
    let lines = fields.map { "\($0): \($1)\r\n" }.joined()
    return try LoadGenerator(
      server.endpoint, tls: server.tls, fields: own, loops: plan.loops,
      pace: { loop in
        var pace = LoadPace()
        pace.window = plan.window
        pace.rate = plan.rate.map { $0 / Double(lanes) }
        if let requests = plan.requests { pace.count = (requests + lanes - 1 - min(loop, lanes - 1)) / lanes }
        return pace
      },
      makeRequest: { [plan] loop, number, now in plan.request(number &* plan.loops &+ loop, now: now, fields: lines) })
  }

  private func measure(_ generator: LoadGenerator) async throws(LoadGenerator.Failure) -> BenchReport {
    for index in 0..<plan.watchers {
      try generator.connectWatcher(index, target: plan.target(ofWatcher: index))
      if index % 100 == 99 {
        progress("\(index + 1) watchers")
        await wait(upTo: Self.patience) { await generator.counts().live > index - 500 }
      }
    }
    await wait(upTo: Self.patience) { await generator.counts().live >= plan.watchers }
    try generator.connectRequesters(plan.requesters, lane: plan.requesters == 1 ? 0 : nil)
    let cpu = process.flatMap(ProcessorTime.seconds)
    let start = clock.now
    generator.begin()
    let end = start + .seconds(plan.seconds)
    if plan.scenario == .connect {
      try await connect(generator, until: end)
    } else {
      await request(generator, until: end)
    }
    generator.end()
    let (counts, last) = await settle(generator)
    let serverSeconds: Double? =
      if let process, let cpu, let now = ProcessorTime.seconds(of: process) { now - cpu } else { nil }
    progress("")
    return BenchReport(plan: plan, seconds: (last - start) / .seconds(1), counts: counts, serverSeconds: serverSeconds)
  }

  /// Runs the requests.
  private func request(_ generator: LoadGenerator, until end: ContinuousClock.Instant) async {
    let pause = plan.rate == nil && plan.requests == nil ? Duration.milliseconds(50) : Self.tick
    var told = clock.now
    while clock.now < end {
      try? await clock.sleep(for: pause)
      if plan.rate != nil { generator.pump() }
      let isTimeToTell = clock.now - told > .seconds(1)
      guard isTimeToTell || plan.requests != nil else { continue }
      let counts = await generator.counts()
      if let requests = plan.requests, counts.answered + counts.failed >= requests { return }
      if isTimeToTell {
        told = clock.now
        progress("\(counts.answered) answers, \(counts.delivered) deliveries")
      }
    }
  }

  /// The counts when everything started has been answered and delivered, and the time of that.
  ///
  /// A server may drop values for a slow watcher: when nothing has come for a while, it stops waiting.
  private func settle(_ generator: LoadGenerator) async -> (LoadCounts, ContinuousClock.Instant) {
    var counts = await generator.counts()
    var last = clock.now
    let end = last + Self.patience
    while counts.answered + counts.failed < counts.begun
      || plan.deliveries(ofAnswers: counts.answered) != counts.delivered
    {
      try? await clock.sleep(for: Self.tick)
      let now = await generator.counts()
      if now.answered + now.failed + now.delivered != counts.answered + counts.failed + counts.delivered {
        last = clock.now
        counts = now
      } else if clock.now - last > Self.silence || clock.now > end {
        break
      }
    }
    return (counts, last)
  }

  /// Connects, a limited number at a time.
  private func connect(
    _ generator: LoadGenerator, until end: ContinuousClock.Instant
  ) async throws(LoadGenerator.Failure) {
    var begun = 0
    while clock.now < end, begun < plan.requests ?? .max {
      let counts = await generator.counts()
      let room = plan.connections - (begun - counts.answered - counts.failed)
      if room <= 0 {
        try? await clock.sleep(for: .microseconds(100))
        continue
      }
      for _ in 0..<min(room, (plan.requests ?? .max) - begun) {
        try generator.connectWatcher(begun, target: plan.target(ofWatcher: begun), once: true)
        begun += 1
      }
    }
    await wait(upTo: Self.patience) {
      let counts = await generator.counts()
      return counts.answered + counts.failed >= begun
    }
  }

  private func wait(upTo limit: Duration, until isTrue: () async -> Bool) async {
    let end = clock.now + limit
    while await !isTrue(), clock.now < end { try? await clock.sleep(for: Self.tick) }
  }

  /// A line that replaces itself, on a terminal.
  private func progress(_ text: String) {
    guard !isQuiet else { return }
    Terminal.replaceLine(text)
  }
}
