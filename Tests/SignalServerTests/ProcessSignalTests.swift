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

@Suite("The log of what is refused", .timeLimit(.minutes(2)))
struct RefusalLogTests {
  @Test func `at the level debug every refusal and connection is a line, without what was sent`() throws {
    let server = try RunningServer(["--log-level", "debug"])
    #expect(server.complaint().contains("started"))
    #expect(try server.run("set", "a", #""s3cret""#).status == 0)
    #expect(server.complaint().contains(/debug +connection opened peer=127\.0\.0\.1:\d+$/))
    #expect(server.complaint().contains(/debug +connection closed peer=127\.0\.0\.1:\d+$/))
    #expect(try server.run("set", "b", #""s3cret""#, "--if", "value == 's3cret'").status == 1)
    let said = server.stop().errors
    #expect(
      said.contains(
        /debug +request refused code=precondition_failed method=PUT path=\/properties\/b peer=127\.0\.0\.1:\d+ status=412\n/
      ),
      "\(said)")
    #expect(!said.contains("s3cret"))
  }

  @Test func `at other levels there is nothing of it`() throws {
    let server = try RunningServer(["--log-level", "info"])
    #expect(try server.run("get", "none").status == 1)
    #expect(!server.stop().errors.contains("none"))
  }
}
