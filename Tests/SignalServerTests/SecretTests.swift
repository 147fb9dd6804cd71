// SPDX-License-Identifier: MIT
import Foundation
import Processes
import SignalHTTP
import Testing

/// What is secret stands in nothing that the server writes on its own account.
@Suite("Secrets stay where they were given")
struct SecretTests {
  @Test func `tokens, tickets and values are in no log, refusal or argument list`() throws {
    let root = FileManager.default.temporaryDirectory.appending(path: "signal-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: root, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: root) }
    let file = root + "/tokens.json"
    let made = try Program.run(["token", "create", "--id", "ann", "--file", file])
    let token = made.output.trimmingCharacters(in: .newlines)
    let canary = "canary7F3kQ"
    let forged = "sgn_ann_" + canary + String(repeating: "A", count: 43 - canary.count)
    let server = try RunningServer(["--auth-tokens", file, "--auth-required", "true", "--log-level", "debug"])
    let port = try #require(server.url.split(separator: ":").last.flatMap { UInt16($0) })
    var refusals = ""

    func ask(
      _ method: String, _ target: String, _ token: String?, fields: [(String, String)] = [], body: String? = nil
    ) throws -> HTTPClientResponse {
      let client = try HTTPClient(.tcp(host: "127.0.0.1", port: port))
      let proof = token.map { [("Authorization", "Bearer \($0)")] } ?? []
      let response = try client.request(method, target, fields: proof + fields, body: body.map { Array($0.utf8) })
      if response.status >= 400 {
        refusals += String(decoding: response.body, as: UTF8.self)
        refusals += response.fields.map { "\($0.name): \($0.value)\n" }.joined()
      }
      return response
    }
    #expect(try ask("PUT", "/properties/a", token, body: "\"\(canary)\"").status == 201)
    // Refused: the token, its scheme's other form, a ticket, and a value that is none.
    for bad in [forged, canary, "eyJhbGciOiJub25lIn0.\(canary).", token + canary] {
      #expect(try ask("GET", "/properties/a", bad).status == 401)
    }
    #expect(try ask("GET", "/events?match=**&ticket=\(canary)", nil).status == 401)
    #expect(try ask("PUT", "/properties/b", token, body: "{\"\(canary)").status == 400)
    #expect(try ask("PUT", "/properties/a", nil, body: "\"\(canary)\"").status == 401)
    let arguments = try String(
      contentsOfFile: "/proc/\(server.program.process.processIdentifier)/cmdline", encoding: .utf8)
    let end = server.stop()
    #expect(end.errors.contains("invalid_token"), "the refusals are in the log: \(end.errors)")
    for (name, text) in [("log", end.errors + end.output), ("arguments", arguments), ("errors", refusals)] {
      for secret in [canary, String(token.suffix(43))] { #expect(!text.contains(secret), "\(name): \(text)") }
    }
  }
}
