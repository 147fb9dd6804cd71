// SPDX-License-Identifier: MIT

/// Why a field cannot be built: an error of the application, never of a client.
public enum HTTPFieldError: Error, Equatable, Sendable, CustomStringConvertible {
  /// The name is empty or not a token (RFC 9110 §5.1).
  case malformedName
  /// The value has a line break, NUL or another control character in it, or white space at an end (RFC 9110 §5.5).
  case malformedValue

  /// What is wrong, with the section of the specification.
  public var description: String {
    switch self {
    case .malformedName: "a field name must be a token (RFC 9110 §5.1)"
    case .malformedValue: "a field value must be one line of text without white space around it (RFC 9110 §5.5)"
    }
  }
}

/// The name of a field: a token, compared without regard to case (RFC 9110 §5.1).
public struct HTTPFieldName: Hashable, Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
  /// The name as it was given; this is how it is sent.
  public let name: String

  /// The name, or nil if the text is not a token.
  public init?(_ name: String) {
    guard Array(name.utf8).withView({ $0.isToken }) else { return nil }
    self.name = name
  }

  /// The name; a literal that is not a token is a programming error and traps.
  public init(stringLiteral: String) {
    guard let name = HTTPFieldName(stringLiteral) else {
      preconditionFailure("\"\(stringLiteral)\" is not a field name")
    }
    self = name
  }

  /// The name as it was given.
  public var description: String { name }

  /// Whether two names are the same but for case.
  public static func == (left: HTTPFieldName, right: HTTPFieldName) -> Bool {
    left.name.utf8.elementsEqual(right.name.utf8) { ASCII.lowercased($0) == ASCII.lowercased($1) }
  }

  /// Hashes the name without its case.
  public func hash(into hasher: inout Hasher) {
    for byte in name.utf8 { hasher.combine(ASCII.lowercased(byte)) }
  }
}

/// Field lines in their order, each with a valid name and value: they can be sent unchanged.
///
/// A value with a line break would let a client's text end the head early and begin a response of its own (RFC 9112
/// §11.1). It cannot be built: `append` and `set` refuse it.
public struct HTTPFields: Sendable, Equatable {
  /// One line.
  public struct Field: Sendable, Equatable {
    /// The name, with the case it was given.
    public let name: HTTPFieldName
    /// The value, without white space around it.
    public let value: String

    init(name: HTTPFieldName, value: String) {
      self.name = name
      self.value = value
    }
  }

  private var fields: [Field] = []

  /// No fields.
  public init() {}

  /// Adds a line; other lines of the same name are kept.
  ///
  /// - Throws: `HTTPFieldError.malformedValue`; nothing is added then.
  public mutating func append(_ name: HTTPFieldName, _ value: String) throws(HTTPFieldError) {
    guard Self.isValid(value) else { throw .malformedValue }
    fields.append(Field(name: name, value: value))
  }

  /// Replaces all lines of that name by one line, or appends it when there are none.
  ///
  /// - Throws: `HTTPFieldError.malformedValue`; nothing is changed then.
  public mutating func set(_ name: HTTPFieldName, _ value: String) throws(HTTPFieldError) {
    guard Self.isValid(value) else { throw .malformedValue }
    guard let first = fields.firstIndex(where: { $0.name == name }) else {
      return fields.append(Field(name: name, value: value))
    }
    fields[first] = Field(name: name, value: value)
    for index in fields.indices.suffix(from: first + 1).reversed() where fields[index].name == name {
      fields.remove(at: index)
    }
  }

  /// Removes all lines of a name.
  public mutating func remove(_ name: HTTPFieldName) { fields.removeAll { $0.name == name } }

  /// The values of all lines of a name, joined by `, ` as RFC 9110 §5.2 combines them; nil when there are none.
  public subscript(name: HTTPFieldName) -> String? {
    var combined: String?
    for field in fields where field.name == name {
      combined = combined.map { $0 + ", " + field.value } ?? field.value
    }
    return combined
  }

  /// A line whose name and value have been checked by the parser.
  mutating func append(parsed name: String, _ value: String) {
    guard let name = HTTPFieldName(name) else { return }
    fields.append(Field(name: name, value: value))
  }

  private static func isValid(_ value: String) -> Bool {
    Array(value.utf8).withView { view in
      view.firstControl(from: 0) == view.count && view.trimmed.count == view.count
    }
  }
}

extension HTTPFields: RandomAccessCollection {
  /// 0.
  public var startIndex: Int { 0 }
  /// The number of lines.
  public var endIndex: Int { fields.count }
  /// The line at a position in the order of sending.
  public subscript(position: Int) -> Field { fields[position] }
}
