// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// A compiled `where`.
///
/// Two are equal when the bytes of their texts are.
final class Filter: Hashable, Sendable {
  let program: Program

  init(_ source: String, limits: CELLimits) throws(CELError) {
    program = try Program(filter: source, environment: .change, limits: limits)
  }

  /// Whether it describes a state of a property, by path and value alone, and not a transition.
  var isState: Bool { program.isStateFilter }

  /// Whether it can be asked of a property that is not just changing.
  var isListable: Bool { program.variables.isDisjoint(with: ["oldValue", "op"]) }

  /// Conditions that all hold whenever it does.
  var conjuncts: [FilterConjunct] { program.conjuncts }

  // By bytes: two texts that look alike may hold strings that the language tells apart.
  static func == (a: Filter, b: Filter) -> Bool {
    a === b || a.program.source.utf8.elementsEqual(b.program.source.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in program.source.utf8 { hasher.combine(byte) }
  }

  /// Whether it holds after a change: of the new value, or of the whole change.
  func holds(forNew change: inout FilteredChange) -> Bool { change.count(change.withNew { program.match($0) }) }

  /// Whether it held before a change.
  func holds(forOld change: inout FilteredChange) -> Bool { change.count(change.withOld { program.match($0) }) }

  /// Whether it holds for a property at rest: as if it had just been set.
  func holds(forStored stored: StoredValue) -> Bool { program.matches(Self.activation(of: stored)) }

  /// The same for whoever wants to know why it failed.
  func test(_ stored: StoredValue) -> Result<Bool, EvaluationError> {
    program.evaluate(Self.activation(of: stored)).map(\.isTrue)
  }

  private static func activation(of stored: StoredValue) -> Activation {
    Activation(
      path: stored.path.bytes, value: JSONTree(stored.value), revision: Int(clamping: stored.revision.number),
      milliseconds: stored.time.milliseconds)
  }

  /// Whether it holds for what is at a path, which may be nothing: `value` is `null` then.
  func holds(forPath path: PropertyPath, _ stored: StoredValue?) -> Bool {
    program.matches(Activation(path: path.bytes, value: stored.map { JSONTree($0.value) }))
  }
}

/// A change as filters see it.
///
/// What they need is made when the first of them asks, and once. Whoever goes through many changes keeps one of these and
/// moves it on (`begin`): it is large, and making one costs more than evaluating a filter.
struct FilteredChange {
  private(set) var change: Change
  /// Evaluations that failed.
  private(set) var errors = 0
  // Not optional: what is taken out of an optional is copied, once for each filter.
  private var new = Activation()
  private var old = Activation()
  private var isNewMade = false
  private var isOldMade = false
  private var madeNewTree: JSONTree?
  private var madeOldTree: JSONTree?

  init(_ change: Change) { self.change = change }

  /// Goes on to another change, of which nothing has been asked yet.
  mutating func begin(_ change: Change) {
    self.change = change
    errors = 0
    isNewMade = false
    isOldMade = false
    madeNewTree = nil
    madeOldTree = nil
  }

  /// The value after the change; nil when there is none.
  var newTree: JSONTree? {
    mutating get {
      if madeNewTree == nil { madeNewTree = change.new.map { JSONTree($0.value) } }
      return madeNewTree
    }
  }

  /// The value before the change; nil when there was none.
  var oldTree: JSONTree? {
    mutating get {
      if madeOldTree == nil { madeOldTree = change.old.map { JSONTree($0.value) } }
      return madeOldTree
    }
  }

  /// The part of the value after the change; nil when there is none.
  mutating func newPart(at pointer: JSONPointer) -> JSONText? { Self.part(of: newTree, at: pointer) }

  /// The part of the value before the change; nil when there is none.
  mutating func oldPart(at pointer: JSONPointer) -> JSONText? { Self.part(of: oldTree, at: pointer) }

  private static func part(of tree: JSONTree?, at pointer: JSONPointer) -> JSONText? {
    tree.flatMap { tree in tree.node(at: pointer).map { tree.text(of: $0) } }
  }

  fileprivate mutating func withNew<Result>(_ body: (borrowing Activation) -> Result) -> Result {
    if !isNewMade {
      new.update(
        path: change.path.bytes, value: newTree, oldValue: oldTree, revision: Int(clamping: change.revision.number),
        op: ChangeOperation(change.op), milliseconds: change.time.milliseconds)
      isNewMade = true
    }
    return body(new)
  }

  fileprivate mutating func withOld<Result>(_ body: (borrowing Activation) -> Result) -> Result {
    if !isOldMade {
      old.update(path: change.path.bytes, value: oldTree)
      isOldMade = true
    }
    return body(old)
  }

  fileprivate mutating func count(_ match: Program.Match) -> Bool {
    switch match {
    case .yes: return true
    case .no: return false
    case .failed:
      errors += 1
      return false
    }
  }
}

extension ChangeOperation {
  fileprivate init(_ op: Change.Operation) {
    switch op {
    case .set: self = .set
    case .delete: self = .delete
    case .expire, .release: self = .expire
    }
  }
}
