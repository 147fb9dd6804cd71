// SPDX-License-Identifier: MIT

/// What an expression may cost: to compile, and each time it is evaluated.
///
/// With these, text from a stranger is safe to compile and to run; every one is checked before the memory or the time
/// it bounds is spent.
public struct CELLimits: Sendable, Equatable {
  /// The longest source in UTF-8 bytes; default 4096.
  public var bytes: Int
  /// How many nodes the syntax tree may have: literals, names, operators, calls, elements; default 512.
  public var nodes: Int
  /// How deep parentheses, brackets, braces and arguments may be nested; default 32, which is also the least the
  /// language asks for.
  ///
  /// Chains of operators, selections and `?:` are not nesting; they count as nodes.
  public var depth: Int
  /// The budget of one evaluation in units of about ten nanoseconds: a step of a loop, a node that is compared, eight
  /// bytes that are searched or copied; default 1 000 000.
  ///
  /// An evaluation that exceeds it ends with ``EvaluationError/Reason/budgetExceeded``, which no operator absorbs.
  public var budget: Int
  /// How many bytes of text and how many elements of lists and maps one evaluation may create; default 1 048 576.
  ///
  /// What a program only reads does not count.
  public var created: Int
  /// How many steps a regular expression may be compiled to; default 2000.
  ///
  /// A step is a character, a set, an alternative; `a{50}` has fifty.
  public var patternSteps: Int

  /// Limits that differ from the defaults in what is named.
  public init(
    bytes: Int = 4096, nodes: Int = 512, depth: Int = 32, budget: Int = 1_000_000,
    created: Int = 1_048_576, patternSteps: Int = 2000
  ) {
    self.bytes = bytes
    self.nodes = nodes
    self.depth = depth
    self.budget = budget
    self.created = created
    self.patternSteps = patternSteps
  }

  /// How deep lists and maps may be nested that are compared, or returned as a ``CELValue``.
  static let valueDepth = 512
  /// How many keys of a lookup one program may use.
  public static let lookupKeys = 200
}
