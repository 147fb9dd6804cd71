// SPDX-License-Identifier: MIT
import Testing

@testable import SignalHTTP

@Suite struct `Shares of a loop's time` {
  private var shares = LoopShares()
  private var time: UInt64 = 1_000_000_000

  /// Serves a connection for some microseconds.
  private mutating func serve(_ load: inout LoopShares.Load, _ microseconds: UInt64, used: UInt64? = nil) {
    time += microseconds * 1000
    shares.served(until: time, used: used.map { $0 * 1000 }, &load)
  }

  /// Serves a connection that is not heavy.
  private mutating func serveLight(_ microseconds: UInt64 = 10) {
    var load = LoopShares.Load()
    serve(&load, microseconds)
  }

  /// Serves a heavy connection for some microseconds.
  private mutating func serveHeavy(_ microseconds: UInt64) {
    var load = heavy
    serve(&load, microseconds)
  }

  /// The load of a connection that is heavy.
  private var heavy: LoopShares.Load {
    var (shares, load) = (LoopShares(), LoopShares.Load())
    for end: UInt64 in 1...2 { shares.served(until: end * LoopShares.longTime, &load) }
    return load
  }

  private mutating func turn(after microseconds: UInt64 = 0) {
    time += microseconds * 1000
    shares.beginTurn(at: time)
  }

  @Test mutating func `a connection is heavy when two of its last pieces of work were long`() {
    turn()
    var load = LoopShares.Load()
    serve(&load, 10)
    #expect(!load.isSuspect)
    serve(&load, 300)
    #expect(load.isSuspect && !load.isHeavy)
    for _ in 0..<10 { serve(&load, 10) }
    #expect(!load.isHeavy)
    serve(&load, 300, used: 300)
    for _ in 0..<20 { serve(&load, 10) }
    #expect(load.isHeavy)
    serve(&load, 10)
    #expect(!load.isHeavy)
    for _ in 0..<20 { serve(&load, 10) }
    #expect(!load.isSuspect)
  }

  @Test mutating func `what the system has kept a thread from doing is not a connection's`() {
    turn()
    var load = LoopShares.Load()
    for _ in 0..<40 { serve(&load, 3000, used: 100) }
    #expect(!load.isHeavy)
  }

  @Test mutating func `one that may be heavy waits when others have taken the turn, from its first request on`() {
    turn()
    var load = LoopShares.Load()
    time += 5_000_000
    shares.served(until: time, &load, isNew: true)
    #expect(load.isSuspect && !load.isHeavy)
    #expect(!shares.putsInLine(load), "new ones have a time of their own")
    var other = load
    serve(&other, 5000, used: 5000)
    #expect(other.isHeavy && shares.putsInLine(load) && !shares.putsInLine(LoopShares.Load()))
    turn()
    #expect(!shares.putsInLine(load) && shares.putsInLine(other))
  }

  @Test mutating func `a single long piece among short ones lets no connection wait`() {
    var (known, unknown) = (LoopShares.Load(), LoopShares.Load())
    turn()
    for _ in 0..<8 { serve(&known, 10) }
    for _ in 0..<7 { serve(&unknown, 10) }
    #expect(!shares.isSpent)
    serve(&known, 5000)
    #expect(shares.isSpent && known.isSuspect)
    serve(&unknown, 5000)
    #expect(!shares.putsInLine(known), "it has shown before that its requests are short")
    #expect(shares.putsInLine(unknown))
    for _ in 0..<8 { serve(&unknown, 10, used: 10) }
    #expect(!shares.putsInLine(unknown), "it has shown so since")
    serve(&known, 5000, used: 5000)
    #expect(shares.putsInLine(known), "a second one is no exception")
    turn()
    #expect(!shares.isSpent)
  }

  @Test mutating func `what was cut short in a spent turn says nothing about a connection`() {
    turn()
    var load = heavy
    for _ in 0..<64 {
      time += 10_000
      shares.served(until: time, used: 10_000, &load, isCut: true)
    }
    #expect(load.isHeavy)
    var other = LoopShares.Load()
    for _ in 0..<8 {
      time += 10_000
      shares.served(until: time, &other, isCut: true)
    }
    serve(&other, 5000)
    #expect(shares.putsInLine(other), "eight cut pieces are no proof")
  }

  @Test mutating func `what comes between two connections is neither's`() {
    turn()
    var load = LoopShares.Load()
    for _ in 0..<4 {
      time += 5_000_000
      shares.resume(at: time)
      serve(&load, 10)
    }
    #expect(!load.isSuspect && !shares.putsOffLine)
  }

  @Test mutating func `heavy connections among themselves wait only for the next turn`() {
    turn()
    for _ in 0..<3 {
      #expect(!shares.putsOffLine)
      serveHeavy(1500)
      shares.servedInLine()
    }
    #expect(shares.putsOffLine)
    turn()
    #expect(!shares.putsOffLine)
  }

  @Test mutating func `those who may be heavy do not keep the line waiting for ever`() {
    turn()
    shares.servedInLine()
    for _ in 0..<10 {
      turn()
      serveLight(5000)
      #expect(shares.putsOffLine == (time < 1_000_000_000 + LoopShares.lineWait))
    }
    shares.servedInLine()
    #expect(shares.putsOffLine)
  }

  @Test mutating func `the others come first for as long as a heavy one took`() {
    turn()
    serveLight()
    serveHeavy(2000)
    #expect(shares.putsOffLine)
    // Requests that follow one another closely, as answers allow.
    for _ in 0..<19 {
      turn(after: 90)
      serveLight()
      #expect(shares.putsOffLine)
    }
    turn(after: 90)
    serveLight()
    #expect(!shares.putsOffLine)
  }

  @Test mutating func `time that the others do not use is not kept for them`() {
    turn()
    serveLight()
    serveHeavy(1600)
    turn(after: 399)
    #expect(shares.putsOffLine)
    turn(after: 2)
    #expect(!shares.putsOffLine)
  }

  @Test mutating func `others who have not come for a while are not waited for`() {
    turn()
    serveLight()
    turn(after: 60_000)
    serveHeavy(2000)
    #expect(!shares.putsOffLine)
  }
}
