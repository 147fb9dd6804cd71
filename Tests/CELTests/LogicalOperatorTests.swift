// SPDX-License-Identifier: MIT

import CEL
import Testing

/// langdef "Logical Operators": an operand that decides absorbs the error of the other.
@Suite struct LogicalOperatorTests {
  static let operands = ["true", "false", "1/0 == 0", "'text'", "e"]

  static func kind(_ operand: String) -> String {
    switch operand {
    case "true", "false": operand
    default: "error"
    }
  }

  @Test func `false absorbs whatever stands on the other side of and`() {
    for left in Self.operands {
      for right in Self.operands {
        check("(\(left)) && (\(right))", Self.kind(left), Self.kind(right), decides: "false", otherwise: "true")
      }
    }
  }

  @Test func `true absorbs whatever stands on the other side of or`() {
    for left in Self.operands {
      for right in Self.operands {
        check("(\(left)) || (\(right))", Self.kind(left), Self.kind(right), decides: "true", otherwise: "false")
      }
    }
  }

  func check(_ source: String, _ left: String, _ right: String, decides: String, otherwise: String) {
    // `e` is a variable without a value.
    let environment = CELEnvironment(variables: [CELVariable("e")], typeChecking: false)
    guard let program = try? Program(compiling: source, environment: environment) else {
      Issue.record("\(source) does not compile")
      return
    }
    let result = program.evaluate()
    if left == decides || right == decides {
      #expect(result == .success(.bool(decides == "true")), "\(source)")
    } else if left == otherwise, right == otherwise {
      #expect(result == .success(.bool(otherwise == "true")), "\(source)")
    } else {
      guard case .failure = result else {
        Issue.record("\(source) is \(result)")
        return
      }
    }
  }

  @Test(arguments: [
    ("1/0 == 0 && {}.a", EvaluationError.Reason.divisionByZero, 1),
    ("{}.a && 1/0 == 0", .noSuchKey, 2),
    ("true && 1/0 == 0", .divisionByZero, 9),
    ("'a' || 'b'", .noMatchingOverload, 4),
    ("false || 'b'", .noMatchingOverload, 6),
    ("false || (true && [][0])", .indexOutOfRange, 20),
  ])
  func `an error that is not absorbed is the first, and says where it was`(
    _ source: String, _ reason: EvaluationError.Reason, _ position: Int
  ) {
    #expect(evaluate(source) == .failure(EvaluationError(reason: reason, position: position)), "\(source)")
  }

  @Test(arguments: [
    ("true ? 1 : 1/0", CELValue.int(1)), ("false ? 1/0 : 2", .int(2)), ("false ? 'foo' : 'bar'", .string("bar")),
    ("true ? 'cows' : 17", .string("cows")),
  ])
  func `the branch that is not taken is not evaluated`(_ source: String, _ value: CELValue) {
    expect(source, is: value)
  }

  @Test func `a condition that is no bool is an error`() {
    expect("'cows' ? false : 17", fails: .noMatchingOverload)
    expect("2 / 0 > 4 ? 'baz' : 'quux'", fails: .divisionByZero)
    expect("(1/0 > 0 ? true : false) || true", is: .bool(true))
  }

  @Test func `long chains are evaluated to the last operand`() {
    expect(Array(repeating: "false", count: 60).joined(separator: " || ") + " || true", is: .bool(true))
    expect(Array(repeating: "true", count: 60).joined(separator: " && ") + " && false", is: .bool(false))
    expect("1/0 > 0 || 1/0 > 0 || true", is: .bool(true))
    expect("1/0 > 0 && 1/0 > 0 && false", is: .bool(false))
  }
}
