// SPDX-License-Identifier: MIT

import CEL
import Glibc
import JSON

/// Evaluates expressions from standard input: one JSON object a line, one line of answer each, so that any suite can be
/// scored through it.
///
/// A request is `{"id":…, "expr":…}` with any of `"bindings"`, `"declarations"`, `"container"`, `"strict"`,
/// `"disable_macros"`, `"disable_check"` and `"check_only"`; an answer is `{"id":…, "value":V}`,
/// `{"id":…, "type":…}` for a check, or `{"id":…, "error":…}`.
/// V is `{"type":T, "value":X}`, as ``TypedValue`` reads and writes it.
@main
package enum CELEval {
  /// How the program was asked to behave.
  package struct Options: Equatable {
    /// Arithmetic on an integer and a double is an error, as the language definition says.
    package var isStrict = false
    /// Types are left to the evaluation.
    package var isUnchecked = false

    /// The defaults: the language as the server has it.
    package init() {}

    /// The options of a command line; nil when there is another argument.
    package init?(arguments: [String]) {
      for argument in arguments {
        switch argument {
        case "--strict": isStrict = true
        case "--no-check": isUnchecked = true
        default: return nil
        }
      }
    }
  }

  static func main() {
    guard let options = Options(arguments: Array(CommandLine.arguments.dropFirst())) else {
      write(Array("usage: cel-eval [--strict] [--no-check] < requests > answers\n".utf8), to: 2)
      exit(64)
    }
    while let line = readLine(strippingNewline: true) {
      // An empty line asks for nothing.
      if line.utf8.allSatisfy({ $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\r") }) { continue }
      guard write(answer(to: line, options) + [UInt8(ascii: "\n")], to: 1) else { exit(74) }
    }
  }

  /// Writes all of it at once and unbuffered, so that whoever asked can wait for each answer.
  @discardableResult
  private static func write(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
    var rest = bytes[...]
    while !rest.isEmpty {
      // The pointer is used only for the call.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else { return false }
      rest = rest.dropFirst(count)
    }
    return true
  }

  /// The line that answers a request; a line that is no request is answered with an error and the id `null`.
  package static func answer(to line: String, _ options: Options = Options()) -> [UInt8] {
    var id = JSONText.null
    var answer: [UInt8] = []
    let outcome: Outcome
    do {
      let tree = JSONTree(try JSONText(validating: line, limits: JSONLimits(bytes: 1 << 26, depth: 1000)))
      id = tree.member("id", of: .root).map { tree.text(of: $0) } ?? .null
      outcome = try Request(tree, options).outcome()
    } catch {
      outcome = .error("\(error)")
    }
    answer.append(literal: #"{"id":"#)
    answer.appendJSON(id)
    switch outcome {
    case .value(let value):
      answer.append(literal: #","value":"#)
      TypedValue.append(value, to: &answer)
    case .type(let type):
      answer.append(literal: #","type":"#)
      answer.appendJSON(type.description)
    case .error(let message):
      answer.append(literal: #","error":"#)
      answer.appendJSON(message)
    }
    answer.append(literal: "}")
    return answer
  }

  enum Outcome {
    case value(CELValue)
    case type(CELType)
    case error(String)
  }
}
