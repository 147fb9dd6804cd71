// SPDX-License-Identifier: MIT

import CEL
import Testing

/// What is allowed and probably not meant: a division that may be of two integers.
@Suite struct WarningTests {
  @Test(
    arguments: [
      ("(value.a + value.b) / 2", [20]), ("value / oldValue", [6]), ("value.a / value.b / 3", [8, 18]),
      ("7 / 2", [2]), ("value * (9 / 5)", [11]), ("size(value) / 2", [12]), ("revision / 2", [9]),
      ("value.map(x, x / 2)", [15]), ("value.all(x, x / 2 > 1)", [15]),
    ] as [(String, [Int])])
  func `a division that may drop a fraction is told with its place`(source: String, positions: [Int]) throws {
    let warnings = try Program(compiling: source).warnings
    #expect(warnings.map(\.position) == positions)
    #expect(warnings.allSatisfy { $0.line == 1 && $0.column == $0.position + 1 })
  }

  @Test(arguments: [
    "value / 2.0", "value.a / double(value.b)", "double(value) / 2", "value * 1.8 + 32.0", "int(value) / 2",
    "value / int(2)", "uint(value) / 2u", "value % 2", "value > 1", "1.0 / 2", "time - time > duration('1s')",
  ])
  func `what keeps the fraction, or says that it is meant, is not`(source: String) throws {
    #expect(try Program(compiling: source).warnings.isEmpty)
  }

  @Test func `an input of a formula counts as one that may be an integer`() throws {
    let environment = CELEnvironment(variables: [CELVariable(lookup: "properties")])
    let source = "properties['a'] /\n  properties['b']"
    let warning = try #require(try Program(compiling: source, environment: environment).warnings.first)
    #expect(warning.position == 16 && warning.line == 1 && warning.column == 17)
    #expect(
      warning.rendering(in: source) == """
        1:17: \(warning.message)
        properties['a'] /
                        ^
        """)
  }

  @Test func `the advice is the literal with a fraction`() throws {
    #expect(try Program(compiling: "value / 10").warnings.first?.message.contains("write 10.0 to keep it") == true)
    #expect(try Program(compiling: "10 / value").warnings.first?.message.contains("write double(…)") == true)
  }
}
