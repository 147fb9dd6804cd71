// SPDX-License-Identifier: MIT
import CReadiness
import Testing

@testable import SignalHTTP

@Suite struct ConnectionDeadlineTests {
  @Test func `a session's time stands still while the peer has to take what it was sent`() async throws {
    let loop = try EventLoop(label: "test", sweepMilliseconds: 10)
    let wasDue = await withCheckedContinuation { continuation in
      loop.submit { loop in
        let present = loop.now
        let pair = SocketPair()
        let session = SilentSession()
        let connections = LoopConnections(limits: Limits())
        connections.count.add()
        // Some time ago a quarter of it was allowed, and the socket became full: at most an hour ago, and never before the
        // clock began, which is when the machine was started.
        let age = min(3_600_000_000_000, present / 2)
        loop.now = present - age
        guard
          let connection = try? Connection.adopt(
            Transport(SocketHandle(owning: pair.first)), of: .ofOutgoing, session: session, connections: connections,
            on: loop)
        else { return continuation.resume(returning: true) }
        connection.setDeadline(after: .nanoseconds(Int64(age / 4)), on: loop)
        connection.sendAnswerNow([UInt8](repeating: 0, count: 1 << 20), on: loop)
        #expect(connection.isBlocked)
        // Now the peer takes all of it.
        loop.now = present
        while connection.backlog > 0 {
          pair.drainSecond()
          connection.ready(ReadinessEvent(token: 0, flags: creadiness_writable), on: loop)
        }
        // This one's time is over, so the sweep that finds it has looked at the connection before.
        let due = ProbeMember(pair.second, whenDue: { continuation.resume(returning: session.wasDue) })
        guard let id = try? loop.add(due) else { return }
        loop.setDeadline(present, of: id)
      }
    }
    #expect(!wasDue)
    loop.submit { $0.stop() }
  }
}

/// Says nothing, and remembers whether its time was over.
private final class SilentSession: Session {
  private(set) var wasDue = false

  var takesInput: Bool { false }
  var collectsOutput: Bool { false }

  func receive(
    _ bytes: inout MutableSpan<UInt8>, from connection: Connection, on loop: isolated EventLoop
  ) -> Intake { Intake(consumed: bytes.count, isHeldBack: false) }
  func peerEnded(_ connection: Connection, on loop: isolated EventLoop) {}
  func outputSent(_ connection: Connection, on loop: isolated EventLoop) {}
  func deadlineReached(_ connection: Connection, on loop: isolated EventLoop) { wasDue = true }
  func drain(_ connection: Connection, on loop: isolated EventLoop) {}
  func closed(on loop: isolated EventLoop) {}
}
