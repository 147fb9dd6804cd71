// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

/// The verbs that read and write the folder of a store, by the program.
@Suite("backup, restore and check")
struct DataVerbTests {
  private let root = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path

  private func withRoot(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: root) }
    try body()
  }

  private func serve(_ folder: String, _ body: (RunningServer) throws -> Void) throws {
    let server = try RunningServer(["--data-dir", root + "/" + folder])
    defer {
      server.program.process.send(SIGKILL)
      _ = server.program.end()
    }
    try body(server)
  }

  private func get(_ server: RunningServer, _ path: String) throws -> String {
    try server.run("get", path).output.trimmingCharacters(in: .newlines)
  }

  @Test func `a running server is backed up, and clients of what was restored are told what they lost`() throws {
    try withRoot {
      let (file, other) = (root + "/b", root + "/piped")
      var (early, late) = ("", "")
      try serve("one") { server throws in
        for value in ["1", "2", "3"] { #expect(try server.run("set", "a", value).status == 0) }
        let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
        let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: .seconds(60))
        early = try #require(try client.request("GET", "/properties/a").value("Signal-Revision"))
        let made = try Program.run(["backup", file, "--data", root + "/one"])
        #expect(made.status == 0 && made.output.contains("revision 3"), "\(made)")
        // By the environment, and into a pipe.
        let shell = try Program(
          ["-c", "\"$0\" backup - > \"$1\"", Program.executable.path, other], ["SIGNAL_DATA_DIR": root + "/one"],
          executable: "/bin/sh"
        ).end()
        #expect(shell.status == 0 && shell.errors.contains("revision 3"), "\(shell)")
        let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
        #expect(mode == 0o600)
        #expect(try server.run("set", "a", "4").status == 0)
        late = try #require(try client.request("GET", "/properties/a").value("Signal-Revision"))
        let checked = try Program.run(["check", "--data", root + "/one"])
        #expect(checked.status == 0 && checked.output.contains("is sound: 1 property, revision 4"), "\(checked)")
        let refused = try Program.run(["check", "--repair", "--data", root + "/one"])
        #expect(refused.status == 71 && refused.errors.contains("is in use by process"), "\(refused)")
      }
      for (source, folder) in [(file, "two"), (other, "three")] {
        let made = try Program.run(["restore", source, "--data", root + "/" + folder])
        #expect(made.status == 0 && made.output.contains("1 property, revision 3"), "\(made)")
        try serve(folder) { server throws in
          #expect(try get(server, "a") == "3")
          let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
          let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: .seconds(60))
          #expect(try server.run("set", "a", "9").status == 0)
          let resumed = try client.request("GET", "/events?match=a&since=\(early)&take=1", timeout: .seconds(60))
          #expect(String(decoding: resumed.body, as: UTF8.self).contains(#""recovered":true"#))
          let lost = try client.request("GET", "/events?match=a&since=\(late)&take=1", timeout: .seconds(60))
          #expect(String(decoding: lost.body, as: UTF8.self).contains(#""reason":"lost""#))
        }
      }
      let before = try Program.run([
        "restore", file, "--data", root + "/four", "--until", String(early.dropLast()) + "2",
      ])
      #expect(before.status == 0 && before.output.contains("revision 2"), "\(before)")
      try serve("four") { server throws in #expect(try get(server, "a") == "2") }
    }
  }

  @Test func `a folder is served for reading only, by several, and stays as it is`() throws {
    try withRoot {
      try serve("one") { server throws in
        for value in ["1", "2"] { #expect(try server.run("set", "a", value).status == 0) }
        #expect(try server.run("timer", "t", "--every", "1h").status == 0)
        #expect(server.stop().status == 0)
      }
      let folder = root + "/one"
      func state() throws -> [Data] {
        try ["journal.sqlite", "state.sqlite", "durable"].map { try Data(contentsOf: URL(filePath: "\(folder)/\($0)")) }
      }
      let before = try state()
      let servers = try (0..<2).map { _ in try RunningServer(["--data-dir", folder, "--data-read-only", "true"]) }
      defer { for server in servers { _ = server.stop() } }
      for server in servers {
        #expect(try get(server, "a") == "2")
        let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
        let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port), timeout: .seconds(60))
        for (method, target, body) in [
          ("PUT", "/properties/a", "3"), ("DELETE", "/properties/a", ""), ("PUT", "/properties/a?sync=true", "3"),
          ("POST", "/signals/s?remember=true", "1"), ("PUT", "/timers/x", #"{"after":"1h"}"#),
          ("DELETE", "/timers/t", ""),
          ("POST", "/transactions", #"{"operations":[{"op":"set","path":"a","value":3}]}"#),
        ] {
          let answer = try client.request(method, target, body: Array(body.utf8), timeout: .seconds(60))
          let text = String(decoding: answer.body, as: UTF8.self)
          #expect(answer.status == 403 && text.contains(#""code":"read_only""#), "\(method) \(target): \(text)")
        }
        #expect(try client.request("POST", "/signals/s", body: Array("1".utf8)).status == 204)
        let ready = try client.request("GET", "/health/ready")
        #expect(String(decoding: ready.body, as: UTF8.self).contains(#""storage":"read_only","durable":2"#))
        let socket = try WebSocketClient(.tcp(host: "127.0.0.1", port: port), target: "/events")
        try socket.send(#"{"id":1,"type":"onDisconnect","operations":[{"op":"delete","path":"a"}]}"#)
        _ = try socket.receive(timeout: .seconds(60))
        let reply = try socket.receive(timeout: .seconds(60))
        guard case .text(let text) = reply else {
          Issue.record("\(String(describing: reply))")
          continue
        }
        #expect(String(decoding: text, as: UTF8.self).contains(#""code":"read_only""#))
      }
      let writer = try Program.run(["serve", "--port", "0", "--log-level", "error", "--data-dir", folder])
      #expect(writer.status == 71 && writer.errors.contains("is in use by a process that only reads"), "\(writer)")
      #expect(try state() == before)
      let none = try Program.run(["serve", "--data-read-only", "true"])
      #expect(none.status == 78 && none.errors.contains("needs data.dir"), "\(none)")
    }
  }

  @Test func `damage is named, repaired, and what is lost is listed`() throws {
    try withRoot {
      try serve("one") { server throws in
        for value in ["1", "2"] { #expect(try server.run("set", "a", value).status == 0) }
        #expect(server.stop().status == 0)
      }
      let journal = root + "/one/journal.sqlite"
      var bytes = try [UInt8](Data(contentsOf: URL(filePath: journal)))
      bytes.replaceSubrange(0..<100, with: repeatElement(0xFF, count: 100))
      try Data(bytes).write(to: URL(filePath: journal))
      let checked = try Program.run(["check", "--data", root + "/one"])
      #expect(checked.status == 65 && checked.errors.contains("journal.sqlite is damaged"), "\(checked)")
      #expect(checked.errors.contains("revisions 1 to 2 are lost"), "\(checked)")
      #expect(try Program.run(["backup", root + "/b", "--data", root + "/one"]).status == 65)
      let repaired = try Program.run(["check", "--repair", "--data", root + "/one"])
      #expect(repaired.status == 0 && repaired.output.contains("is repaired: 0 properties, revision 0"), "\(repaired)")
      try serve("one") { server throws in
        #expect(try server.run("get", "a").status == 1)
        #expect(try server.run("set", "a", "5").status == 0)
      }
      #expect(try Program.run(["check", "--data", root + "/one"]).status == 0)
    }
  }

  @Test func `refusals say what is wrong, and change nothing`() throws {
    try withRoot {
      try serve("one") { server throws in #expect(try server.run("set", "a", "1").status == 0) }
      try Data("precious".utf8).write(to: URL(filePath: root + "/notes"))
      #expect(try Program.run(["backup", root + "/b", "--data", root + "/one"]).status == 0)
      let cases: [(arguments: [String], status: Int32, text: String)] = [
        (["backup", root + "/notes", "--data", root + "/one"], 71, "it is no backup"),
        (["backup", root + "/c", "--data", root + "/none"], 71, "No such file"),
        (["backup", root + "/c"], 64, "--data"),
        (["backup", root + "/none/c", "--data", root + "/one"], 71, "No such file"),
        (["restore", root + "/b", "--data", root + "/one"], 71, "is not empty"),
        (["restore", root + "/none", "--data", root + "/two"], 71, "No such file"),
        (["restore", root + "/notes", "--data", root + "/two"], 65, "notes"),
        (["restore", root + "/b", "--data", root + "/two", "--until", "noon"], 64, "neither a time"),
        (["restore", root + "/b", "--data", root + "/two", "--until", "zz.1"], 65, "is not part of its history"),
        (["restore", root + "/b", "--data", root + "/none/two"], 71, "No such file"),
        (["check", "--data", root + "/none"], 71, "No such file"),
        (["check", "--repair", "--data", root + "/none"], 71, "No such file"),
      ]
      for (arguments, status, text) in cases {
        let run = try Program.run(arguments)
        #expect(run.status == status && run.errors.contains(text), "\(arguments): \(run)")
      }
      #expect(try String(contentsOfFile: root + "/notes", encoding: .utf8) == "precious")
      #expect(try Program.run(["check", "--data", root + "/one"]).status == 0)
    }
  }
}
