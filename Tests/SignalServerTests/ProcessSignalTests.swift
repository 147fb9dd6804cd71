// SPDX-License-Identifier: MIT
import Foundation
import Testing

@Suite("Process signals of a server", .timeLimit(.minutes(2)))
struct ProcessSignalTests {
  @Test func `a hang-up is told and ignored, and the next client is served`() throws {
    let server = try RunningServer(["--log-level", "warning"])
    for _ in 0..<2 {
      kill(server.program.process.processIdentifier, SIGHUP)
      #expect(
        server.complaint().hasSuffix("SIGHUP is ignored: there is nothing to reload, settings are read at the start"))
      #expect(try server.run("set", "a", "1").status == 0)
    }
    #expect(server.stop() == .init(status: 0, output: "", errors: ""))
  }
}
