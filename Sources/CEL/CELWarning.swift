// SPDX-License-Identifier: MIT

/// Something in a program that is allowed, and probably not what was meant.
public struct CELWarning: Equatable, Sendable {
  /// What may happen and how to avoid it, without a full stop.
  public let message: String
  /// The UTF-8 offset in the source.
  public let position: Int
  /// The line, from 1.
  public let line: Int
  /// The column in Unicode scalars, from 1.
  public let column: Int

  init(_ message: String, at position: Int, in source: [UInt8]) {
    let place = CELError(.noMatchingOverload, message, at: position, in: source)
    self.message = message
    self.position = position
    line = place.line
    column = place.column
  }

  /// The line of the source with a caret under the place, below the message: three lines for a terminal.
  public func rendering(in source: String) -> String {
    CELError(.noMatchingOverload, message, at: position, in: Array(source.utf8)).rendering(in: source)
  }
}

extension Program {
  /// What is allowed and probably not meant, in the order of the source: divisions that may be of two integers, which
  /// drop the fraction.
  ///
  /// JSON does not separate 1 from 1.0, so an operand whose type is known only when the program runs counts as one that
  /// may be an integer. Who means it writes `int(…)` around one of the two. The source is read again, which costs what
  /// compiling it did.
  public var warnings: [CELWarning] {
    let bytes = Array(source.utf8)
    // It has been compiled before, so neither fails.
    guard let syntax = try? Parser.parse(bytes, environment: environment, limits: limits),
      let types = try? Checker.check(syntax, environment: environment, source: bytes)
    else { return [] }
    return syntax.nodes.compactMap { node -> CELWarning? in
      guard case .binary(.divide, let left, let right) = node.kind else { return nil }
      guard types[left].mayBeInteger, types[right].mayBeInteger else { return nil }
      guard !syntax.isConvertedToInteger(left), !syntax.isConvertedToInteger(right) else { return nil }
      let hint =
        if case .int(let divisor) = syntax.nodes[right].kind { "write \(divisor).0" } else {
          "write double(…) around one"
        }
      return CELWarning(
        "two integers are divided without a fraction, 3 / 2 is 1: \(hint) to keep it, or int(…) if that is meant",
        at: node.position, in: bytes)
    }.sorted { $0.position < $1.position }
  }
}

extension CELType {
  fileprivate var mayBeInteger: Bool {
    switch self {
    case .int, .uint, .dyn: true
    default: false
    }
  }
}

extension Syntax {
  /// Whether it says by itself that it is an integer.
  fileprivate func isConvertedToInteger(_ id: ID) -> Bool {
    guard case .call(let name, nil, _) = nodes[id].kind else { return false }
    return name == "int" || name == "uint"
  }
}
