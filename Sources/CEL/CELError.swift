// SPDX-License-Identifier: MIT

/// Why a source text was refused as a program, and where.
public struct CELError: Error, Equatable, Sendable {
  /// The rule that was broken; stable, for programs.
  public enum Reason: String, Sendable, CaseIterable {
    /// A character that no token starts with.
    case unexpectedCharacter
    /// A string without its closing quotes, or with a line break in it where only `"""` and `'''` may have one.
    case unterminatedString
    /// A backslash followed by something that is not an escape, or by a code point that does not exist.
    case badEscape
    /// A number with digits missing or followed by letters.
    case badNumber
    /// A number that its type cannot hold.
    case numberOutOfRange
    /// A token that the grammar does not allow here.
    case unexpectedToken
    /// The text ends inside an expression.
    case unexpectedEnd
    /// A word that is reserved, used as a name.
    case reservedWord
    /// A name that is not a variable of the environment.
    case unknownVariable
    /// A call of something that is not a function.
    case unknownFunction
    /// An operator or function that has no form for the types it is given.
    case noMatchingOverload
    /// A macro whose arguments do not have the form it needs.
    case badMacro
    /// A lookup whose key is not a constant string, or more of them than ``CELLimits/lookupKeys``.
    case keyNotConstant
    /// A regular expression that the engine refuses.
    case badPattern
    /// A filter whose value can never be `true` or `false`.
    case notABoolean
    /// A feature of the language that this implementation leaves out.
    case unsupported
    /// More bytes than ``CELLimits/bytes``.
    case sourceTooLarge
    /// More nodes than ``CELLimits/nodes``.
    case tooManyNodes
    /// More nesting than ``CELLimits/depth``.
    case tooDeep
  }

  /// The rule that was broken.
  public let reason: Reason
  /// What is wrong, as a sentence without a full stop, such as `unknown variable 'valeu'; did you mean 'value'?`.
  public let message: String
  /// The UTF-8 offset in the source.
  public let position: Int
  /// The line, from 1.
  public let line: Int
  /// The column in Unicode scalars, from 1.
  public let column: Int

  init(_ reason: Reason, _ message: String, at position: Int, in source: [UInt8]) {
    self.reason = reason
    self.message = message
    self.position = position
    var line = 1
    var column = 1
    for (offset, byte) in source.prefix(position).enumerated() {
      let isReturn = byte == UInt8(ascii: "\r")
      let next = offset + 1 < source.count ? source[offset + 1] : 0
      if byte == UInt8(ascii: "\n") || isReturn && next != UInt8(ascii: "\n") {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80, !isReturn {
        column += 1
      }
    }
    self.line = line
    self.column = column
  }

  /// The line of the source with a caret under the place, below the message: three lines for a terminal.
  public func rendering(in source: String) -> String {
    let bytes = Array(source.utf8)
    let isBreak = { (byte: UInt8) in byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") }
    let place = min(position, bytes.count)
    let start = bytes[..<place].lastIndex(where: isBreak).map { $0 + 1 } ?? 0
    let end = bytes[place...].firstIndex(where: isBreak) ?? bytes.count
    // A tab before the caret stays a tab, so that the caret stands where the terminal puts the character.
    let margin = bytes[start..<place].filter { $0 & 0xC0 != 0x80 }.map { $0 == 9 ? UInt8(9) : UInt8(ascii: " ") }
    return """
      \(line):\(column): \(message)
      \(String(decoding: bytes[start..<max(start, end)], as: UTF8.self))
      \(String(decoding: margin, as: UTF8.self))^
      """
  }
}

extension CELError: CustomStringConvertible {
  /// The message with line and column.
  public var description: String { "\(message) (line \(line), column \(column))" }
}

/// Why an evaluation has no value.
///
/// `&&` and `||` absorb all of these but ``Reason/budgetExceeded`` and ``Reason/tooLarge``.
public struct EvaluationError: Error, Equatable, Sendable {
  /// What happened.
  public enum Reason: UInt8, Sendable, CaseIterable {
    /// An operator or function met values of types it has no form for.
    case noMatchingOverload
    /// A map has no such key, or an object no such member.
    case noSuchKey
    /// A list has no such element.
    case indexOutOfRange
    /// An integer, a time or a duration is out of range.
    case overflow
    /// An integer was divided by zero, or the remainder of that was asked for.
    case divisionByZero
    /// A map has the same key twice, or a key that is not a bool, int, uint or string.
    case badKey
    /// A conversion or a text function met a value it cannot make sense of.
    case badArgument
    /// A variable of the environment has no value in the activation.
    case unboundVariable
    /// `value()` of an optional that has none.
    case noValue
    /// The evaluation costs more than ``CELLimits/budget``.
    case budgetExceeded
    /// The evaluation creates more than ``CELLimits/created``, or nests its values too deep.
    case tooLarge
  }

  /// What happened.
  public let reason: Reason
  /// The UTF-8 offset in the source of the operator, name or call.
  public let position: Int

  /// An error at a place.
  public init(reason: Reason, position: Int) {
    self.reason = reason
    self.position = position
  }
}

extension EvaluationError {
  /// The line of the source with a caret under the place, below the sentence: three lines for a terminal.
  public func rendering(in source: String) -> String {
    CELError(.noMatchingOverload, reason.sentence, at: position, in: Array(source.utf8)).rendering(in: source)
  }
}

extension EvaluationError: CustomStringConvertible {
  /// A sentence with the position.
  public var description: String { "\(reason.sentence), at byte \(position)" }
}

extension EvaluationError.Reason {
  /// What happened, without the place.
  public var sentence: String {
    switch self {
    case .noMatchingOverload: "no matching overload for the types of the values"
    case .noSuchKey: "no such key"
    case .indexOutOfRange: "index out of range"
    case .overflow: "overflow"
    case .divisionByZero: "division by zero"
    case .badKey: "a duplicate key, or one that is not a bool, int, uint or string"
    case .badArgument: "a value that cannot be converted"
    case .unboundVariable: "the variable has no value"
    case .noValue: "the optional has no value"
    case .budgetExceeded: "the evaluation takes too long"
    case .tooLarge: "the evaluation creates too much"
    }
  }
}
