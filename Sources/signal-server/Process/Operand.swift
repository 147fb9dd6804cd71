// SPDX-License-Identifier: MIT
import ArgumentParser

/// An operand (an argument that is no option, as POSIX calls it) that may begin with a minus and a digit, such as the value -5.
///
/// The argument parser would take it for an option, so it is passed through with a prefix character that no argument
/// can contain.
struct Operand: ExpressibleByArgument, Equatable {
  private static let mark: Character = "\0"

  /// The argument as it was given.
  let text: String

  /// Removes the mark from an argument of the parser.
  init(argument: String) { text = argument.filter { $0 != Self.mark } }

  /// The arguments with a mark before each minus and digit, as they go into the parser.
  static func marked(_ arguments: [String]) -> [String] {
    arguments.map { argument in
      let isNumber = argument.first == "-" && argument.dropFirst().first.map { $0.isASCII && $0.isNumber } == true
      return isNumber ? String(mark) + argument : argument
    }
  }
}
