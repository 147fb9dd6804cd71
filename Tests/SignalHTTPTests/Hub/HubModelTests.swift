// SPDX-License-Identifier: MIT
import CEL
import Foundation
import JSON
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// The hub against a model that knows no groups, tries, blocks or replays: random subscriptions with every option,
/// random writes, everything that a subscriber is sent.
@Suite struct HubModelTests {
  @Test(arguments: 1...60) func `every subscriber gets what the model says`(seed: UInt64) async throws {
    let loop = try EventLoop(label: "hub", sweepMilliseconds: 1000)
    let difference = await on(loop) { loop in Play(seed: seed, on: loop).run(on: loop) }
    loop.submit { $0.stop() }
    #expect(difference == nil, "seed \(seed)")
  }
}

/// A subscriber that keeps what it is sent.
private final class Probe: Subscriber, Outlet {
  var bytes: [UInt8] = []
  var highWaterMark: Int { .max }
  var isBlocked: Bool { false }
  var backlog: Int { 0 }
  var outlet: any Outlet { self }
  func send(_ block: [UInt8], on loop: isolated EventLoop) { bytes += block }
  func tooSlow(on loop: isolated EventLoop) {}
  var filterWork = RecentWork()
  func waitsForRoom() {}
  // There are no rules here.
  func accessChanged(_ membership: Membership, on loop: isolated EventLoop) {}
  func accessChanged(_ subscription: DemandSubscription, on loop: isolated EventLoop) {}

  func ended(_ membership: Membership, on loop: isolated EventLoop) {}

  /// The messages, without their times, one text each.
  func takeMessages() -> [String] {
    var messages: [String] = []
    var taken = bytes
    bytes = []
    var parser = FrameParser(role: .client, frameLimit: 1 << 20)
    var ranges: [Range<Int>] = []
    var span = taken.mutableSpan
    var position = 0
    while case .data(let slice)? = try? parser.next(in: &span, at: &position) { ranges.append(slice.range) }
    for range in ranges { messages.append(String(decoding: taken[range], as: UTF8.self).withoutTime) }
    return messages
  }
}

/// One subscription as the model sees it.
private final class Modelled {
  let patterns: [PathPattern]
  let threshold: Int?
  let isTransition: Bool
  let exit: Bool
  let oldValue: Bool
  let probe = Probe()
  var membership: Membership?
  var expected: [String] = []

  init(patterns: [PathPattern], threshold: Int?, isTransition: Bool, exit: Bool, oldValue: Bool) {
    self.patterns = patterns
    self.threshold = threshold
    self.isTransition = isTransition
    self.exit = exit
    self.oldValue = oldValue
  }

  var source: String? {
    guard let threshold else { return nil }
    return isTransition ? "value > \(threshold) && oldValue != 3" : "value > \(threshold)"
  }

  func holds(_ value: Int?) -> Bool { value.map { $0 > threshold ?? .min } ?? false }

  func event(_ path: String, old: Int?, new: Int?, _ revision: UInt64) -> String? {
    let oldText = oldValue ? old.map { #","oldValue":\#($0)"# } ?? "" : ""
    let set = { (entered: Bool) in
      #"{"type":"didSet","subscription":1,"path":"\#(path)","value":\#(new ?? 0)\#(oldText)"#
        + (entered ? #","entered":true"# : "") + #","revision":\#(revision)"#
    }
    let deleted = #"{"type":"didDelete","subscription":1,"path":"\#(path)"\#(oldText),"revision":\#(revision)"#
    guard threshold != nil else { return new == nil ? deleted : set(false) }
    if isTransition {
      // The value of a deletion is null, and null is not greater than anything.
      return new != nil && holds(new) && old != 3 ? set(false) : nil
    }
    if holds(new) { return set(!holds(old)) }
    guard holds(old) else { return nil }
    if exit {
      let value = new.map { #","value":\#($0)"# } ?? ""
      return
        #"{"type":"didExit","subscription":1,"path":"\#(path)"\#(value)\#(oldText),"op":"\#(new == nil ? "delete" : "set")","revision":\#(revision)"#
    }
    return new == nil ? deleted : nil
  }
}

private final class Play {
  private var random: SplitMix
  private let store = PropertyStore()
  private let hub: Hub
  private var subscriptions: [Modelled] = []
  private var state: [String: (value: Int, revision: UInt64)] = [:]
  private var history: [(revision: UInt64, changes: [(path: String, old: Int?, new: Int?)])] = []

  init(seed: UInt64, on loop: isolated EventLoop) {
    random = SplitMix(state: seed)
    // Some of them have to stop in the midst of commits.
    if seed % 2 == 0 { loop.work = TurnWork(limit: Int(seed % 7) + 1) }
    hub = Hub(
      store: store, bookmarkInterval: .seconds(3600), pace: Replay.Pace(snapshotBytes: 200, turnProperties: 5),
      limits: .forTests(), loop: loop)
  }

  /// Returns the first difference.
  func run(on loop: isolated EventLoop) -> String? {
    for step in 0..<120 {
      switch Int.random(in: 0..<10, using: &random) {
      case 0: subscribe(on: loop)
      case 1: cancel()
      case 2: if let difference = turn(step, on: loop) { return difference }
      default: write()
      }
    }
    return turn(-1, on: loop)
  }

  private func path() -> String { ["a", "a/x", "a/y", "b", "b/x/y", "c"].randomElement(using: &random) ?? "a" }

  private func write() {
    var operations: [PropertyStore.Operation] = []
    var changes: [(path: String, old: Int?, new: Int?)] = []
    for _ in 0..<Int.random(in: 1...3, using: &random) {
      let path = path()
      guard !operations.contains(where: { $0.path.description == path }) else { continue }
      let new = Int.random(in: 0..<4, using: &random) == 0 ? nil : Int.random(in: 0...5, using: &random)
      let old = state[path]?.value
      operations.append(
        new.map { .set(PropertyPath(stringLiteral: path), JSONText($0)) } ?? .delete(PropertyPath(stringLiteral: path)))
      if old != new { changes.append((path, old, new)) }
    }
    guard let result = try? store.transact(operations), !changes.isEmpty else { return }
    let revision = result.revision.number
    for change in changes { state[change.path] = change.new.map { ($0, revision) } }
    history.append((revision, changes))
    for subscription in subscriptions { expect(subscription, revision, changes) }
  }

  private func expect(_ subscription: Modelled, _ revision: UInt64, _ changes: [(path: String, old: Int?, new: Int?)]) {
    let events = changes.compactMap { change in
      subscription.patterns.contains { $0.matches(PropertyPath(stringLiteral: change.path)) }
        ? subscription.event(change.path, old: change.old, new: change.new, revision) : nil
    }
    for (index, event) in events.enumerated() {
      subscription.expected.append(event + (index + 1 < events.count ? #","more":true}"# : "}"))
    }
  }

  private func subscribe(on loop: isolated EventLoop) {
    let patterns: [PathPattern] = [["**"], ["a/**"], ["*"], ["a", "b/**"], ["*/x", "a/*"]].randomElement(
      using: &random)!
    let subscription = Modelled(
      patterns: patterns, threshold: Bool.random(using: &random) ? Int.random(in: 0...4, using: &random) : nil,
      isTransition: Int.random(in: 0..<4, using: &random) == 0, exit: Bool.random(using: &random),
      oldValue: Bool.random(using: &random))
    let filter = subscription.source.map { try! Filter($0, limits: CELLimits()) }
    let initial = Bool.random(using: &random)
    let now = store.revision.number
    let since = Bool.random(using: &random) ? UInt64.random(in: 0...now, using: &random) : nil
    let options = SubscriptionOptions(
      patterns: patterns, filter: filter, exit: subscription.exit,
      fields: subscription.oldValue ? .all : .all.subtracting(.oldValue))
    let membership = hub.subscribe(
      options, id: 1, wire: .webSocket(batched: false), initial: initial,
      since: since.map { Cursor(epoch: store.epoch, revision: Revision($0)) }, subscriber: subscription.probe, on: loop)
    subscription.membership = membership
    if let since {
      for commit in history where commit.revision > since { expect(subscription, commit.revision, commit.changes) }
    } else if initial {
      for path in state.keys.sorted(by: { PropertyPath(stringLiteral: $0) < PropertyPath(stringLiteral: $1) }) {
        guard patterns.contains(where: { $0.matches(PropertyPath(stringLiteral: path)) }), let now = state[path] else {
          continue
        }
        // As if it had just been set, with nothing before it.
        guard subscription.threshold == nil || subscription.holds(now.value) else { continue }
        subscription.expected.append(
          #"{"type":"didSet","subscription":1,"path":"\#(path)","value":\#(now.value),"revision":\#(now.revision)}"#)
      }
    }
    subscription.expected.append(#"{"type":"live","subscription":1,"revision":\#(now)}"#)
    subscriptions.append(subscription)
    // Its beginning may be sent now, or between later turns.
    if Bool.random(using: &random) { membership.proceed(on: loop) }
  }

  private func cancel() {
    guard let index = subscriptions.indices.randomElement(using: &random),
      let membership = subscriptions[index].membership
    else { return }
    hub.cancel(membership)
    subscriptions.remove(at: index)
  }

  private func turn(_ step: Int, on loop: isolated EventLoop) -> String? {
    repeat {
      loop.work.begin()
      hub.turnBegins(on: loop)
      _ = hub.turnEnds(on: loop)
    } while hub.hasWorkLeft
    for subscription in subscriptions {
      loop.work.replays = .max
      while subscription.membership?.isReplaying == true { subscription.membership?.proceed(on: loop) }
      let got = subscription.probe.takeMessages()
      if got != subscription.expected {
        return """
          step \(step), \(subscription.patterns) where \(subscription.source ?? "-") exit \(subscription.exit)
          expected \(subscription.expected.joined(separator: "\n         "))
          got      \(got.joined(separator: "\n         "))
          """
      }
      subscription.expected = []
    }
    return nil
  }
}
