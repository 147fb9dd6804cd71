// SPDX-License-Identifier: MIT
import SignalStore
import Testing

@testable import SignalCluster

/// When the processes of other nodes are believed to be gone.
@Suite struct PresenceTests {
  private static let timeout: UInt64 = 5000

  /// A holder of another process, which is heard at these times.
  private func presence(hearing times: [UInt64], begunAt begin: UInt64 = 0) -> (Presence, Holder) {
    var presence = Presence(name: "a", timeout: Self.timeout)
    let other = presence.own ^ 1
    presence.begin(at: begin)
    for time in times { presence.heard(other, at: time) }
    return (presence, Holder(number: other << 31 | 7))
  }

  @Test func `a node that comes to lead counts what it has heard before`() {
    var (presence, holder) = presence(hearing: [20_000])
    presence.lead(at: 21_100)
    #expect(presence.nextLook == 21_100)
    #expect(presence.gone(of: [holder], at: 21_100).isEmpty)
    // It looks when the silence has lasted for long enough, and not up to a second later.
    while presence.nextLook < 25_000 { #expect(presence.gone(of: [holder], at: presence.nextLook).isEmpty) }
    #expect(presence.nextLook == 25_000)
    #expect(presence.gone(of: [holder], at: 25_000) == [holder])
    #expect(presence.gone(of: [holder], at: 26_000).isEmpty, "each once")
  }

  @Test func `what leads releases again what its predecessor has released, unless that is in the log`() {
    var (presence, holder) = presence(hearing: [])
    presence.lead(at: 9000)
    #expect(presence.gone(of: [holder], at: 9000) == [holder])
    presence.lead(at: 9500)
    #expect(presence.gone(of: [holder], at: 9500) == [holder])
  }

  @Test func `nobody is gone before it could have been heard for as long`() {
    var (presence, holder) = presence(hearing: [], begunAt: 30_000)
    presence.lead(at: 31_000)
    #expect(presence.nextLook == 35_000)
    #expect(presence.gone(of: [holder], at: 34_999).isEmpty)
    #expect(presence.gone(of: [holder], at: 35_000) == [holder])
  }
}
