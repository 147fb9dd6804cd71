// SPDX-License-Identifier: MIT
import Foundation
import SignalStore
import TestSupport
import Testing

@testable import SignalHTTP

/// A length of time is the same to the server, to `openapi.yaml` and to `messages.schema.json`.
@Suite("Durations, §1")
struct DurationTests {
  private static let good = [
    "250ms", "60s", "5m", "2h", "7d", "0s", "007s", "1ms", "999999999999ms", "999999999999d", "000000000001h",
  ]
  private static let bad = [
    "", "s", "60", "-1s", "+1s", "1.5s", "1e3s", "1 s", " 1s", "1s ", "1S", "1MS", "1w", "1us", "1h30m", "1ss",
    "1000000000000ms", "9999999999999999999s", "\u{661}s", "1s\u{301}", "1\u{200D}s", "1\u{17F}", "1s\n", "\n1s",
    "PT1S",
  ]

  private func pattern(ofDescription text: String) throws -> String {
    let schema = try #require(text.range(of: "\n    Duration:\n")).upperBound
    return try String(#require(text[schema...].firstMatch(of: /pattern: "([^"]+)"/)).1)
  }

  @Test func `there is one pattern, in the protocol's two descriptions and in the code`() throws {
    let description = try MessageSchema.file("Sources/SignalHTTP/API/openapi.yaml")
    #expect(try pattern(ofDescription: description) == WireDuration.pattern)
    #expect(try MessageSchema().pattern(of: "duration") == WireDuration.pattern)
  }

  @Test(arguments: good.map { ($0, true) } + bad.map { ($0, false) })
  func `the server takes what the pattern takes`(text: String, isGood: Bool) throws {
    #expect(try (text.wholeMatch(of: Regex(WireDuration.pattern)) != nil) == isGood)
    #expect((WireDuration.parse(text) != nil) == isGood)
  }

  /// Over the wire, where a duration can also be over a limit: that is said in other words.
  @Test func `everywhere a duration is read, the same ones are`() throws {
    let server = try TestServer()
    let client = try server.connect()
    let live = try LiveClient(server)
    func quoted(_ text: String) -> String { text.replacing("\n", with: "\\n") }
    func isRefusedForItsForm(_ response: HTTPClientResponse) -> Bool {
      response.code == "bad_duration" && response.text.contains("is a number with a unit")
    }
    for (text, isGood) in Self.good.map({ ($0, true) }) + Self.bad.map({ ($0, false) }) {
      let encoded = text.utf8.map { "%" + String(Int($0) + 256, radix: 16).dropFirst() }.joined()
      for (method, target, body) in [
        ("PUT", "/properties/a?ttl=\(encoded)", "1"), ("GET", "/properties/a?until=true&wait=\(encoded)", nil),
        ("PUT", "/timers/t", #"{"after":"\#(quoted(text))"}"#), ("PUT", "/timers/t", #"{"every":"\#(quoted(text))"}"#),
        ("POST", "/transactions", #"{"operations":[{"op":"set","path":"a","value":1,"ttl":"\#(quoted(text))"}]}"#),
      ] as [(String, String, String?)] {
        #expect(try isRefusedForItsForm(client.request(method, target, body: body)) != isGood, "\(target) \(text)")
      }
      let reply = try live.ask(#"{"id":1,"type":"set","path":"a","value":1,"ttl":"\#(quoted(text))"}"#)
      let detail = reply.object("error")?.string("detail") ?? ""
      #expect(detail.contains("is a number with a unit") != isGood, "\(text)")
    }
  }
}
