// SPDX-License-Identifier: MIT

/// Why a text is not a path or not a pattern.
///
/// It is always the caller's error: nothing has been changed, and the same text is refused again.
public enum PathError: Error, Equatable, Sendable {
  /// The text is empty.
  case empty
  /// A segment is empty: a leading, trailing or doubled "/".
  case emptySegment
  /// A segment is "." or "..".
  case dotSegment
  /// A segment is "*" or "**", which only a pattern may have.
  case wildcard
  /// A control character: U+0000–U+001F, U+007F or U+0080–U+009F.
  case controlCharacter
  /// The bytes are not UTF-8.
  case invalidUTF8
  /// A "%" that is not followed by two hexadecimal digits.
  case malformedPercent
  /// More segments than ``PathLimits/depth``.
  case tooDeep(limit: Int)
  /// A segment longer than ``PathLimits/segment``.
  case segmentTooLong(limit: Int)
  /// More bytes than ``PathLimits/path``.
  case tooLong(limit: Int)
}

extension PathError: CustomStringConvertible {
  /// One sentence for the person who wrote the path.
  public var description: String {
    switch self {
    case .empty: "The path is empty."
    case .emptySegment: "A path segment is empty; a path has no leading, trailing or doubled \"/\"."
    case .dotSegment: "A path segment is \".\" or \"..\"."
    case .wildcard: "A path segment is \"*\" or \"**\"; only a pattern may have wildcards."
    case .controlCharacter: "The path contains a control character."
    case .invalidUTF8: "The path is not valid UTF-8."
    case .malformedPercent: "A \"%\" in the path is not followed by two hexadecimal digits (RFC 3986 §2.1)."
    case .tooDeep(let limit): "The path has more than \(limit) segments."
    case .segmentTooLong(let limit): "A path segment is longer than \(limit) bytes."
    case .tooLong(let limit): "The path is longer than \(limit) bytes."
    }
  }
}
