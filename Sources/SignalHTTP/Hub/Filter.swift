// SPDX-License-Identifier: MIT
import CEL
import JSON
import SignalStore

/// A compiled `where`, of properties or of messages.
///
/// Two filters of one topic are equal when the bytes of their texts are.
final class Filter: Hashable, Sendable {
  let program: Program

  init(_ source: String, of topic: Topic = .properties, limits: CELLimits) throws(CELError) {
    program = try Program(filter: source, environment: topic == .signals ? .message : .change, limits: limits)
  }

  /// Whether it describes a state of a property, by path and value alone, and not a transition.
  var isState: Bool { program.isStateFilter }

  /// Whether it can be evaluated for a property outside of a change.
  var isListable: Bool { program.variables.isDisjoint(with: ["oldValue", "op"]) }

  /// Conditions that all hold whenever it does.
  var conjuncts: [FilterConjunct] { program.conjuncts }

  // By bytes: strings that compare equal in Swift may hold string literals that the language distinguishes.
  static func == (a: Filter, b: Filter) -> Bool {
    a === b || a.program.source.utf8.elementsEqual(b.program.source.utf8)
  }

  func hash(into hasher: inout Hasher) {
    for byte in program.source.utf8 { hasher.combine(byte) }
  }

  /// Whether it holds after a change: for the new value, or for the whole change.
  func holds(forNew change: inout FilteredChange) -> Bool { change.evaluateWithNew(program) }

  /// Whether it held before a change.
  func holds(forOld change: inout FilteredChange) -> Bool { change.evaluateWithOld(program) }

  /// Whether it holds for a stored property; see `match(_:work:)`.
  func holds(forStored stored: StoredValue, work: inout Int) -> Bool { match(stored, work: &work) == .yes }

  /// Evaluates it for a stored property, as if that had just been set.
  ///
  /// - Parameter work: The cost is subtracted from it.
  func match(_ stored: StoredValue, work: inout Int) -> Program.Match {
    work -= WorkCost.tree(of: stored.value)
    var budget = Int.max
    defer { work -= Int.max - budget }
    return program.match(Self.activation(of: stored), budget: &budget)
  }

  private static func activation(of stored: StoredValue) -> Activation {
    Activation(
      path: stored.path.bytes, value: JSONTree(stored.value), revision: Int(clamping: stored.revision.number),
      milliseconds: stored.time.milliseconds)
  }

  /// Whether it holds for the value at a path, which may be missing: `value` is `null` then.
  func holds(forPath path: PropertyPath, _ stored: StoredValue?) -> Bool {
    var work = 0
    return holds(forPath: path, stored, work: &work)
  }

  /// As above, with the cost.
  ///
  /// - Parameter work: The cost is subtracted from it.
  func holds(forPath path: PropertyPath, _ stored: StoredValue?, work: inout Int) -> Bool {
    if let stored { work -= WorkCost.tree(of: stored.value) }
    var budget = Int.max
    defer { work -= Int.max - budget }
    return program.match(Activation(path: path.bytes, value: stored.map { JSONTree($0.value) }), budget: &budget)
      == .yes
  }
}

/// The cost of work that is not an evaluation, in the units of `CELLimits.budget`, of about 10 ns.
enum WorkCost {
  /// Looking at a property, and finding it.
  static let property = 20
  /// Looking at a group that a change may concern; less than it takes, so that turns are long enough for connections to
  /// send several events at once.
  static let candidate = 1

  /// Writing the event of a change; less than it takes, likewise, unless the values are larger than a few hundred bytes:
  /// those of a kilobyte take 2 µs in each of 300 groups, most of which the system needs to make room for them.
  static func event(_ change: Change) -> Int {
    let bytes = (change.new?.value.bytes.count ?? 0) + (change.old?.value.bytes.count ?? 0)
    return bytes / 64 + min(max(bytes - 512, 0), 16 << 10) / 8
  }

  /// Parsing the structure of a value.
  static func tree(of value: JSONText) -> Int { value.bytes.count / 4 }

  /// Writing that many bytes of an answer.
  static func writing(bytes: Int) -> Int { bytes / 16 }
}

/// A change as filters see it.
///
/// What they need is computed once, on first use. Code that goes through many changes keeps one of these and moves it
/// on (`begin`): it is large, and creating one costs more than evaluating a filter.
struct FilteredChange {
  private(set) var change: Change
  /// Failed evaluations of this change.
  private(set) var errors = 0
  /// The cost of all changes since the beginning; see `WorkCost`.
  private(set) var work = 0
  /// The part of it spent on evaluations.
  private(set) var evaluated = 0
  /// How many evaluations there were.
  private(set) var evaluations = 0
  // Not optional: a value taken out of an optional is copied, once for each filter.
  private var new = Activation()
  private var old = Activation()
  private var isNewMade = false
  private var isOldMade = false
  private var madeNewTree: JSONTree?
  private var madeOldTree: JSONTree?
  /// Large parts of the values, shared by subscriptions with the same pointer.
  private var newParts: [JSONPointer: JSONText] = [:]
  private var oldParts: [JSONPointer: JSONText] = [:]
  /// How the change appears to each audience that has been asked.
  private var appearances: [ObjectIdentifier: Visibility] = [:]

  init(_ change: Change) { self.change = change }

  /// Moves on to another change, for which nothing has been computed yet.
  mutating func begin(_ change: Change) {
    self.change = change
    errors = 0
    isNewMade = false
    isOldMade = false
    madeNewTree = nil
    madeOldTree = nil
    if !newParts.isEmpty { newParts = [:] }
    if !oldParts.isEmpty { oldParts = [:] }
    if !appearances.isEmpty { appearances.removeAll(keepingCapacity: true) }
  }

  /// How the change appears to viewers; asked once for each audience.
  ///
  /// - Parameter last: What they were asked last; replaced.
  mutating func visibility(to viewers: Viewers, _ topic: Topic, after last: inout Judgement) -> Visibility {
    let audience = ObjectIdentifier(viewers.audience)
    if let known = appearances[audience] { return known }
    let visibility = viewers.visibility(of: &self, topic, after: &last)
    appearances[audience] = visibility
    return visibility
  }

  /// The value after the change; nil when there is none.
  var newTree: JSONTree? {
    mutating get {
      if madeNewTree == nil { madeNewTree = makeTree(of: change.new) }
      return madeNewTree
    }
  }

  /// The value before the change; nil when there was none.
  var oldTree: JSONTree? {
    mutating get {
      if madeOldTree == nil { madeOldTree = makeTree(of: change.old) }
      return madeOldTree
    }
  }

  /// The part of the value after the change; nil when there is none.
  mutating func newPart(at pointer: JSONPointer) -> JSONText? { Self.part(of: newTree, at: pointer, &newParts) }

  /// The part of the value before the change; nil when there is none.
  mutating func oldPart(at pointer: JSONPointer) -> JSONText? { Self.part(of: oldTree, at: pointer, &oldParts) }

  private static func part(
    of tree: JSONTree?, at pointer: JSONPointer, _ parts: inout [JSONPointer: JSONText]
  ) -> JSONText? {
    if !parts.isEmpty, let part = parts[pointer] { return part }
    let part = tree.flatMap { tree in tree.node(at: pointer).map { tree.text(of: $0) } }
    if let part, part.bytes.count >= FrameText.largeValue { parts[pointer] = part }
    return part
  }

  private mutating func makeTree(of stored: StoredValue?) -> JSONTree? {
    guard let stored else { return nil }
    work += WorkCost.tree(of: stored.value)
    return JSONTree(stored.value)
  }

  /// Adds the cost of work that is not an evaluation.
  mutating func spend(_ units: Int) { work += units }

  /// Counts an evaluation as failed that is not made, because its budget is used up.
  mutating func refuse() { errors += 1 }

  fileprivate mutating func evaluateWithNew(_ program: Program) -> Bool {
    if !isNewMade {
      new.update(
        path: change.path.bytes, value: newTree, oldValue: oldTree, revision: Int(clamping: change.revision.number),
        op: ChangeOperation(change.op), milliseconds: change.time.milliseconds)
      isNewMade = true
    }
    var budget = Int.max
    let match = program.match(new, budget: &budget)
    return count(match, costing: Int.max - budget)
  }

  fileprivate mutating func evaluateWithOld(_ program: Program) -> Bool {
    if !isOldMade {
      old.update(path: change.path.bytes, value: oldTree)
      isOldMade = true
    }
    var budget = Int.max
    let match = program.match(old, budget: &budget)
    return count(match, costing: Int.max - budget)
  }

  private mutating func count(_ match: Program.Match, costing units: Int) -> Bool {
    work += units
    evaluated += units
    evaluations += 1
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
