// SPDX-License-Identifier: MIT

public import JSON

/// What has been done to a property, as the variable `op` says it.
public enum ChangeOperation: Sendable, Hashable, CaseIterable {
  /// It was given a value: `'set'`.
  case set
  /// It was removed: `'delete'`.
  case delete
  /// It ended with its time to live: `'expire'`.
  case expire

  /// The texts, one behind the other.
  static let texts = Array("setdeleteexpire".utf8)

  var range: Range<Int> {
    switch self {
    case .set: 0..<3
    case .delete: 3..<9
    case .expire: 9..<15
    }
  }
}

/// The values of the variables of one or more evaluations.
///
/// Make it once per change and evaluate any number of programs with it: numbers are converted when it is made, and an
/// evaluation only reads. Making it takes one allocation.
public struct Activation: Sendable {
  /// One value for each variable there can be.
  ///
  /// An array and not inline: reading one element of an inline array that is part of a borrowed value copies all of
  /// them first.
  var slots: [Value]
  var path: [UInt8] = []
  var tree0: JSONTree = Self.noTree
  var tree1: JSONTree = Self.noTree
  var tree2: JSONTree = Self.noTree
  var tree3: JSONTree = Self.noTree
  var boundTrees = 0
  var pool = Pool()
  /// Answers for the environment's lookup: the value for a key, or nil when there is none.
  ///
  /// Called at most once for each of ``Program/lookupKeys`` in an evaluation, and only for those that decide. Without it,
  /// using the lookup is the error ``EvaluationError/Reason/unboundVariable``.
  public var lookup: (@Sendable (String) -> JSONTree?)?

  private static let noTree = JSONTree(.null)

  /// No variable has a value yet: using one is the error ``EvaluationError/Reason/unboundVariable``.
  public init() {
    slots = [Value](repeating: .error(.unboundVariable), count: CELEnvironment.variableLimit)
  }

  /// A change, for programs of ``CELEnvironment/change``.
  ///
  /// A state without a change, such as a property in a listing, has no old value, and `op` is `'set'`.
  /// - Parameters:
  ///   - path: The UTF-8 bytes of the path.
  ///   - value: The new value; nil when there is none, which programs see as `null`.
  ///   - oldValue: The value before; nil likewise.
  ///   - milliseconds: The time of the change since 1970-01-01T00:00:00Z, within the years 1 to 9999.
  public init(
    path: [UInt8], value: JSONTree?, oldValue: JSONTree? = nil, revision: Int = 0, op: ChangeOperation = .set,
    milliseconds: Int64 = 0
  ) {
    self.path = path
    slots = [
      Value(.string, 0..<path.count, of: .path), .null, .null, Value(revision),
      Value(.string, op.range, of: .operations), Value(timestampMilliseconds: milliseconds),
    ]
    boundTrees = 2
    if let value {
      tree0 = value
      slots[1] = root(of: value, .tree0)
    }
    if let oldValue {
      tree1 = oldValue
      slots[2] = root(of: oldValue, .tree1)
    }
  }

  private mutating func root(of tree: JSONTree, _ source: Value.Source) -> Value {
    JSONValues.plain(.root, tree, source)
      ?? pool.add(text: JSONValues.text(of: .root, in: tree), .string, as: .bound)
  }

  /// Gives the variable of a slot (``CELEnvironment/slot(of:)``) a JSON value.
  ///
  /// Up to four are used in place; further ones are copied.
  public mutating func bind(_ slot: Int, to tree: JSONTree) {
    prepare(slot)
    let place = boundTrees
    boundTrees += 1
    switch place {
    case 0:
      tree0 = tree
      slots[slot] = root(of: tree, .tree0)
    case 1:
      tree1 = tree
      slots[slot] = root(of: tree, .tree1)
    case 2:
      tree2 = tree
      slots[slot] = root(of: tree, .tree2)
    case 3:
      tree3 = tree
      slots[slot] = root(of: tree, .tree3)
    default:
      bind(slot, to: CELValue(tree))
    }
  }

  /// Gives the variable of a slot a value.
  public mutating func bind(_ slot: Int, to value: CELValue) {
    prepare(slot)
    slots[slot] = pool.add(value, as: .bound)
  }

  private mutating func prepare(_ slot: Int) {
    precondition(slot >= 0 && slot < CELEnvironment.variableLimit, "no such slot")
    while slots.count <= slot { slots.append(.error(.unboundVariable)) }
  }
}
