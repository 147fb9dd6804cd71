// SPDX-License-Identifier: MIT
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// Frames compressed once for a group, and decompressed by each client as zlib does it: the same as without compression,
/// however clients come, go, are slow, and have several subscriptions.
@Suite struct GroupCompressionTests {
  @Test(arguments: 1...12) func `every client decompresses what its twin gets plain`(seed: UInt64) async throws {
    let difference = try await onHub { loop in CompressionPlay(seed: seed, on: loop).run(on: loop) }
    #expect(difference == nil, "seed \(seed)")
  }

  @Test func `the window begins anew with those who have come, and never twice within its interval`() async throws {
    try await onHub { loop in
      let hub = HubUnderTest(on: loop)
      var clients = (0..<3).map { _ in CompressedClient(hub.hub, .window) }
      for client in clients { client.subscribe("a", id: 1, on: loop) }
      func change(after milliseconds: UInt64, on loop: isolated EventLoop) throws -> [[FrameForm]] {
        try hub.store.set("a", words("change \(loop.now + milliseconds)", 3), always: true)
        hub.turn(after: milliseconds, on: loop)
        for client in clients { client.flush(on: loop) }
        return clients.map { $0.takeForms() }
      }
      hub.turn(on: loop)
      for client in clients {
        client.flush(on: loop)
        _ = client.takeForms()
      }
      let begun = try change(after: 0, on: loop)
      #expect(begun == [[.window], [.window], [.window]])
      clients.append(CompressedClient(hub.hub, .window))
      clients[3].subscribe("a", id: 1, on: loop)
      clients[3].flush(on: loop)
      _ = clients[3].takeForms()
      let joined = try [change(after: 10, on: loop)[3], change(after: 10, on: loop)[3]]
      #expect(joined == [[.alone], [.alone]])
      // Three frames are lost by then, as many as a new beginning costs the three others.
      let anew = try change(after: 100, on: loop)
      #expect(anew == [[.window], [.window], [.window], [.window]])
      #expect(clients.allSatisfy { !$0.isBroken })
    }
  }

  @Test func `who is alone in a group gets messages compressed by themselves`() async throws {
    try await onHub { loop in
      let hub = HubUnderTest(on: loop)
      let client = CompressedClient(hub.hub, .window)
      client.subscribe("a", id: 1, on: loop)
      client.flush(on: loop)
      try hub.store.set("a", words("temperature", 20))
      hub.turn(on: loop)
      client.flush(on: loop)
      #expect(client.takeForms().last == .alone && !client.isBroken)
    }
  }

  @Test(arguments: [256, 512, 2048]) func `a small window of a client is kept to`(largest: Int) async throws {
    try await onHub { loop in
      let hub = HubUnderTest(on: loop)
      let client = CompressedClient(hub.hub, .alone(largest: largest))
      client.subscribe("a", id: 1, on: loop)
      client.flush(on: loop)
      _ = client.takeForms()
      for (count, form) in [(5, FrameForm.alone), (300, .plain)] {
        try hub.store.set("a", words("temperature", count))
        hub.turn(on: loop)
        client.flush(on: loop)
        #expect(client.takeForms() == [form] && !client.isBroken)
      }
    }
  }

  @Test func `with no work left in a turn, frames go out as they are`() async throws {
    try await onHub { loop in
      let hub = HubUnderTest(on: loop)
      let clients = (0..<2).map { _ in CompressedClient(hub.hub, .window) }
      for client in clients {
        client.subscribe("a", id: 1, on: loop)
        client.flush(on: loop)
      }
      for step in 0..<6 {
        try hub.store.set("a", words("temperature \(step)", 20))
        if step % 2 == 1 {
          hub.hub.turnBegins(on: loop)
          loop.compressors.workLeft = 0
          _ = hub.hub.turnEnds(on: loop)
        } else {
          hub.turn(on: loop)
        }
        for client in clients {
          client.flush(on: loop)
          #expect(client.takeForms().last == (step % 2 == 1 ? .plain : .window) && !client.isBroken)
        }
      }
    }
  }

  @Test func `a group has a window only while there are as many as there may be`() {
    let compressors = Compressors(work: 1000)
    var taken = (0..<CompressionLimits.windows).compactMap { _ in compressors.takeWindow() }
    #expect(taken.count == CompressionLimits.windows)
    #expect(compressors.takeWindow() == nil)
    compressors.giveBack(taken.removeLast())
    #expect(compressors.takeWindow() != nil)
  }
}

/// A value of so many words.
private func words(_ first: String, _ count: Int) -> JSONText {
  JSONText(([first] + (0..<count).map { "word\($0 % 50)" }).joined(separator: " "))
}

/// A client of the hub that has negotiated permessage-deflate.
private final class CompressedClient: Subscriber, Outlet {
  let compression: FrameCompression
  let subscriptions: LiveSubscriptions
  let highWaterMark: Int
  var isBlocked = false
  private(set) var isClosed = false
  /// A frame could not be decompressed.
  private(set) var isBroken = false
  private let inflater = ContextInflater()
  private var output: [UInt8] = []
  private var texts: [String] = []
  private var forms: [FrameForm] = []

  init(_ hub: Hub, _ compression: FrameCompression, highWaterMark: Int = 1 << 20) {
    subscriptions = LiveSubscriptions(hub: hub)
    self.compression = compression
    self.highWaterMark = highWaterMark
  }

  func subscribe(
    _ pattern: String, id: Int, batched: Bool = false, mode: DeliveryOptions.Mode = .auto,
    on loop: isolated EventLoop
  ) {
    guard let pattern = try? PathPattern(pattern) else { return }
    var options = SubscriptionOptions(patterns: [pattern])
    options.delivery.mode = mode
    _ = subscriptions.add(
      options, SubscribeRequest(), nil, id: id, wire: .webSocket(batched: batched), subscriber: self, on: loop)
  }

  var outlet: any Outlet { self }
  var backlog: Int { output.count }
  func send(_ block: [UInt8], on loop: isolated EventLoop) { output += block }
  func tooSlow(on loop: isolated EventLoop) {
    isClosed = true
    subscriptions.removeAll()
  }
  var filterWork = RecentWork()
  func waitsForRoom() { subscriptions.waitForRoom() }
  // There are no rules here.
  func accessChanged(_ membership: Membership, on loop: isolated EventLoop) {}
  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop) {}
  func ended(_ membership: Membership, on loop: isolated EventLoop) { subscriptions.remove(membership) }
  var isInWindow: Bool { subscriptions.isInWindow }
  func enterWindow(_ membership: Membership) -> Bool { subscriptions.enterWindow(membership) }
  func leaveWindow() { subscriptions.leaveWindow() }

  func flush(on loop: isolated EventLoop) {
    repeat {
      guard !isBlocked else { return }
      read()
      loop.work.replays = loop.work.limit
    } while subscriptions.proceed(on: loop)
  }

  private func read() {
    var bytes = output
    output = []
    var parser = FrameParser(role: .client, frameLimit: 16 << 20, allowsCompression: true)
    var slices: [DataSlice] = []
    var span = bytes.mutableSpan
    var position = 0
    while case .data(let slice)? = try? parser.next(in: &span, at: &position) { slices.append(slice) }
    for slice in slices {
      var payload = Array(bytes[slice.range])
      if slice.isCompressed {
        guard let content = inflater.inflate(payload) else {
          isBroken = true
          return
        }
        payload = content
      }
      forms.append(!slice.isCompressed ? .plain : subscriptions.isInWindow ? .window : .alone)
      texts += String(decoding: payload, as: UTF8.self).split(separator: "\n").map(String.init)
    }
  }

  func takeForms() -> [FrameForm] {
    defer { forms = [] }
    return forms
  }

  func takeTexts() -> [String] {
    defer { texts = [] }
    return texts
  }
}

/// Random clients, each with a twin that has the same subscriptions without compression, and one hub.
private final class CompressionPlay {
  private struct Pair {
    let client: CompressedClient
    let twin: CompressedClient
    var ids: [Int] = []
    var next = 1
    /// Whether both have taken everything always: only then are they told the same.
    var wasBlocked = false
  }

  private var random: SplitMix
  private let hub: HubUnderTest
  private var pairs: [Pair] = []
  private var number = 0

  init(seed: UInt64, on loop: isolated EventLoop) {
    random = SplitMix(state: seed)
    hub = HubUnderTest(on: loop)
  }

  /// Returns the first difference.
  func run(on loop: isolated EventLoop) -> String? {
    for step in 0..<250 {
      switch Int.random(in: 0..<20, using: &random) {
      case 0, 1: connect()
      case 2: if !pairs.isEmpty { disconnect() }
      case 3, 4: subscribe(on: loop)
      case 5: unsubscribe()
      case 6: block()
      case 7..<12:
        if let difference = turn(on: loop) { return "step \(step): \(difference)" }
      default: write()
      }
    }
    for index in pairs.indices { unblock(index) }
    return turn(on: loop)
  }

  private func connect() {
    let kind: FrameCompression = Int.random(in: 0..<4, using: &random) == 0 ? .alone(largest: 512) : .window
    let highWaterMark = Int.random(in: 0..<2, using: &random) == 0 ? 1 << 20 : 2000
    pairs.append(
      Pair(
        client: CompressedClient(hub.hub, kind, highWaterMark: highWaterMark),
        twin: CompressedClient(hub.hub, .none, highWaterMark: highWaterMark)))
  }

  private func disconnect() {
    let pair = pairs.remove(at: Int.random(in: 0..<pairs.count, using: &random))
    pair.client.subscriptions.removeAll()
    pair.twin.subscriptions.removeAll()
  }

  private func subscribe(on loop: isolated EventLoop) {
    guard let index = pairs.indices.randomElement(using: &random) else { return }
    let pattern = ["**", "a/**", "b", "a/x"].randomElement(using: &random) ?? "**"
    let isBatched = Bool.random(using: &random)
    let mode: DeliveryOptions.Mode = Int.random(in: 0..<5, using: &random) == 0 ? .latest : .auto
    let id = pairs[index].next
    pairs[index].next += 1
    pairs[index].ids.append(id)
    for client in [pairs[index].client, pairs[index].twin] where !client.isClosed {
      client.subscribe(pattern, id: id, batched: isBatched, mode: mode, on: loop)
    }
  }

  private func unsubscribe() {
    guard let index = pairs.indices.randomElement(using: &random), !pairs[index].ids.isEmpty else { return }
    let id = pairs[index].ids.remove(at: Int.random(in: 0..<pairs[index].ids.count, using: &random))
    _ = pairs[index].client.subscriptions.remove(id)
    _ = pairs[index].twin.subscriptions.remove(id)
  }

  private func block() {
    guard let index = pairs.indices.randomElement(using: &random) else { return }
    if pairs[index].client.isBlocked { return unblock(index) }
    pairs[index].client.isBlocked = true
    pairs[index].twin.isBlocked = true
    pairs[index].wasBlocked = true
  }

  private func unblock(_ index: Int) {
    pairs[index].client.isBlocked = false
    pairs[index].twin.isBlocked = false
  }

  private func write() {
    number += 1
    let path: PropertyPath = ["a", "a/x", "a/y", "b"].randomElement(using: &random) ?? "a"
    // From what is not worth it to what is too large.
    let count = [0, 1, 5, 20, 100, 2000, 12_000].randomElement(using: &random) ?? 0
    let size = number % 23 == 0 ? count : min(count, 20)
    _ = try? hub.store.set(path, words("\(number)", size))
  }

  private func turn(on loop: isolated EventLoop) -> String? {
    hub.turn(after: UInt64.random(in: 0...60, using: &random), on: loop)
    for pair in pairs {
      pair.client.flush(on: loop)
      pair.twin.flush(on: loop)
      if pair.client.isBroken { return "a frame could not be decompressed" }
      let (got, expected) = (pair.client.takeTexts(), pair.twin.takeTexts())
      guard !pair.wasBlocked else {
        if let text = got.first(where: { !$0.hasPrefix("{\"type\":") || !$0.hasSuffix("}") }) {
          return "no event: \(text)"
        }
        continue
      }
      if Self.bySubscription(got) != Self.bySubscription(expected) {
        return "\(got.count) events, and plain \(expected.count)"
      }
    }
    return nil
  }

  /// Between subscriptions of a connection nothing is promised.
  private static func bySubscription(_ texts: [String]) -> [String: [String]] {
    Dictionary(grouping: texts.map(\.withoutTime)) { text in
      String(text.firstMatch(of: /"subscription":(\d+)/)?.1 ?? "")
    }
  }
}
