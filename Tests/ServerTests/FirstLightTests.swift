// SPDX-License-Identifier: MIT
import SignalHTTP
import TestSupport
import Testing

@Suite struct FirstLightTests {
  @Test func `a server tells the port that the system picked`() throws {
    let server = try TestServer()
    #expect(server.port != 0)
  }
}
