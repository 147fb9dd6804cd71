// SPDX-License-Identifier: MIT

import Foundation
import JSON
import Testing

@testable import CEL

/// `docs/expressions.md`: what it promises is tried.
@Suite struct ExpressionsDocumentTests {
  private let text: String

  init() throws {
    let page = URL(filePath: #filePath).appending(path: "../../../docs/expressions.md").standardizedFileURL
    text = try String(contentsOf: page, encoding: .utf8)
  }

  private func section(_ title: String) throws -> Substring {
    let rest = text[try #require(text.range(of: "\n## \(title)\n")).upperBound...]
    return rest.range(of: "\n## ").map { rest[..<$0.lowerBound] } ?? rest
  }

  private func blocks(_ language: String) -> [Substring] {
    text.components(separatedBy: "```\(language)\n").dropFirst().map { $0.prefix { $0 != "`" } }
  }

  @Test func `every function is in the table, and every one of the table is there`() throws {
    let rows = try section("Functions").split(separator: "\n").filter { $0.hasPrefix("|") }
    let named = Set(rows.flatMap { $0.matches(of: /`([A-Za-z0-9.]+)`/).map { String($0.1) } })
    let paragraph = try #require(
      section("Operators and macros").components(separatedBy: "\n\n").first { $0.hasPrefix("Macros") })
    let macros = paragraph.matches(of: /`([a-z][A-Za-z_.]+)(?:\(.*?\))?`/).map {
      String($0.1)
    }
    #expect(named.union(macros) == Set(Functions.globalNames + Functions.memberNames))
    #expect(named.isDisjoint(with: macros))
  }

  @Test func `every reason of an error is in the table`() throws {
    let rows = try section("Errors").split(separator: "\n").filter { $0.hasPrefix("| ") }.map {
      $0.split(separator: "|")[0].trimmingCharacters(in: .whitespaces)
    }
    #expect(rows.dropFirst() == EvaluationError.Reason.allCases.map(\.sentence)[...])
  }

  @Test func `every example has the value that is told`() throws {
    let value = try json(String(try #require(blocks("json").first)))
    let activation = Activation(path: Array("kitchen".utf8), value: value)
    let lines = blocks("cel").flatMap { $0.split(separator: "\n") }
    #expect(lines.count > 30)
    for line in lines {
      let parts = line.components(separatedBy: " // ")
      let (source, told) = (parts[0], try #require(parts.last))
      let result = try Program(compiling: source).evaluate(activation)
      if told.hasPrefix("error: ") {
        guard case .failure(let error) = result else {
          Issue.record("\(line): \(result)")
          continue
        }
        #expect(error.reason.sentence == told.dropFirst("error: ".count), "\(line)")
      } else {
        let expected = try Program(compiling: told).evaluate(activation)
        #expect("\(result)" == "\(expected)" && (try? result.get()) != nil, "\(line): \(result)")
      }
    }
  }

  @Test func `the expressions of every use compile`() throws {
    let lines = try section("Where they stand").split(separator: "\n").filter { $0.hasPrefix("    ") }
    #expect(lines.count == 7)
    let formulas = CELEnvironment(variables: [CELVariable(lookup: "properties")])
    for line in lines {
      let source = String(try #require(line.dropFirst(4).split(separator: "  ").first))
      _ = try Program(compiling: source, environment: line.contains("a formula") ? formulas : .change)
    }
  }

  @Test func `the limits are the defaults`() throws {
    let limits = CELLimits()
    let rows = try section("What one may cost").split(separator: "\n").filter { $0.contains("`live.") }.map {
      $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }[2]
    }
    #expect(
      rows == [
        "\(limits.bytes >> 10) KiB", "\(limits.nodes)", "\(limits.depth)",
        // Of filters in the server; the library has one for all.
        "50 000",
        limits.budget == 1_000_000 ? "1 000 000" : "\(limits.budget)",
        "\(limits.created >> 20) MiB",
      ])
  }
}
