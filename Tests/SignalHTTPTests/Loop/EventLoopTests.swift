// SPDX-License-Identifier: MIT
import Dispatch
import Synchronization
import Testing

@testable import SignalHTTP

/// Runs `body` on the loop and brings its result back.
func on<Result: Sendable>(
  _ loop: EventLoop, _ body: @escaping @Sendable (isolated EventLoop) -> Result
) async -> Result {
  await withCheckedContinuation { continuation in
    loop.submit { continuation.resume(returning: body($0)) }
  }
}

private func withLoop(_ body: (EventLoop) async throws -> Void) async throws {
  let loop = try EventLoop(label: "test", sweepMilliseconds: 10)
  try await body(loop)
  loop.submit { $0.stop() }
}

@Suite struct EventLoopTests {
  @Test func `submissions of one thread run in order, between turns`() async throws {
    try await withLoop { loop in
      let order = Mutex<[Int]>([])
      for number in 0..<1000 { loop.submit { _ in order.withLock { $0.append(number) } } }
      await on(loop) { _ in }
      #expect(order.withLock { $0 } == Array(0..<1000))
    }
  }

  @Test func `submissions of many threads all run`() async throws {
    try await withLoop { loop in
      let count = Atomic(0)
      DispatchQueue.concurrentPerform(iterations: 4) { _ in
        for _ in 0..<10_000 { loop.submit { _ in count.add(1, ordering: .relaxed) } }
      }
      await on(loop) { _ in }
      #expect(count.load(ordering: .relaxed) == 40_000)
    }
  }

  @Test func `an await from outside enters by the same door`() async throws {
    try await withLoop { loop in
      #expect(await loop.count == 0)
    }
  }

  @Test func `a submission from within a turn runs, though nothing else wakes the loop`() async throws {
    try await withLoop { loop in
      let inner = await withCheckedContinuation { continuation in
        loop.submit { loop in loop.submit { _ in continuation.resume(returning: 7) } }
      }
      #expect(inner == 7)
    }
  }

  @Test func `entering from another queue without the door stops the process`() async {
    await #expect(processExitsWith: .failure) {
      enterWithoutTheDoor(try EventLoop(label: "test", sweepMilliseconds: 10))
    }
  }

  @Test func `a name is not given again when its connection is gone`() async throws {
    try await withLoop { loop in
      let (first, second, isGone) = await on(loop) { loop -> (ConnectionID, ConnectionID, Bool) in
        let pair = SocketPair()
        let member = ProbeMember(pair.first)
        guard let first = try? loop.add(member) else { return (.none, .none, false) }
        loop.remove(first)
        let again = ProbeMember(pair.second)
        guard let second = try? loop.add(again) else { return (.none, .none, false) }
        let isGone = loop.member(first) == nil && loop.member(second) != nil
        loop.remove(second)
        return (first, second, isGone)
      }
      #expect(first != second)
      #expect(isGone)
    }
  }

  @Test func `a deadline comes once, not before its time`() async throws {
    try await withLoop { loop in
      let log = Mutex<[UInt64]>([])
      let started = monotonicNanoseconds()
      await withCheckedContinuation { continuation in
        loop.submit { loop in
          let pair = SocketPair()
          let member = ProbeMember(
            pair.first,
            whenDue: {
              log.withLock { $0.append(monotonicNanoseconds()) }
              continuation.resume()
            })
          member.peer = pair.second
          guard let id = try? loop.add(member) else { return }
          loop.setDeadline(loop.now + 30_000_000, of: id)
        }
      }
      let times = log.withLock { $0 }
      #expect(times.count == 1)
      #expect((times.first ?? 0) >= started + 30_000_000)
    }
  }

  @Test func `who stays is served before hundreds who come, and before hundreds who go`() async throws {
    try await withLoop { loop in
      let order = await withCheckedContinuation { continuation in
        loop.submit { loop in Crowd(300) { continuation.resume(returning: $0) }.begin(on: loop) }
      }
      #expect(order[0] == 0)
      let (coming, going) = (order[1...301], order[302...])
      #expect(coming.first == 0)
      #expect(Array(coming.dropFirst()) == Array(1...300))
      #expect(going.first == 0)
      #expect(Array(going.dropFirst()) == Array(1...300))
    }
  }

  /// Ten have 3 MiB to send, and in the next turn somebody comes with a little.
  @Test func `what is sent in a turn is bounded, and who has little to send does not wait for all`() async throws {
    try await withLoop { loop in
      let order = await withCheckedContinuation { continuation in
        loop.submit { loop in Senders { continuation.resume(returning: $0) }.begin(on: loop) }
      }
      #expect(order.filter { $0 != 99 } == Array(0..<10))
      #expect(order.firstIndex(of: 99).map { (2...4).contains($0) } == true, "\(order)")
    }
  }
}

/// Members that send much, numbered from 0 on, and number 99, which has something to send one turn later.
private final class Senders {
  private let done: ([Int]) -> Void
  private var order: [Int] = []

  init(done: @escaping ([Int]) -> Void) { self.done = done }

  func begin(on loop: isolated EventLoop) {
    for number in 0..<10 { loop.markDirty(Sender(number, of: self)) }
    loop.proceedLater(Sender(99, of: self))
  }

  fileprivate func flushed(_ number: Int, on loop: isolated EventLoop) {
    order.append(number)
    loop.noteSent(number == 99 ? 100 : 3 << 20)
    if order.count == 11 { done(order) }
  }

  private final class Sender: ProbeMember {
    private let number: Int
    private let senders: Senders

    init(_ number: Int, of senders: Senders) {
      self.number = number
      self.senders = senders
      let pair = SocketPair()
      super.init(pair.first)
      peer = pair.second
    }

    override func proceed(on loop: isolated EventLoop) { loop.markDirty(self) }
    override func flush(on loop: isolated EventLoop) { senders.flushed(number, on: loop) }
  }
}

private func enterWithoutTheDoor(_ loop: EventLoop) { loop.assumeIsolated { _ = $0.count } }

/// One who stays, number 0, and a crowd whose members all come at once and all go at once.
///
/// Who stays can be served just after the last of them, as far as the kernel knows.
private final class Crowd {
  private let count: Int
  private let done: ([Int]) -> Void
  private var members: [Member] = []
  /// Who was served, one after the other.
  private var order: [Int] = []

  init(_ count: Int, done: @escaping ([Int]) -> Void) {
    self.count = count
    self.done = done
  }

  func begin(on loop: isolated EventLoop) {
    add(on: loop)
    members[0].peerSends()
  }

  private func add(on loop: isolated EventLoop) {
    let member = Member(members.count, of: self)
    members.append(member)
    _ = try? loop.add(member)
  }

  fileprivate func served(_ number: Int, on loop: isolated EventLoop) {
    order.append(number)
    switch order.count {
    case 1:
      for _ in 0..<count { add(on: loop) }
      for member in members.dropFirst() { member.peerSends() }
      members[0].peerSends()
    case 2 + count:
      for member in members.dropFirst() { member.peerEnds() }
      members[0].peerSends()
    case 3 + 2 * count:
      done(order)
      members = []
    default: break
    }
  }

  private final class Member: ProbeMember {
    private let number: Int
    private let crowd: Crowd

    init(_ number: Int, of crowd: Crowd) {
      self.number = number
      self.crowd = crowd
      let pair = SocketPair()
      super.init(pair.first)
      peer = pair.second
    }

    override func ready(_ event: ReadinessEvent, on loop: isolated EventLoop) {
      if event.isReadable { crowd.served(number, on: loop) }
    }
  }
}
