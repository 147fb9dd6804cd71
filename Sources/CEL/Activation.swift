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
/// evaluation only reads. For ``CELEnvironment/change`` making it allocates nothing, unless a value is a string with
/// an escape in it.
public struct Activation: Sendable {
  var slots: InlineArray<16, Value> = InlineArray(repeating: .error(.unboundVariable))
  var path: [UInt8] = []
  var tree0: JSONTree = Self.noTree
  var tree1: JSONTree = Self.noTree
  var tree2: JSONTree = Self.noTree
  var tree3: JSONTree = Self.noTree
  var boundTrees = 0
  var pool = Pool()

  private static let noTree = JSONTree(.null)

  /// No variable has a value yet: using one is the error ``EvaluationError/Reason/unboundVariable``.
  public init() {}

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
    slots[0] = Value(.string, 0..<path.count, of: .path)
    if let value {
      tree0 = value
      slots[1] = root(of: value, .tree0)
    } else {
      slots[1] = .null
    }
    if let oldValue {
      tree1 = oldValue
      slots[2] = root(of: oldValue, .tree1)
    } else {
      slots[2] = .null
    }
    boundTrees = 2
    slots[3] = Value(revision)
    slots[4] = Value(.string, op.range, of: .operations)
    slots[5] = Value(timestampMilliseconds: milliseconds)
  }

  private mutating func root(of tree: JSONTree, _ source: Value.Source) -> Value {
    JSONValues.value(of: .root, in: tree, source: source, copyingTo: &pool, poolSource: .bound)
  }

  /// Gives the variable of a slot (``CELEnvironment/slot(of:)``) a JSON value.
  ///
  /// Up to four are used in place; further ones are copied.
  public mutating func bind(_ slot: Int, to tree: JSONTree) {
    precondition(slot >= 0 && slot < CELEnvironment.variableLimit, "no such slot")
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
    precondition(slot >= 0 && slot < CELEnvironment.variableLimit, "no such slot")
    slots[slot] = pool.add(value, as: .bound)
  }
}
