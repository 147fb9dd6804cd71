// SPDX-License-Identifier: MIT
import JSON
import SignalStore

/// A `get` or a `set` with only the required members, parsed straight from the bytes of its message.
///
/// Nearly all messages of writers and pollers have this form. Anything else, including what is to be refused, is parsed
/// by ``ClientMessage``: both give the same result, which a test checks with random messages.
struct PlainCommand {
  enum Action {
    case get
    case set(JSONText)
  }

  let id: Int
  /// The range of the path in the message; it has no escapes, and has not been validated.
  let path: Range<Int>
  let action: Action

  /// Parses a message; nil when it is anything else.
  ///
  /// - Parameter message: Valid UTF-8 text.
  init?(_ message: Span<UInt8>, values: JSONLimits) {
    var members = JSONMemberScanner()
    var id: Int?
    var type: CommandType?
    var path: Range<Int>?
    var value: JSONText?
    while let name = members.next(in: message) {
      // Repeated members are left to the full parser, which knows which of them counts.
      switch MemberName(message, name) {
      case .id where id == nil:
        id = members.integer(in: message)
        guard id != nil else { return nil }
      case .type where type == nil:
        type = members.string(in: message).flatMap { CommandType(message, $0) }
        guard type != nil else { return nil }
      case .path where path == nil:
        path = members.string(in: message)
        guard path != nil else { return nil }
      case .value where value == nil:
        value = members.value(in: message, limits: values)
        guard value != nil else { return nil }
      default: return nil
      }
    }
    guard members.isAtEnd, let id, let path else { return nil }
    self.id = id
    self.path = path
    switch (type, value) {
    case (.get, nil): action = .get
    case (.set, let value?): action = .set(value)
    default: return nil
    }
  }

  private enum MemberName {
    case id, type, path, value, other

    init(_ message: Span<UInt8>, _ range: Range<Int>) {
      let name = message.extracting(range)
      self =
        if name.isLiteral("path") {
          .path
        } else if name.isLiteral("id") {
          .id
        } else if name.isLiteral("type") {
          .type
        } else if name.isLiteral("value") {
          .value
        } else {
          .other
        }
    }
  }

  private enum CommandType {
    case get, set

    init?(_ message: Span<UInt8>, _ range: Range<Int>) {
      let name = message.extracting(range)
      if name.isLiteral("get") {
        self = .get
      } else if name.isLiteral("set") {
        self = .set
      } else {
        return nil
      }
    }
  }
}

extension Span<UInt8> {
  /// Whether these are the bytes of a literal.
  func isLiteral(_ literal: StaticString) -> Bool {
    guard count == literal.utf8CodeUnitCount else { return false }
    // The literal has as many bytes as the span; they are compared one by one, as names are short.
    return indices.allSatisfy { unsafe literal.utf8Start[$0] == self[$0] }
  }
}
