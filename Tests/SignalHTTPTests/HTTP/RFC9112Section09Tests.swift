// SPDX-License-Identifier: MIT
import TestSupport
import Testing

@testable import SignalHTTP

@Suite struct `RFC 9112 §9 Connection management` {
  @Suite struct `§9.3 Persistence` {
    @Test(
      arguments: [
        ("1.1", [], true), ("1.0", [], false), ("1.1", ["close"], false), ("1.0", ["close"], false),
        ("1.1", ["keep-alive"], true), ("1.0", ["keep-alive"], true), ("1.0", ["Keep-Alive"], true),
        ("1.1", ["CLOSE"], false), ("1.1", ["keep-alive, close"], false), ("1.0", ["keep-alive, close"], false),
        ("1.1", ["close, keep-alive"], false), ("1.1", ["keep-alive", "close"], false), ("1.1", ["x"], true),
        ("1.1", ["closed"], true), ("1.1", ["x-close"], true), ("1.1", ["upgrade"], true), ("1.1", [""], true),
        ("1.1", [", ,close,"], false), ("1.1", ["a,\tclose\t,b"], false), ("1.0", ["a,keep-alive"], true),
        ("1.2", [], true),
      ] as [(String, [String], Bool)])
    func `version and options say whether the connection stays open`(
      version: String, options: [String], keepsAlive: Bool
    ) throws {
      let lines = ["GET / HTTP/\(version)", "Host: a"] + options.map { "Connection: \($0)" } + ["", ""]
      #expect(try parsed(lines.joined(separator: "\r\n")).keepsAlive == keepsAlive)
    }

    @Test(arguments: ["a b", "close;q=1", "\"close\"", "close/1", "(close)", "é", "a,b c", "clo\u{A0}se"])
    func `an option is a token`(value: String) throws {
      #expect(try outcome(request("Connection: \(value)")) == .refused(.malformedFieldValue))
    }
  }

  @Suite struct `§9.7 Upgrade, RFC 9110 §7.8` {
    @Test(
      arguments: [
        ("1.1", "Upgrade", "websocket", true), ("1.1", "keep-alive, Upgrade", "websocket", true),
        ("1.1", "upgrade", "h2c", true), ("1.1", "keep-alive", "websocket", false),
        ("1.0", "Upgrade", "websocket", false),
        ("1.1", "Upgrade", nil, false), ("1.1", nil, "websocket", false),
      ] as [(String, String?, String?, Bool)])
    func `an upgrade is wanted when both fields say so, in HTTP 1_1`(
      version: String, connection: String?, upgrade: String?, wantsUpgrade: Bool
    ) throws {
      let lines = [
        "GET / HTTP/\(version)", "Host: a", connection.map { "Connection: \($0)" }, upgrade.map { "Upgrade: \($0)" },
      ]
      let text = lines.compactMap { $0 }.joined(separator: "\r\n") + "\r\n\r\n"
      #expect(try parsed(text).wantsUpgrade == wantsUpgrade)
    }

    @Test func `all options are told, with those of all lines`() throws {
      try withHead(request("Connection: close", "Connection: upgrade, keep-alive")) { head in
        #expect(head.index.options == [.close, .upgrade, .keepAlive])
      }
    }
  }
}
