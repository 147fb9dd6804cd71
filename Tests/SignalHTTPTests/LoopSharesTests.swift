// SPDX-License-Identifier: MIT
import Testing

@testable import SignalHTTP

@Suite struct `Shares of a loop's time` {
  private var shares = LoopShares()
  private var time: UInt64 = 1_000_000_000

  /// Serves a connection for some microseconds; whether it is heavy then.
  @discardableResult
  private mutating func serve(_ microseconds: UInt64) -> Bool {
    time += microseconds * 1000
    return shares.served(until: time)
  }

  private mutating func turn(after microseconds: UInt64 = 0) {
    time += microseconds * 1000
    shares.beginTurn(at: time)
  }

  @Test mutating func `a connection is heavy while its requests take long`() {
    turn()
    #expect(!serve(10))
    #expect(serve(300))
    #expect(!serve(200))
  }

  @Test mutating func `what is no connection's work counts for none`() {
    turn()
    time += 5_000_000
    shares.skip(to: time)
    #expect(!serve(10))
    #expect(shares.servesHeavy)
  }

  @Test mutating func `heavy connections among themselves wait only for the next turn`() {
    turn()
    for _ in 0..<3 {
      #expect(shares.servesHeavy)
      serve(1500)
    }
    #expect(!shares.servesHeavy)
    turn()
    #expect(shares.servesHeavy)
  }

  @Test mutating func `the others come first for as long as a heavy one took`() {
    turn()
    serve(10)
    serve(2000)
    #expect(!shares.servesHeavy)
    // Requests that follow one another closely, as answers allow.
    for _ in 0..<19 {
      turn(after: 90)
      serve(10)
      #expect(!shares.servesHeavy)
    }
    turn(after: 90)
    serve(10)
    #expect(shares.servesHeavy)
  }

  @Test mutating func `time that the others do not use is not kept for them`() {
    turn()
    serve(10)
    serve(1600)
    turn(after: 99)
    #expect(!shares.servesHeavy)
    turn(after: 2)
    #expect(shares.servesHeavy)
  }

  @Test mutating func `others who have not come for a while are not waited for`() {
    turn()
    serve(10)
    turn(after: 60_000)
    serve(2000)
    #expect(shares.servesHeavy)
  }
}
