// SPDX-License-Identifier: MIT
import Testing

@testable import SignalHTTP

@Suite struct `Shares of a loop's time` {
  private var shares = LoopShares()
  private var time: UInt64 = 1_000_000_000
  private var light = LoopShares.Load()

  /// Serves a connection for some microseconds.
  private mutating func serve(_ load: inout LoopShares.Load, _ microseconds: UInt64, isNew: Bool = false) {
    let begin = time
    time += microseconds * 1000
    shares.served(from: begin, until: time, &load, isNew: isNew)
  }

  /// Serves a connection that is not heavy.
  private mutating func serveLight() {
    var load = light
    serve(&load, 10)
    light = load
  }

  /// Serves a heavy connection for some microseconds.
  private mutating func serveHeavy(_ microseconds: UInt64) {
    var load = heavy
    serve(&load, microseconds)
  }

  /// The load of a connection that is heavy.
  private var heavy: LoopShares.Load {
    var (shares, load) = (LoopShares(), LoopShares.Load())
    for _ in 0..<2 { shares.served(from: 0, until: LoopShares.longTime, &load, isNew: false) }
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
    serve(&load, 300)
    #expect(!load.isHeavy)
    for _ in 0..<10 { serve(&load, 10) }
    #expect(!load.isHeavy)
    serve(&load, 300)
    for _ in 0..<20 { serve(&load, 10) }
    #expect(load.isHeavy)
    serve(&load, 10)
    #expect(!load.isHeavy)
  }

  @Test mutating func `heavy connections among themselves wait only for the next turn`() {
    turn()
    for _ in 0..<3 {
      #expect(!shares.putsOff(heavy))
      serveHeavy(1500)
    }
    #expect(shares.putsOff(heavy))
    turn()
    #expect(!shares.putsOff(heavy))
  }

  @Test mutating func `the others come first for as long as a heavy one took`() {
    turn()
    serveLight()
    serveHeavy(2000)
    #expect(shares.putsOff(heavy))
    // Requests that follow one another closely, as answers allow.
    for _ in 0..<19 {
      turn(after: 90)
      serveLight()
      #expect(shares.putsOff(heavy))
    }
    turn(after: 90)
    serveLight()
    #expect(!shares.putsOff(heavy))
  }

  @Test mutating func `time that the others do not use is not kept for them`() {
    turn()
    serveLight()
    serveHeavy(1600)
    turn(after: 399)
    #expect(shares.putsOff(heavy))
    turn(after: 2)
    #expect(!shares.putsOff(heavy))
  }

  @Test mutating func `others who have not come for a while are not waited for`() {
    turn()
    serveLight()
    turn(after: 60_000)
    serveHeavy(2000)
    #expect(!shares.putsOff(heavy))
  }

  @Test mutating func `one that may be heavy waits for the next turn only, and is known from its first request on`() {
    turn()
    var load = LoopShares.Load()
    serve(&load, 5000, isNew: true)
    #expect(load.isSuspect && !load.isHeavy && !shares.putsOff(load))
    serveLight()
    serveHeavy(5000)
    #expect(shares.putsOff(load))
    turn()
    #expect(!shares.putsOff(load) && shares.putsOff(heavy))
  }
}
