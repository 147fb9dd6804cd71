// SPDX-License-Identifier: MIT
import Foundation
import JSON
import Processes
import SignalHTTP
import Testing

@testable import signal_server

/// `docs/protocol.md` §2.11, by the program.
@Suite("A server that keeps what properties were")
struct HistoryServerTests {
  private static let patience = Duration.seconds(60)

  private func withServer<Result>(
    _ folder: String, body: (RunningServer, HTTPClient) throws -> Result
  ) throws -> Result {
    let server = try RunningServer(["--data-dir", folder, "--data-history", "s/** raw 1d, 1s 2d, 1m 30d"])
    defer {
      server.program.process.send(SIGKILL)
      _ = server.program.end()
    }
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    return try body(server, try HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: Self.patience))
  }

  /// Asks until there is time for it: what is temporary on a busy machine is tried again, as clients do.
  private func ask(_ client: HTTPClient, _ target: String) throws -> HTTPClientResponse {
    while true {
      let answer = try client.request("GET", target, timeout: Self.patience)
      if answer.status != 503 { return answer }
      Thread.sleep(forTimeInterval: 0.1)
    }
  }

  private static func rows(_ body: [UInt8]) throws -> (values: [String], through: String) {
    let members = try #require(Members.body(body))
    let rows = try #require(members.tree.member("rows", of: members.node))
    let values = members.tree.elements(of: rows).compactMap { row in
      members.tree.element(1, of: row).map { members.tree.text(of: $0).description }
    }
    return (values, try #require(members.string("through")))
  }

  @Test func `the history of a part tells what a subscription tells`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "history-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try withServer(folder) { server, client throws in
      let values = [
        #"{"b":1}"#, #"{"b":2}"#, #"{"a":1}"#, #"{"a":1,"c":1}"#, #"{"a":1,"c":2}"#, #"{"b":3}"#, #"{"b":4}"#,
      ]
      var first = ""
      for value in values {
        let answer = try client.request("PUT", "/properties/s/o", body: Array(value.utf8), timeout: Self.patience)
        if first.isEmpty {
          first = try #require(Members.body(answer.body)?.string("cursor") ?? answer.value("Signal-Revision"))
        }
      }
      func rows(_ query: String) throws -> String {
        String(decoding: try ask(client, "/history/s/o?pointer=/a&from=-1h\(query)").body, as: UTF8.self)
      }
      let told = try rows("")
      #expect(told.contains(#",1,3,"set"],["#) && told.contains(#",null,6,"delete"]]}"#), "\(told)")
      #expect(["set", "delete"].allSatisfy { told.components(separatedBy: "\"\($0)\"").count == 2 }, "\(told)")
      let page = try rows("&limit=1")
      #expect(page.contains(#"1,3,"set"]],"next":"#), "\(page)")
      let buckets = try ask(client, "/history/s/o?pointer=/a&from=-1h&step=1d")
      #expect(String(decoding: buckets.body, as: UTF8.self).contains("Z\",2,1.0,1.0,1.0,1,1]"), "\(buckets)")
      let events = try client.request(
        "GET", "/events?match=s/o&pointer=/a&since=\(first)&take=2", timeout: Self.patience)
      let text = String(decoding: events.body, as: UTF8.self)
      #expect(text.contains("\"revision\":3,") && text.contains("\"revision\":6,"), "\(text)")
    }
  }

  @Test func `an answer goes on as a subscription without a gap and without a repeat`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "history-\(UUID().uuidString)").path
    defer { try? FileManager.default.removeItem(atPath: folder) }
    try withServer(folder) { server, client throws in
      let url = server.url
      let writer = Thread {
        guard let port = url.split(separator: ":").last.flatMap({ UInt16($0) }),
          let client = try? HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: Self.patience)
        else { return }
        for value in 1...600 {
          _ = try? client.request("PUT", "/properties/s/a", body: Array("\(value)".utf8), timeout: Self.patience)
        }
      }
      writer.start()
      for _ in 0..<8 {
        let answer = try ask(client, "/history/s/a?from=-1h&limit=10000")
        #expect(answer.status == 200)
        let (values, through) = try Self.rows(answer.body)
        #expect((values == (0..<values.count).map { "\($0 + 1)" }) as Bool)
        guard values.count < 590 else { break }
        let stream = try client.request("GET", "/events?match=s/a&since=\(through)&take=3", timeout: Self.patience)
        let events = String(decoding: stream.body, as: UTF8.self).matches(of: /"value":([0-9]+)/).map { Int($0.1) }
        #expect(events == (1...3).map { values.count + $0 }, "\(through)")
      }
      // What has been answered is there.
      while writer.isExecuting || !writer.isFinished { Thread.sleep(forTimeInterval: 0.01) }
      let answer = try ask(client, "/history/s/a?from=-1h&limit=10000")
      #expect(try Self.rows(answer.body).values.count == 600)
    }
    // And after the process was killed, once.
    try withServer(folder) { server, client throws in
      #expect(
        try client.request("PUT", "/properties/s/a", body: Array("601".utf8), timeout: Self.patience).status == 204)
      let answer = try ask(client, "/history/s/a?from=-1h&limit=10000")
      #expect(try Self.rows(answer.body).values == (1...601).map { "\($0)" })
      let other = try client.request("GET", "/history/other", timeout: Self.patience)
      #expect(other.status == 404 && String(decoding: other.body, as: UTF8.self).contains("no_history"))
      try checkVerb(server)
    }
  }

  private func checkVerb(_ server: RunningServer) throws {
    let drawn = try server.run("history", "s/a", "--last", "1h", "--step", "1m")
    #expect(drawn.status == 0, "\(drawn)")
    #expect(drawn.output.contains("min 1.0  max 601.0  last 601"), "\(drawn.output)")
    #expect(drawn.output.contains { "▁▂▃▄▅▆▇█".contains($0) })
    for range in [
      ["--last", "10m"], ["--last", "7d"], ["--from", "-90d", "--to", "-0s"], ["--from", "2026-01-01T00:00:00Z"],
    ] {
      let drawn = try Program.run(["history", "s/a"] + range, ["SIGNAL_SERVER": server.url])
      #expect(drawn.status == 0 && drawn.output.contains("last 601"), "\(range): \(drawn)")
      #expect(drawn.output.prefix { $0 != "\n" }.count < 160, "\(range): \(drawn.output)")
    }
    let csv = try server.run("history", "s/a", "--last", "1h", "--csv").output.split(separator: "\n")
    #expect(csv.first == "time,value,revision,op" && csv.count == 602)
    let json = try server.run("history", "s/a", "--json").output.split(separator: "\n")
    #expect(json.count == 601 && json.last?.contains(#""value":601"#) == true)
    let refused = try server.run("history", "other")
    #expect(refused.status == 1 && refused.errors.contains("No rule"), "\(refused)")
    #expect(try server.run("history", "s/a", "--csv", "--follow").status == 64)
    for arguments in [
      ["--last", "1x"], ["--last", "1x", "--step", "1m"], ["--step", "1x"], ["--last", "-1h", "--json"],
    ] {
      let wrong = try Program.run(["history", "s/a"] + arguments, ["SIGNAL_SERVER": server.url])
      let named = "\(arguments[0]) takes a length of time such as 90s, 15m, 24h or 7d: '\(arguments[1])' is none"
      #expect(wrong.status == 64 && wrong.errors.contains(named), "\(wrong)")
    }
    #expect(try server.run("history", "s/a", "--last", "7d", "--json").status == 0)
    // A length of time before now begins with a minus.
    #expect(
      try server.run("history", "s/a", "--from", "-24h", "--to", "-0s", "--csv").output.split(separator: "\n").count
        == 602)
    let following = try Program(
      ["history", "s/a", "--last", "1h", "--step", "1m", "--json", "--follow"], ["SIGNAL_SERVER": server.url])
    #expect(following.line().contains(#""count":"#))
    #expect(try server.run("set", "s/a", "602").status == 0)
    while true {
      let line = following.line()
      guard !line.isEmpty else {
        Issue.record("the change did not come")
        break
      }
      if line.contains(#""value":602"#) { break }
    }
    following.process.terminate()
    #expect(following.end().status == 0)
  }
}
