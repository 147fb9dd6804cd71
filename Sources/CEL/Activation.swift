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

  /// The texts, concatenated.
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
/// evaluation only reads. Making one for a change allocates nothing, but for a value that is a string with an escape.
public struct Activation: Sendable {
  // The first variables are members and not an array: making one would be an allocation, and reading an element of an
  // inline array that is part of a borrowed value copies all of it first.
  private var slot0: Value
  private var slot1: Value
  private var slot2: Value
  private var slot3: Value
  private var slot4: Value
  private var slot5: Value
  private(set) var path: [UInt8]
  private(set) var tree0: JSONTree
  private(set) var tree1: JSONTree
  private var boundTrees: Int
  /// What a change does not have; one reference instead of many, because each of them is counted in every copy.
  private var rest: Rest

  private indirect enum Rest: Sendable {
    case nothing
    case values(Further)
  }

  struct Further: Sendable {
    /// The variables from the seventh on, as far as they have been bound.
    var slots: [Value] = []
    /// The trees from the third on.
    var trees: [JSONTree] = []
    /// What the values are made of that are no JSON.
    var pool = Pool()
    var lookup: (@Sendable (String) -> JSONTree?)?
  }

  private(set) var further: Further {
    get { if case .values(let further) = rest { further } else { Further() } }
    set { rest = .values(newValue) }
  }

  /// Answers for the environment's lookup: the value for a key, or nil when there is none.
  ///
  /// Called at most once for each of ``Program/lookupKeys`` in an evaluation, and only for those that decide. Without
  /// it, using the lookup is the error ``EvaluationError/Reason/unboundVariable``.
  public var lookup: (@Sendable (String) -> JSONTree?)? {
    get { further.lookup }
    set { further.lookup = newValue }
  }

  /// No variable has a value yet: using one is the error ``EvaluationError/Reason/unboundVariable``.
  public init() {
    let unbound = Value.error(.unboundVariable)
    (slot0, slot1, slot2, slot3, slot4, slot5) = (unbound, unbound, unbound, unbound, unbound, unbound)
    path = []
    tree0 = JSONTree()
    tree1 = JSONTree()
    boundTrees = 0
    rest = .nothing
  }

  /// A change, for programs of ``CELEnvironment/change`` and ``CELEnvironment/message``.
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
    self.init()
    update(
      path: path, value: value, oldValue: oldValue, revision: revision, op: op, milliseconds: milliseconds)
  }

  /// Replaces the change in place, for evaluating programs over many changes.
  ///
  /// The same as a new activation (``init(path:value:oldValue:revision:op:milliseconds:)``), but for the lookup, which
  /// stays, and cheaper.
  public mutating func update(
    path: [UInt8], value: JSONTree?, oldValue: JSONTree? = nil, revision: Int = 0, op: ChangeOperation = .set,
    milliseconds: Int64 = 0
  ) {
    if case .values(let further) = rest { rest = further.lookup.map { .values(Further(lookup: $0)) } ?? .nothing }
    boundTrees = 2
    slot0 = Value(.string, 0..<path.count, of: .path)
    slot2 = Value(timestampMilliseconds: milliseconds)
    slot4 = Value(revision)
    slot5 = Value(.string, op.range, of: .operations)
    self.path = path
    if let value {
      tree0 = value
      slot1 = root(of: value, .tree0)
    } else {
      slot1 = .null
    }
    if let oldValue {
      tree1 = oldValue
      slot3 = root(of: oldValue, .tree1)
    } else {
      slot3 = .null
    }
  }

  private mutating func root(of tree: JSONTree, _ source: Value.Source) -> Value {
    JSONValues.plain(.root, tree, source)
      ?? further.pool.add(text: JSONValues.text(of: .root, in: tree), .string, as: .bound)
  }

  /// The value of a slot; an error when it has none.
  @inline(__always)
  func value(of slot: UInt8) -> Value {
    switch slot {
    case 0: slot0
    case 1: slot1
    case 2: slot2
    case 3: slot3
    case 4: slot4
    case 5: slot5
    default: furtherValue(of: slot)
    }
  }

  private func furtherValue(of slot: UInt8) -> Value {
    let place = Int(slot) - 6
    let slots = further.slots
    return place < slots.count ? slots[place] : .error(.unboundVariable)
  }

  /// Gives the variable of a slot (``CELEnvironment/slot(of:)``) a JSON value, which is used in place.
  public mutating func bind(_ slot: Int, to tree: JSONTree) {
    let source = Value.Source(tree: boundTrees)
    switch boundTrees {
    case 0: tree0 = tree
    case 1: tree1 = tree
    case ..<CELEnvironment.variableLimit: further.trees.append(tree)
    // Variables have been bound again and again: the earlier trees may still be in use.
    default: return bind(slot, to: CELValue(tree))
    }
    boundTrees += 1
    set(slot, root(of: tree, source))
  }

  /// Gives the variable of a slot a value.
  public mutating func bind(_ slot: Int, to value: CELValue) {
    set(slot, further.pool.add(value, as: .bound))
  }

  private mutating func set(_ slot: Int, _ value: Value) {
    precondition(slot >= 0 && slot < CELEnvironment.variableLimit, "no such slot")
    switch slot {
    case 0: slot0 = value
    case 1: slot1 = value
    case 2: slot2 = value
    case 3: slot3 = value
    case 4: slot4 = value
    case 5: slot5 = value
    default:
      while further.slots.count <= slot - 6 { further.slots.append(.error(.unboundVariable)) }
      further.slots[slot - 6] = value
    }
  }
}
