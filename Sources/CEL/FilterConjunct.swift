// SPDX-License-Identifier: MIT

public import JSON

/// One of the conditions that must all hold for a filter to be true, in a form that can be looked up in an index.
///
/// `value.temp > 21 && path.startsWith("a/")` has two. What a conjunct says is exact: where the language decides by
/// more than a conjunct can say, the conjunct is weaker than the filter and ``Program/isConjunction`` is false.
public struct FilterConjunct: Hashable, Sendable {
  /// What is asked about.
  public let subject: FilterSubject
  /// What must be true of it.
  public let test: FilterTest

  /// A condition.
  init(_ subject: FilterSubject, _ test: FilterTest) {
    self.subject = subject
    self.test = test
  }
}

/// A variable, or a field somewhere inside it: `path`, `value`, `value.temp`, `oldValue["a b"].c`.
public struct FilterSubject: Hashable, Sendable {
  /// The name of the variable.
  public let variable: String
  /// The names of the fields from the variable inwards, in UTF-8; compared by bytes.
  public let fields: [[UInt8]]

  /// A subject.
  public init(_ variable: String, fields: [[UInt8]] = []) {
    self.variable = variable
    self.fields = fields
  }

  /// The value of the field in a JSON variable; nil when a field is missing, or a parent is not an object.
  ///
  /// A variable without a value is `null`. Nothing is allocated but for a string.
  public func scalar(in tree: JSONTree?) -> FilterScalar? {
    guard let tree else { return fields.isEmpty ? .null : nil }
    var node = JSONTree.Node.root
    for field in fields {
      guard tree.kind(of: node) == .object, let member = tree.member(field.span, of: node) else { return nil }
      node = member
    }
    return FilterScalar(tree, node)
  }
}

/// A value as far as an index can tell it from others.
///
/// All numbers are doubles here; an integer is rounded to the nearest, which is how the language compares the two.
public enum FilterScalar: Hashable, Sendable {
  /// `null`, or a variable without a value.
  case null
  /// `true` or `false`.
  case bool(Bool)
  /// A number.
  case number(Double)
  /// A string, in UTF-8; compared by bytes, as strings of the language are.
  case text([UInt8])
  /// A list or a map, whatever is in it.
  case container

  /// The value of a node.
  init(_ tree: JSONTree, _ node: JSONTree.Node) {
    switch tree.kind(of: node) {
    case .null: self = .null
    case .true: self = .bool(true)
    case .false: self = .bool(false)
    case .number:
      if let int = tree.int64(node) {
        self = .number(Double(int))
      } else if let uint = tree.uint64(node) {
        self = .number(Double(uint))
      } else {
        self = .number(tree.double(node) ?? .nan)
      }
    case .string, .key: self = .text(JSONValues.text(of: node, in: tree))
    case .array, .object: self = .container
    }
  }
}

/// What a conjunct asks of its subject.
public enum FilterTest: Hashable, Sendable {
  /// It is this value.
  case equal(FilterScalar)
  /// It is one of these values, which differ from each other.
  case isIn([FilterScalar])
  /// It is before the number or text, and of the same type.
  case less(FilterScalar)
  /// It is before the number or text or the same, and of the same type.
  case lessOrEqual(FilterScalar)
  /// It is after the number or text, and of the same type.
  case greater(FilterScalar)
  /// It is after the number or text or the same, and of the same type.
  case greaterOrEqual(FilterScalar)
  /// It is a text that begins with these bytes.
  case hasPrefix([UInt8])
  /// It is there, whatever it is.
  case present

  /// Whether it holds for what ``FilterSubject/scalar(in:)`` found.
  public func holds(for scalar: FilterScalar?) -> Bool {
    guard let scalar else { return false }
    return switch self {
    case .equal(let other): scalar == other
    case .isIn(let others): others.contains(scalar)
    case .less(let other): scalar.isBefore(other, orSame: false)
    case .lessOrEqual(let other): scalar.isBefore(other, orSame: true)
    case .greater(let other): other.isBefore(scalar, orSame: false)
    case .greaterOrEqual(let other): other.isBefore(scalar, orSame: true)
    case .hasPrefix(let prefix): if case .text(let text) = scalar { text.starts(with: prefix) } else { false }
    case .present: true
    }
  }
}

extension FilterScalar {
  fileprivate func isBefore(_ other: FilterScalar, orSame: Bool) -> Bool {
    switch (self, other) {
    case (.number(let a), .number(let b)): orSame ? a <= b : a < b
    case (.text(let a), .text(let b)): a.lexicographicallyPrecedes(b) || orSame && a == b
    default: false
    }
  }
}

extension FilterSubject: CustomStringConvertible {
  /// The subject as an expression writes it.
  public var description: String {
    fields.reduce(variable) { text, field in
      let isName = field.first.map(Lexer.isNameStart) == true && field.allSatisfy(Lexer.isNamePart)
      return isName
        ? "\(text).\(String(decoding: field, as: UTF8.self))"
        : "\(text)[\(String(decoding: Texts.quoted(field), as: UTF8.self))]"
    }
  }
}

extension FilterConjunct: CustomStringConvertible {
  /// The condition as an expression writes it.
  public var description: String {
    switch test {
    case .equal(let scalar): "\(subject) == \(scalar)"
    case .isIn(let scalars): "\(subject) in [\(scalars.map(\.description).joined(separator: ", "))]"
    case .less(let scalar): "\(subject) < \(scalar)"
    case .lessOrEqual(let scalar): "\(subject) <= \(scalar)"
    case .greater(let scalar): "\(subject) > \(scalar)"
    case .greaterOrEqual(let scalar): "\(subject) >= \(scalar)"
    case .hasPrefix(let prefix): "\(subject).startsWith(\(FilterScalar.text(prefix)))"
    case .present: "has(\(subject))"
    }
  }
}

extension FilterScalar: CustomStringConvertible {
  /// The value as an expression writes it; a list or map, whose contents are not known, as dots.
  public var description: String {
    switch self {
    case .null: "null"
    case .bool(let bool): bool ? "true" : "false"
    case .number(let number): Numbers.text(number)
    case .text(let text): String(decoding: Texts.quoted(text), as: UTF8.self)
    case .container: "…"
    }
  }
}
