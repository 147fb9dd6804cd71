// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalAccess
import SignalHTTP
import Testing

/// Tokens by the program: made, used, revoked, and never told.
@Suite("token, and who is there")
struct TokenVerbTests {
  private let root = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path
  private var file: String { root + "/tokens.json" }

  private func withRoot(_ body: () throws -> Void) throws {
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: root) }
    try body()
  }

  private func make(_ id: String, _ arguments: String...) throws -> String {
    let made = try Program.run(["token", "create", "--id", id, "--file", file] + arguments)
    #expect(made.status == 0 && made.errors.contains("token \(id)") && !made.errors.contains(made.output), "\(made)")
    return made.output.trimmingCharacters(in: .newlines)
  }

  private func write(_ name: String, _ text: String, mode: Int = 0o600) throws -> String {
    let path = root + "/" + name
    let isWritten = FileManager.default.createFile(
      atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
    #expect(isWritten)
    return path
  }

  @Test func `a token is made once, listed, looked at and revoked`() throws {
    try withRoot {
      let token = try make("kitchen", "--claim", "role=sensor", "--claim", #"rooms=["a",1]"#, "--ttl", "90d")
      #expect(token.hasPrefix("sgn_kitchen_") && token.utf8.count == 55)
      #expect(try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int == 0o600)
      #expect(try !String(contentsOfFile: file, encoding: .utf8).contains(token.suffix(43)))
      let again = try Program.run(["token", "create", "--id", "kitchen", "--file", file])
      #expect(again.status == 1 && again.errors.contains("there is a token kitchen already"), "\(again)")
      // By the environment.
      let listed = try Program.run(["token", "list"], ["SIGNAL_AUTH_TOKENS": file])
      #expect(listed.status == 0 && listed.output.hasPrefix("kitchen  made 20"), "\(listed)")
      #expect(listed.output.contains("until 20") && listed.output.contains(#"{"role":"sensor","rooms":["a",1]}"#))
      let known = try Program.run(["token", "inspect", "--file", file], input: token + "\n")
      #expect(known.status == 0 && known.output.contains("good until 20"), "\(known)")
      let stranger = try Program.run(
        ["token", "inspect", "--file", file], input: "sgn_kitchen_\(String(repeating: "A", count: 43))")
      #expect(stranger.status == 1 && stranger.errors.contains("revoked, or of another server"), "\(stranger)")
      let revoked = try Program.run(["token", "revoke", "kitchen", "--file", file])
      #expect(revoked.status == 0, "\(revoked)")
      let twice = try Program.run(["token", "revoke", "kitchen", "--file", file])
      #expect(twice.status == 1 && twice.errors.contains("there is no token kitchen"), "\(twice)")
      for run in [known, stranger, listed] { #expect(!"\(run)".contains(token.suffix(43))) }
    }
  }

  @Test(arguments: [
    (["--id", "a b"], "letters, digits"), (["--id", ""], "letters, digits"),
    (["--id", "a", "--claim", "role"], "name=value"), (["--id", "a", "--claim", "=x"], "name=value"),
    (["--id", "a", "--claim", "r=1", "--claim", "r=2"], "given twice"),
    (["--id", "a", "--claim", "kind=x"], "the server's own"), (["--id", "a", "--ttl", "soon"], "--ttl is a duration"),
    (["--id", "a", "--ttl", "0s"], "--ttl is a duration"),
    (["--id", "a", "--claim", #"x={"a":1,"a":2}"#], "a name twice"),
    (["--id", "a", "--claim", "x=\(String(repeating: "x", count: 9000))"], "more than 8192 bytes"),
  ])
  func `a token that cannot be is refused, and no file is made`(_ arguments: [String], _ reason: String) throws {
    try withRoot {
      let run = try Program.run(["token", "create", "--file", file] + arguments)
      #expect(run.status == 64 && run.errors.contains(reason) && run.output.isEmpty, "\(run)")
      #expect(!FileManager.default.fileExists(atPath: file))
    }
  }

  @Test func `what is said of a JSON Web Token leaves its signature out`() throws {
    let token = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhbm4iLCJleHAiOjQxMDI0NDQ4MDB9.c2lnbmF0dXJlLWNhbmFyeQ"
    let run = try Program.run(["token", "inspect"], input: token)
    #expect(run.status == 0, "\(run)")
    #expect(
      run.output == """
        header  {"alg":"HS256"}
        claims  {"sub":"ann","exp":4102444800}
        good until 2100-01-01T00:00:00.000Z, if its signature is

        """)
    #expect(!run.errors.contains("c2lnbmF0dXJlLWNhbmFyeQ"))
    let other = try Program.run(["token", "inspect"], input: "nonsense")
    #expect(other.status == 1 && !other.errors.contains("nonsense"), "\(other)")
  }

  @Test func `verbs say who they are, and one that is revoked is out`() throws {
    try withRoot {
      let token = try make("ann")
      let server = try RunningServer(["--auth-tokens", file, "--auth-required", "true"])
      defer { _ = server.stop() }
      func run(_ arguments: [String], _ environment: [String: String] = [:]) throws -> Program.Run {
        try Program.run(arguments, ["SIGNAL_SERVER": server.url].merging(environment) { $1 })
      }
      let unknown = try run(["set", "a", "1"])
      #expect(unknown.status == 1 && unknown.errors.contains("give a token with SIGNAL_TOKEN"), "\(unknown)")
      #expect(try run(["set", "a", "1"], ["SIGNAL_TOKEN": token]).status == 0)
      let path = try write("token", token + "\n")
      #expect(try run(["get", "a"], ["SIGNAL_TOKEN_FILE": path]).output == "1\n")
      #expect(try run(["get", "a", "--token", token]).output == "1\n")
      #expect(try run(["export"], ["SIGNAL_TOKEN": token]).status == 0)
      let missing = try run(["get", "a"], ["SIGNAL_TOKEN_FILE": root + "/none"])
      #expect(missing.status == 64 && missing.errors.contains("SIGNAL_TOKEN_FILE"), "\(missing)")
      let watcher = try Program(["watch", "**"], ["SIGNAL_SERVER": server.url, "SIGNAL_TOKEN": token])
      #expect(watcher.line().contains("a"))
      #expect(try Program.run(["token", "revoke", "ann", "--file", file]).status == 0)
      let end = watcher.end()
      #expect(end.status == 1 && end.errors.contains("4401"), "\(end)")
      let refused = try run(["get", "a"], ["SIGNAL_TOKEN": token])
      #expect(refused.status == 1 && refused.errors.contains("unknown, malformed or over"), "\(refused)")
    }
  }

  @Test func `who could change the settings needs no token on a unix socket`() throws {
    try withRoot {
      _ = try make("ann")
      let socket = root + "/s"
      let program = try Program([
        "serve", "--listen", "unix:\(socket)", "--log-level", "error", "--auth-tokens", file, "--auth-required", "true",
      ])
      defer {
        program.process.terminate()
        _ = program.end()
      }
      #expect(program.line() == "listening on unix:\(socket)")
      for arguments in [["set", "a", "1"], ["watch", "a", "--count", "1"]] {
        let run = try Program.run(arguments + ["--server", "unix:\(socket)"])
        #expect(run.status == 0, "\(run)")
      }
    }
  }

  @Test func `a file that others can read stops the start`() throws {
    try withRoot {
      _ = try make("ann")
      for mode in [0o644, 0o640] {
        try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
        let run = try Program.run(["serve", "--port", "0", "--auth-tokens", file])
        #expect(run.status == 78 && run.errors.contains("can be read or changed by others"), "\(run)")
      }
      let none = try Program.run(["serve", "--port", "0", "--auth-tokens", root + "/none"])
      #expect(none.status == 78 && none.errors.contains("No such file"), "\(none)")
      let secret = try write("secret", String(repeating: "s", count: 40), mode: 0o644)
      let keys = try Program.run(["serve", "--port", "0", "--auth-jwt-keys", "HS256 \(secret)"])
      #expect(keys.status == 78 && keys.errors.contains("chmod 600"), "\(keys)")
    }
  }

  /// Everything that the server, the verbs and the system say while secrets are given in every way.
  private func said(by server: RunningServer, given secrets: [String]) throws -> String {
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    let endpoint = Endpoint.tcp(host: "127.0.0.1", port: port)
    let patience = Duration.seconds(60)
    var told = ""
    for text in secrets {
      let bearer = ("Authorization", "Bearer \(text)")
      let ways = [
        [bearer], [("Authorization", "Basic \(text)")], [bearer, bearer],
        [("Origin", server.url), ("Cookie", "session=\(text)")],
      ]
      for fields in ways {
        for target in ["/properties/none", "/auth/me?x=1", "/events?match=**&ticket=\(text)"] {
          let response = try HTTPClient(endpoint, timeout: patience).request(
            "GET", target, fields: fields, timeout: patience)
          told += "\(response)\(response.text)"
        }
      }
      let socket = try WebSocketClient(endpoint, target: "/events", timeout: patience)
      try socket.send(#"{"id":1,"type":"auth","token":"\#(text)"}"#, timeout: patience)
      try socket.send(#"{"id":2,"type":"auth","token":"\#(text)","x":1}"#, timeout: patience)
      for _ in 0..<3 {
        guard case .text(let bytes)? = try socket.receive(timeout: patience) else { continue }
        told += String(decoding: bytes, as: UTF8.self)
      }
      let path = try write("given\(told.utf8.count)", text)
      for environment in [["SIGNAL_TOKEN": text], ["SIGNAL_TOKEN_FILE": path], ["SIGNAL_TOKEN": "\(text) \(text)"]] {
        told += "\(try Program.run(["get", "none"], ["SIGNAL_SERVER": server.url].merging(environment) { $1 }))"
      }
      told += "\(try Program.run(["token", "inspect", "--file", file], input: text))"
    }
    let process = "/proc/\(server.program.process.processIdentifier)/"
    for name in ["cmdline", "comm"] { told += try String(contentsOfFile: process + name, encoding: .utf8) }
    return told
  }

  @Test func `a secret is in no log, error or process title`() throws {
    try withRoot {
      let canary = "canaryCANARYcanaryCANARYcanaryCANARY1234567"
      let token = try make("ann")
      let secret = try write("shared.key", "secret-\(canary)\n")
      let settings = ["--auth-tokens", file, "--auth-jwt-keys", "HS256 \(secret)", "--auth-cookie", "session"]
      let server = try RunningServer(["--log-level", "trace"] + settings)
      var told = try said(by: server, given: [token, "sgn_ann_\(canary)", "a.b.\(canary)", canary])
      told += "\(try Program.run(["serve", "--print-config"] + settings))"
      let left = server.stop()
      #expect(left.errors.contains("token refused"), "\(left.errors.prefix(2000))")
      told += "\(left)"
      for secret in [canary, String(token.suffix(43))] { #expect(!told.contains(secret)) }
    }
  }
}
