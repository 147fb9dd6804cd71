// SPDX-License-Identifier: MIT
import Foundation
import JSON
import SignalStore
import Testing

@testable import SignalHTTP

/// `docs/protocol.md` is normative: what can be compared with the code by a machine is.
@Suite struct ProtocolDocumentTests {
  private let text: String

  init() throws {
    let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../docs/protocol.md")
    text = try String(contentsOf: root, encoding: .utf8)
  }

  private func section(_ title: String) throws -> Substring {
    let start = try #require(text.range(of: "\n## \(title)"))
    let rest = text[start.upperBound...]
    return rest.range(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
  }

  /// The codes of §6 with their status.
  private func documented() throws -> [String: Int] {
    var codes: [String: Int] = [:]
    for row in try section("6 Error codes").split(separator: "\n") where row.hasPrefix("| `") {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let status = try #require(Int(cells[2]), "no status in \(row)")
      for code in cells[1].matches(of: /`([a-z_]+)`/) { codes[String(code.1)] = status }
    }
    return codes
  }

  @Test func `every code of the API is in the table, with its status`() throws {
    let documented = try documented()
    for code in Problem.Code.allCases { #expect(documented[code.rawValue] == code.status, "\(code.rawValue)") }
  }

  @Test func `every code of HTTP is in the table, with its status`() throws {
    let documented = try documented()
    for error in HTTPParseError.allCases {
      #expect(documented[error.problemCode] == Int(error.status.code), "\(error.problemCode)")
    }
  }

  @Test func `the close codes of the table tell what the client reads from them`() throws {
    for row in try section("7 Close codes").split(separator: "\n") where row.hasPrefix("| 1") || row.hasPrefix("| 4") {
      let cells = row.split(separator: "|", omittingEmptySubsequences: false).map {
        $0.trimmingCharacters(in: .whitespaces)
      }
      let code = CloseCode(rawValue: try #require(UInt16(cells[1])))
      let says: CloseCode.Advice =
        cells[3].hasPrefix("reconnect")
        ? .reconnectNow : cells[3] == "not reconnect" ? .doNotReconnect : .reconnectAfterFixing
      #expect(code.advice == says, "\(row)")
    }
  }

  @Test func `the limits of the table have their defaults`() throws {
    let limits = Limits()
    let live = LiveLimits()
    let store = StoreLimits()
    let expected = [
      "http.head-bytes": "\(limits.http.headBytes >> 10) KiB",
      "http.target-bytes": "\(limits.http.targetBytes >> 10) KiB",
      "http.fields": "\(limits.http.fields)", "live.subscriptions-per-connection": "\(live.subscriptionsPerConnection)",
      "live.patterns-per-subscription": "\(live.patternsPerSubscription)", "store.value-depth": "\(JSONLimits().depth)",
      "store.transaction-operations": "\(store.operations)",
    ]
    for (setting, value) in expected {
      #expect(text.contains("`\(setting)` | \(value) |"), "\(setting) is \(value)")
    }
  }
}
