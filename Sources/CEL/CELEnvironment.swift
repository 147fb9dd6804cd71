// SPDX-License-Identifier: MIT

/// A name that programs may use for a value that an ``Activation`` gives.
public struct CELVariable: Hashable, Sendable {
  /// The name: an identifier, or several joined by dots.
  public let name: String
  /// What is known of the values; `dyn` for JSON.
  public let type: CELType
  /// Whether it is a map that is never there as a whole: ``Activation/lookup`` is asked for one key at a time.
  package let isLookup: Bool

  /// Declares a variable.
  public init(_ name: String, _ type: CELType = .dyn) {
    self.name = name
    self.type = type
    isLookup = false
  }

  /// Declares a map from strings to JSON whose values are fetched when they are used.
  ///
  /// Programs may only use it with constant keys: `properties["a/b"]`, `properties[?"a/b"]`, `properties.a`,
  /// `has(properties.a)`, `"a/b" in properties`. So ``Program/lookupKeys`` says before any evaluation what it may need.
  public init(lookup name: String) {
    self.name = name
    type = .map(.string, .dyn)
    isLookup = true
  }
}

/// What a program is compiled against: the variables, and the few choices the language leaves open.
public struct CELEnvironment: Hashable, Sendable {
  /// The most variables an environment can have.
  public static let variableLimit = 16

  /// The variables; the place of each is its slot in an ``Activation``.
  public let variables: [CELVariable]
  /// Where names are looked up first (langdef "Name Resolution"): in the container `a.b`, `x` means `a.b.x` or `a.x` or
  /// `x`, the first that there is.
  ///
  /// Empty by default.
  public let container: String
  /// Whether `1 + 0.5` is a double, because JSON does not tell 1 from 1.0; true by default.
  ///
  /// When false, arithmetic on an integer and a double has no matching overload, as the language definition says.
  public let mixedArithmetic: Bool
  /// Whether a program is refused when the types that are known do not fit, or a name means nothing; true by default.
  ///
  /// When false, the same mistakes are errors of the evaluation.
  public let typeChecking: Bool
  /// Whether `has`, `all`, `map` and their like are read as macros; true by default.
  ///
  /// When false, they are calls of functions that do not exist.
  public let macros: Bool

  /// An environment of these variables; more than ``variableLimit``, or than one lookup, is a mistake of the program
  /// that asks for it.
  public init(
    variables: [CELVariable], container: String = "", mixedArithmetic: Bool = true, typeChecking: Bool = true,
    macros: Bool = true
  ) {
    precondition(variables.count <= Self.variableLimit, "a CEL environment has at most 16 variables")
    precondition(variables.count { $0.isLookup } <= 1, "a CEL environment has at most one lookup")
    self.variables = variables
    self.container = container
    self.mixedArithmetic = mixedArithmetic
    self.typeChecking = typeChecking
    self.macros = macros
  }

  /// What filters over the changes of a store see: `path`, `value`, `oldValue`, `revision`, `op`, `time`.
  ///
  /// An absent old or new value is `null`; `op` is `'set'`, `'delete'` or `'expire'`.
  public static let change = CELEnvironment(variables: [
    CELVariable("path", .string), CELVariable("value"), CELVariable("time", .timestamp), CELVariable("oldValue"),
    CELVariable("revision", .int), CELVariable("op", .string),
  ])

  /// What filters over the messages of signals see: `path`, `message`, `time`.
  ///
  /// They are in the slots of the path, the value and the time of a change, so that the activation of a change whose
  /// value is the message serves their programs.
  public static let message = CELEnvironment(variables: [
    CELVariable("path", .string), CELVariable("message"), CELVariable("time", .timestamp),
  ])

  /// The slot of a variable; nil when there is none of that name.
  public func slot(of name: String) -> Int? {
    // Strings of one normal form only differ by bytes; a name here is ASCII.
    variables.firstIndex { $0.name == name }
  }
}
