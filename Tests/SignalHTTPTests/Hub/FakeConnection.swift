// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// A client of the hub without a socket: it reads, or it does not, as the test says.
final class FakeConnection: Subscriber, Outlet {
  /// A message, and when it was given to the connection.
  struct Message {
    var text: String
    let time: UInt64
    /// What a client of an event stream has from it; nil on a WebSocket.
    var id: String?
    var name: String?
  }

  let subscriptions: LiveSubscriptions
  let highWaterMark: Int
  /// The client takes nothing.
  var isBlocked = false
  /// From where it was told to resume when it was too slow: nil is a snapshot that was cut.
  private(set) var closed: (isClosed: Bool, resumeFrom: Revision?) = (false, nil)
  private(set) var hasEnded = false
  private var wire = Wire.webSocket(batched: false)
  private var output: [(bytes: [UInt8], time: UInt64)] = []
  private var received: [Message] = []

  init(_ hub: Hub, highWaterMark: Int = 1 << 20) {
    subscriptions = LiveSubscriptions(hub: hub)
    self.highWaterMark = highWaterMark
  }

  var backlog: Int { output.reduce(0) { $0 + $1.bytes.count } }
  var isOpen: Bool { !closed.isClosed && !hasEnded }

  @discardableResult
  func subscribe(
    _ options: SubscriptionOptions, initial: Bool = true, since: Cursor? = nil, take: Int? = nil, id: Int = 1,
    wire: Wire = .webSocket(batched: false), on loop: isolated EventLoop
  ) -> Membership {
    self.wire = wire
    var request = SubscribeRequest()
    request.initial = initial
    request.since = since
    request.delivery.take = take
    return subscriptions.add(options, request, nil, id: id, wire: wire, subscriber: self, on: loop)
  }

  // MARK: Subscriber

  var outlet: any Outlet { self }

  func send(_ block: [UInt8], on loop: isolated EventLoop) {
    if closed.isClosed { Issue.record("Something was sent behind the close.") }
    output.append((block, loop.now))
  }

  func tooSlow(on loop: isolated EventLoop) {
    closed = (true, subscriptions.reached)
    subscriptions.removeAll()
  }

  var filterWork: RecentWork {
    get { subscriptions.filterWork }
    set { subscriptions.filterWork = newValue }
  }

  func waitsForRoom() { subscriptions.waitForRoom() }

  // There are no rules here.
  func accessChanged(_ membership: Membership, on loop: isolated EventLoop) {}
  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop) {}

  func ended(_ membership: Membership, on loop: isolated EventLoop) {
    subscriptions.remove(membership)
    hasEnded = true
  }

  // MARK: Client

  /// What a loop does with the connection at the end of a turn, until it has nothing more to send.
  func flush(on loop: isolated EventLoop) {
    repeat {
      guard !isBlocked else { return }
      for (bytes, time) in output { received += Self.messages(in: bytes, wire, time) }
      output = []
      loop.work.replays = loop.work.limit
    } while subscriptions.proceed(on: loop)
  }

  /// What has come since the last time.
  func take() -> [Message] {
    defer { received = [] }
    return received
  }

  /// The same as texts without their time.
  func texts() -> [String] { take().map(\.text.withoutTime) }

  private static func messages(in bytes: [UInt8], _ wire: Wire, _ time: UInt64) -> [Message] {
    switch wire {
    case .webSocket:
      var bytes = bytes
      var ranges: [Range<Int>] = []
      var parser = FrameParser(role: .client, frameLimit: 16 << 20)
      var span = bytes.mutableSpan
      var position = 0
      while case .data(let slice)? = try? parser.next(in: &span, at: &position) { ranges.append(slice.range) }
      precondition(position == span.count, "bytes behind the last frame")
      return ranges.flatMap { range in
        String(decoding: bytes[range], as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false).map {
          Message(text: String($0), time: time)
        }
      }
    case .eventStream:
      return String(decoding: bytes, as: UTF8.self).split(separator: "\n\n").map { block in
        var message = Message(text: "", time: time)
        for line in block.split(separator: "\n") {
          if line.hasPrefix("id: ") { message.id = String(line.dropFirst(4)) }
          if line.hasPrefix("event: ") { message.name = String(line.dropFirst(7)) }
          if line.hasPrefix("data: ") { message.text = String(line.dropFirst(6)) }
        }
        return message
      }
    }
  }
}

extension String {
  /// Without the members `time` and `expires`, which a model does not know.
  var withoutTime: String { replacing(/,"(time|expires)":"[^"]*"/, with: "") }
}

extension HubLimits {
  /// The defaults, or what is given instead.
  static func forTests(
    deadbandPaths: Int = LiveLimits().deadbandPaths, conflatedBytes: Int = LiveLimits().conflatedBytes,
    filterWork: Int = LiveLimits().filterWork
  ) -> HubLimits {
    let live = LiveLimits()
    return HubLimits(
      deadbandPaths: deadbandPaths, conflatedBytes: conflatedBytes, cheapFilterWork: live.cheapFilterWork,
      filterWork: filterWork, loopFilterWork: live.loopFilterWork)
  }
}

/// A hub whose clock is the test's.
final class HubUnderTest {
  let store: PropertyStore
  let hub: Hub
  private var connections: [FakeConnection] = []

  init(
    store: PropertyStore = .forTests(), bookmark: Duration = .seconds(3600),
    pace: Replay.Pace = Replay.Pace(snapshotBytes: 64 << 10, turnProperties: 10_000), limits: HubLimits = .forTests(),
    filterFailed: (@Sendable (PropertyPath, Int) -> Void)? = nil, on loop: isolated EventLoop
  ) {
    self.store = store
    loop.now = 1_000_000_000_000
    hub = Hub(
      store: store, bookmarkInterval: bookmark, pace: pace, limits: limits, filterFailed: filterFailed,
      loop: loop)
  }

  func connect(highWaterMark: Int = 1 << 20) -> FakeConnection {
    let connection = FakeConnection(hub, highWaterMark: highWaterMark)
    connections.append(connection)
    return connection
  }

  func disconnect(_ connection: FakeConnection) {
    connection.subscriptions.removeAll()
    connections.removeAll { $0 === connection }
  }

  /// One turn of the loop, so much later than the last, and those that it takes until nothing is left to do.
  func turn(after milliseconds: UInt64 = 0, on loop: isolated EventLoop) {
    loop.now += milliseconds * 1_000_000
    repeat { slice(on: loop) } while hub.hasWorkLeft
  }

  /// One turn, in which not all may be done.
  func slice(on loop: isolated EventLoop) {
    loop.work.begin()
    loop.compressors.beginTurn(work: loop.work.limit)
    hub.turnBegins(on: loop)
    _ = hub.turnEnds(on: loop)
    for connection in connections { connection.flush(on: loop) }
  }
}

/// Runs a test on a loop of its own.
func onHub<Result: Sendable>(
  _ body: @escaping @Sendable (isolated EventLoop) throws -> Result
) async throws -> Result {
  let loop = try EventLoop(label: "hub", sweepMilliseconds: 1000)
  defer { loop.submit { $0.stop() } }
  return try await run(body, on: loop)
}

private func run<Result: Sendable>(
  _ body: @Sendable (isolated EventLoop) throws -> Result, on loop: isolated EventLoop
) throws -> Result { try body(loop) }
