// SPDX-License-Identifier: MIT
import Dispatch
import Glibc
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
          let member = ProbeMember(pair.first) { loop in
            log.withLock { $0.append(monotonicNanoseconds()) }
            continuation.resume()
          }
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
}

private func enterWithoutTheDoor(_ loop: EventLoop) { loop.assumeIsolated { _ = $0.count } }

/// Two connected sockets.
private struct SocketPair {
  let first: Int32
  let second: Int32

  init() {
    var pair: (Int32, Int32) = (-1, -1)
    // The two descriptors lie behind each other, as the call wants them.
    unsafe withUnsafeMutableBytes(of: &pair) { bytes in
      _ = unsafe socketpair(
        AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0,
        bytes.assumingMemoryBound(to: Int32.self).baseAddress)
    }
    (first, second) = pair
  }
}

private final class ProbeMember: LoopMember {
  let descriptor: Int32
  var peer: Int32?
  private let whenDue: (EventLoop) -> Void

  init(_ descriptor: Int32, whenDue: @escaping (EventLoop) -> Void = { _ in }) {
    self.descriptor = descriptor
    self.whenDue = whenDue
  }

  deinit {
    close(descriptor)
    if let peer { close(peer) }
  }

  func ready(_ event: ReadinessEvent, on loop: isolated EventLoop) {}
  func proceed(on loop: isolated EventLoop) {}
  func flush(on loop: isolated EventLoop) {}
  func deadlineReached(on loop: isolated EventLoop) { whenDue(loop) }
  func drain(on loop: isolated EventLoop) {}
  func abort(on loop: isolated EventLoop) {}
}
