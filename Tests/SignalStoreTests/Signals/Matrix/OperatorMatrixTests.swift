// SPDX-License-Identifier: MIT
import Foundation
import Synchronization
import Testing

@testable import SignalStore

/// One operator on one source: what is the same for all checks.
private struct Trial: Sendable {
  let name: String
  let source: SourceUnderTest
  let outcome: Outcome
  let model: @Sendable ([Int]) -> [Int]
  let isTimed: Bool
  let clock: ManualClock

  /// Every operator on a fresh source of this kind.
  static func all(on kind: SourceCase) -> [Trial] {
    operatorCases.compactMap { known in
      let source = kind.make()
      let clock = ManualClock()
      guard let outcome = known.apply(to: source.form, clock) else { return nil }
      return Trial(
        name: "\(known.name) \(known.variant) on \(kind.name)", source: source, outcome: outcome, model: known.model,
        isTimed: known.isTimed, clock: clock)
    }
  }

  /// What a subscriber is told in the end that was there for these messages.
  func expected(_ sent: [Int]) -> [Int] { model(source.first + sent) }

  /// Lets everything come that waits for its time.
  func settle() { clock.advance(to: clock.now + .seconds(1000)) }

  func send(_ message: Int) {
    source.send(message)
    settle()
  }
}

@MainActor private final class Screen {
  var shown: [Int] = []
}

@Suite struct `Every operator on every kind of source` {
  @Test(arguments: sourceCases) func `14 begins with the value of now, and goes on with each message`(kind: SourceCase)
  {
    for trial in Trial.all(on: kind) {
      let log = Log<Int>()
      let token = trial.outcome.attach { log.add($0) }
      // What knows time takes what a source without a current value sends at once for a message like any other.
      if trial.isTimed {
        switch trial.source.form {
        case .signal, .finite: trial.settle()
        case .property, .writable: break
        }
      }
      #expect(log.entries == trial.expected([]), "\(trial.name)")
      for message in [2, 3, 3, 4] { trial.send(message) }
      let sent = kind.name == "distinct property" || kind.name == "store property" ? [2, 3, 4] : [2, 3, 3, 4]
      #expect(log.entries == trial.expected(sent), "\(trial.name)")
      token.cancel()
      let before = log.entries
      trial.send(5)
      #expect(log.entries == before, "\(trial.name)")
      #expect(trial.source.observerCount() == 0, "\(trial.name)")
    }
  }

  @Test(arguments: sourceCases) func `5 tells an observer what it sends while it subscribes`(kind: SourceCase) {
    // Of two sets before it is read it tells the later one twice.
    for trial in Trial.all(on: kind) where !(kind.readsLate && trial.name.hasPrefix("flatMap ")) {
      let log = Log<Int>()
      let toSend = Box([5, 6, 7])
      let sent = Log<Int>()
      let send: @Sendable () -> Void = {
        guard let next = toSend.update({ $0.isEmpty ? nil : $0.removeFirst() }) else { return }
        sent.add(next)
        trial.source.send(next)
      }
      let token = trial.outcome.attach {
        log.add($0)
        send()
      }
      trial.settle()
      for _ in 0..<3 {
        send()
        trial.settle()
      }
      #expect(sent.entries == [5, 6, 7], "\(trial.name)")
      #expect(log.entries == trial.expected(sent.entries), "\(trial.name)")
      token.cancel()
    }
  }

  @Test(arguments: sourceCases) func `6 calls nobody any more who cancels inside`(kind: SourceCase) {
    for trial in Trial.all(on: kind) {
      let calls = Log<Int>()
      let token = Box<Subscription?>(nil)
      token.value = trial.outcome.attach { message in
        calls.add(message)
        guard let own = token.value else { return }
        own.cancel()
        // What waits behind the call is not for this observer any more.
        trial.source.send(10)
      }
      let before = calls.entries.count
      for message in [2, 3, 4, 5] { trial.send(message) }
      #expect(calls.entries.count <= before + 1, "\(trial.name)")
      let isOver = calls.entries.count > before
      #expect(!isOver || trial.source.observerCount() == 0, "\(trial.name)")
      token.value = nil
      #expect(trial.source.observerCount() == 0, "\(trial.name)")
    }
  }

  @Test(arguments: sourceCases) @MainActor func `tells a receiver on its actor, from wherever it is sent`(
    kind: SourceCase
  ) async {
    for trial in Trial.all(on: kind) {
      let screen = Screen()
      let token =
        switch trial.outcome {
        case .endless(let source): source.subscribe(boundTo: screen) { $0.shown.append($1) }
        case .property(let source): source.subscribe(boundTo: screen) { $0.shown.append($1) }
        case .ending(let source): source.subscribe(boundTo: screen) { $0.shown.append($1) }
        }
      if trial.isTimed { trial.settle() }
      // From its own actor at once.
      trial.send(2)
      #expect(screen.shown == trial.expected([2]), "\(trial.name)")
      await Task.detached { trial.send(3) }.value
      await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
      #expect(screen.shown == trial.expected([2, 3]), "\(trial.name)")
      await Task.detached { token.cancel() }.value
      trial.send(4)
      #expect(screen.shown == trial.expected([2, 3]), "\(trial.name)")
      #expect(trial.source.observerCount() == 0, "\(trial.name)")
    }
  }

  /// A reference observer sees the order that all observers see.
  @Test(arguments: sourceCases) func `2, 3 sees one order and no overlap when several threads send`(kind: SourceCase) {
    for trial in Trial.all(on: kind) {
      let seen = Log<Int>()
      let all = Log<Int>()
      let stored = trial.source.storage?.subscribe { all.add($0) }
      let reference: Subscription =
        switch trial.source.form {
        case .signal(let source): source.subscribe { seen.add($0) }
        case .property(let source): source.subscribe { seen.add($0) }
        case .writable(let source): source.subscribe { seen.add($0) }
        case .finite(let source): source.subscribe { seen.add($0) }
        }
      let log = Log<Int>()
      let inside = Atomic(0)
      let overlaps = Atomic(0)
      let token = trial.outcome.attach { message in
        if inside.add(1, ordering: .relaxed).newValue > 1 { overlaps.add(1, ordering: .relaxed) }
        log.add(message)
        inside.subtract(1, ordering: .relaxed)
      }
      onThreads(2) { thread in
        for n in 1...(20 * Effort.runs) { trial.source.send(10 * n + thread) }
      }
      trial.settle()
      #expect(overlaps.load(ordering: .relaxed) == 0, "\(trial.name)")
      if trial.isTimed {
        #expect(log.entries.last == seen.entries.last, "\(trial.name)")
      } else if !kind.readsLate {
        #expect(log.entries == trial.model(seen.entries), "\(trial.name)")
      } else if [[1], [2, 3, 3], [3, 3, 4]].allSatisfy({ trial.model($0) == $0 }) {
        // In the order in which they were set, with a later one in the place of one that had passed.
        let places = log.entries.compactMap { entry in all.entries.firstIndex(of: entry) }
        #expect(places.count == log.entries.count && places == places.sorted(), "\(trial.name)")
        #expect(log.entries.count == seen.entries.count, "\(trial.name)")
        #expect(log.entries.last == all.entries.last, "\(trial.name)")
      }
      withExtendedLifetime((stored, reference, token)) {}
    }
  }

  /// Threads that come and go while others do: nobody misses what it sends itself after it has subscribed.
  @Test(arguments: sourceCases) func `5 tells each of several threads what it sends itself`(kind: SourceCase) {
    // What is read when it is told may be what another thread has set since; it is no message that could get lost.
    if kind.readsLate { return }
    for trial in Trial.all(on: kind) where !trial.isTimed {
      // Operators that tell of each message in the same way, whatever came before.
      guard [[41], [1, 41], [1, 21, 41]].allSatisfy({ trial.model($0).contains(41) }) else { continue }
      let missed = Log<Int>()
      onThreads(3) { thread in
        for n in 1...(8 * Effort.runs) {
          let own = 10 * n + thread + 20
          let arrived = DispatchSemaphore(value: 0)
          let token = trial.outcome.attach { if $0 == own { arrived.signal() } }
          trial.source.send(own)
          // Another thread may be the one that delivers it.
          if arrived.wait(timeout: .now() + 5) == .timedOut { missed.add(own) }
          token.cancel()
        }
      }
      #expect(missed.entries == [], "\(trial.name)")
      #expect(trial.source.observerCount() == 0, "\(trial.name)")
    }
  }
}

@Suite struct `The list of operators` {
  /// Declarations on sources that give no source: how one subscribes to, sets or makes them.
  static let others: Set<String> = [
    "attach", "bind", "bindBothWays", "description", "messages", "override", "subscribe", "toggle", "values",
    "withTransaction",
  ]

  /// Sources that are made of nothing: they have nothing to begin with but what they are made for.
  static let origins: Set<String> = ["just", "never", "signal"]

  /// The names of all public declarations on sources, read from their files.
  private func declared() throws -> Set<String> {
    let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    let folder = root.appendingPathComponent("Sources/SignalStore/Signals")
    let files = try #require(FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil))
    var names: Set<String> = []
    for case let file as URL in files where file.pathExtension == "swift" {
      var isSource = false
      for line in try String(contentsOf: file, encoding: .utf8).split(separator: "\n") {
        if let match = line.firstMatch(of: /^extension ([A-Za-z]+)/) {
          isSource =
            ["SignalSource", "ReadableSource", "WritableSource", "DerivedSignal", "Sequence"].contains(match.1)
        } else if let match = line.firstMatch(of: /^public func ([A-Za-z]+)/) {
          names.insert(String(match.1))
        } else if line.hasPrefix("}") {
          isSource = false
        } else if isSource, let match = line.firstMatch(of: /^  public (?:static )?(?:func|var) ([A-Za-z]+)/) {
          names.insert(String(match.1))
        }
      }
    }
    return names
  }

  @Test func `has every operator that there is`() throws {
    let declared = try declared()
    let known = Set(operatorCases.map(\.name))
    #expect(declared.count > 40)
    #expect(declared.subtracting(known).subtracting(Self.others).subtracting(Self.origins) == [])
    #expect(known.subtracting(declared) == [])
    #expect(Self.others.union(Self.origins).subtracting(declared) == [])
  }

  @Test func `covers every kind of source for most of them`() {
    for kind in sourceCases {
      let clock = ManualClock()
      let count = operatorCases.filter { $0.apply(to: kind.make().form, clock) != nil }.count
      #expect(count >= 25, "\(kind.name): \(count)")
    }
  }
}
