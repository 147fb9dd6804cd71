// SPDX-License-Identifier: MIT

/// Turns checked syntax into instructions.
///
/// It walks with a stack of its own, not by recursion.
struct Compiler {
  /// A jump's destination before it is known.
  private typealias Label = UInt32

  private enum Task {
    case node(Syntax.ID)
    case emit(Instruction, Int)
    /// Changes the count of values: what follows an unconditional jump does not find what that left.
    case depth(Int)
    case place(Label)
    /// The variables of a scope are the values pushed last.
    case bind(scope: Int)
  }

  let syntax: Syntax
  let environment: CELEnvironment
  let limits: CELLimits
  private(set) var instructions: [Instruction] = []
  /// Where in the source an error of each instruction points.
  private(set) var positions: [UInt32] = []
  private(set) var constants = Pool()
  /// What the values of `literals` are made of.
  ///
  /// Only those that instructions push are taken over into `constants`.
  private var known = Pool()
  private(set) var values: [Value] = []
  private(set) var patterns: [Pattern] = []
  /// The first pattern that is refused, and where it is in the source.
  private(set) var badPattern: (failure: Pattern.Failure, position: Int)?
  /// The slots of the variables that are used.
  private(set) var variables: [Int] = []
  /// The most values that are on the stack at any time.
  private(set) var stackSize = 0
  /// The keys of the lookup that are used, each once.
  private(set) var lookupKeys: [String] = []
  private var lookupIndices = TextTable<Int>()
  /// Where the lookup is used with more than a constant key.
  private(set) var badLookup: Int?
  /// The conditions of a filter that an index can use.
  private(set) var conjuncts: [FilterConjunct] = []
  private(set) var isConjunction = false
  private var depth = 0
  private var tasks: [Task] = []
  private var places: [UInt32] = []
  private var strings = TextTable<Value>()
  private var indices = TextTable<UInt32>()
  /// Where on the stack the first variable of a scope is.
  private var scopePlaces: [Int: Int] = [:]
  /// The values of the nodes that are the same in every evaluation, as far as they are known.
  private var literals: [Value?] = []

  init(_ syntax: Syntax, _ environment: CELEnvironment, _ limits: CELLimits) {
    self.syntax = syntax
    self.environment = environment
    self.limits = limits
    let count = syntax.nodes.count
    literals.reserveCapacity(count)
    instructions.reserveCapacity(count + 4)
    positions.reserveCapacity(count + 4)
    tasks.reserveCapacity(16)
    for node in syntax.nodes {
      let literal = literal(node.kind) ?? folded(node)
      literals.append(literal)
    }
    let finder = ConjunctFinder(syntax, environment, literals: literals, known: known)
    (conjuncts, isConjunction) = (finder.conjuncts, finder.isWhole)
    tasks = [.node(syntax.root)]
    while let task = tasks.popLast() {
      switch task {
      case .node(let id): visit(id)
      case .emit(let instruction, let position): emit(instruction, at: position)
      case .depth(let change): depth += change
      case .place(let label): places[Int(label)] = UInt32(instructions.count)
      case .bind(let scope): scopePlaces[scope] = depth - syntax.scopes[scope].names.count
      }
    }
    for index in instructions.indices { instructions[index] = resolved(instructions[index]) }
  }

  // MARK: - Constants

  private mutating func literal(_ kind: Syntax.Kind) -> Value? {
    switch kind {
    case .null: return .null
    case .bool(let value): return Value(value)
    case .int(let value): return Value(value)
    case .uint(let value): return Value(value)
    case .double(let value): return Value(value)
    case .string(let text): return known.add(text: text, .string, as: .constants)
    case .bytes(let content): return known.add(text: content, .bytes, as: .constants)
    case .type(let kind): return Value(type: kind)
    case .constant(let value): return known.add(value, as: .constants)
    case .list(let elements):
      let values = elements.compactMap { $0.isOptional ? nil : literals[$0.value] }
      return values.count == elements.count ? known.add(list: values, .list, as: .constants) : nil
    default: return nil
    }
  }

  /// What a node evaluates to whose parts are all known.
  ///
  /// One that fails is left to fail when it is evaluated.
  private mutating func folded(_ node: Syntax.Node) -> Value? {
    guard mayBeKnown(node.kind) else { return nil }
    let parts: [Syntax.ID]
    var code: [Instruction] = []
    switch node.kind {
    case .not(let operand): (parts, code) = ([operand], [.not])
    case .negate(let operand): (parts, code) = ([operand], [.negate])
    case .binary(let operation, let left, let right): (parts, code) = ([left, right], [instruction(for: operation)])
    case .index(let operand, let index, false): (parts, code) = ([operand, index], [.index])
    case .call(let name, let receiver, let arguments):
      parts = (receiver.map { [$0] } ?? []) + arguments
      let overloads = Functions.overloads(name, isMember: receiver != nil)
      // Patterns are compiled once for themselves, and optionals are cheap.
      guard let function = overloads.first?.function, overloads.contains(where: { $0.takes(parts.count) }),
        parts.count < 32, function != .matches, function != .or, function != .orValue
      else { return nil }
      code = [.call(function, UInt8(truncatingIfNeeded: parts.count))]
    case .map(let entries):
      guard entries.allSatisfy({ !$0.isOptional }) else { return nil }
      parts = entries.flatMap { [$0.key, $0.value] }
      code = []
    default: return nil
    }
    let values = parts.compactMap { literals[$0] }
    guard values.count == parts.count else { return nil }
    var push = values.indices.map { Instruction.constant(UInt32($0)) }
    if case .map = node.kind {
      for pair in stride(from: push.count, to: 0, by: -2) { push.insert(.insert, at: pair) }
      push.insert(.newMap, at: 0)
    }
    guard let value = result(of: push + code, values) else { return nil }
    return known.add(value, as: .constants)
  }

  /// Whether the first part of an operation is known; of most it is not, and then nothing has to be tried.
  private func mayBeKnown(_ kind: Syntax.Kind) -> Bool {
    switch kind {
    case .not(let part), .negate(let part), .binary(_, let part, _), .index(let part, _, false),
      .call(_, receiver: let part?, _):
      literals[part] != nil
    case .call(_, receiver: nil, let arguments): arguments.first.map { literals[$0] != nil } ?? true
    case .map: true
    default: false
    }
  }

  private func result(of code: [Instruction], _ values: [Value]) -> CELValue? {
    let program = Program(
      code: code, values: values, constants: known, environment: environment,
      limits: CELLimits(budget: 10_000, created: 1024))
    return try? program.evaluate().get()
  }

  /// A known value with what it is made of among the constants.
  private mutating func taken(_ value: Value) -> Value {
    switch value.kind {
    case .string: return string(Array(known.bytes[value.range]))
    case .bytes: return constants.add(text: known.bytes[value.range], .bytes, as: .constants)
    case .list, .map:
      // As deep as the source, at most.
      return constants.add(list: known.lists[value.number].map { taken($0) }, value.kind, as: .constants)
    case .optional where value.extra != 0:
      return constants.add(list: known.lists[value.number].map { taken($0) }, .optional, as: .constants)
    default: return value
    }
  }

  private mutating func string(_ text: [UInt8]) -> Value {
    if let value = strings[text] { return value }
    let value = constants.add(text: text, .string, as: .constants)
    strings.add(text, value)
    return value
  }

  private mutating func constant(_ value: Value) -> UInt32 {
    values.append(value)
    return UInt32(values.count - 1)
  }

  private mutating func name(_ field: [UInt8]) -> UInt32 {
    if let index = indices[field] { return index }
    let index = constant(string(field))
    indices.add(field, index)
    return index
  }

  // MARK: - Lookups

  private func isLookup(_ id: Syntax.ID) -> Bool {
    if case .variable(let slot) = syntax.nodes[id].kind { environment.variables[slot].isLookup } else { false }
  }

  /// The key and the use of a node that asks the lookup for a constant key; nil for all other nodes.
  private mutating func lookup(_ kind: Syntax.Kind) -> (key: Int, use: Evaluator.LookupUse)? {
    switch kind {
    case .select(let operand, let field, let isOptional) where isLookup(operand):
      return (key(field, operand), isOptional ? .optional : .value)
    case .has(let operand, let field) where isLookup(operand): return (key(field, operand), .presence)
    case .index(let operand, let index, let isOptional) where isLookup(operand):
      return constantKey(index).map { (key($0, operand), isOptional ? .optional : .value) }
    case .binary(.in, let index, let operand) where isLookup(operand):
      return constantKey(index).map { (key($0, operand), .presence) }
    default: return nil
    }
  }

  private func constantKey(_ id: Syntax.ID) -> [UInt8]? {
    guard let value = literals[id], value.kind == .string else { return nil }
    return Array(known.bytes[value.range])
  }

  private mutating func key(_ text: [UInt8], _ operand: Syntax.ID) -> Int {
    if case .variable(let slot) = syntax.nodes[operand].kind { note(slot) }
    if let index = lookupIndices[text] { return index }
    guard lookupKeys.count < CELLimits.lookupKeys else {
      badLookup = badLookup ?? syntax.nodes[operand].position
      return 0
    }
    lookupKeys.append(String(decoding: text, as: UTF8.self))
    lookupIndices.add(text, lookupKeys.count - 1)
    return lookupKeys.count - 1
  }

  // MARK: - Nodes

  private mutating func label() -> Label {
    places.append(0)
    return UInt32(places.count - 1)
  }

  /// The tasks are done in this order, before all that are waiting.
  private mutating func next<let count: Int>(_ tasks: InlineArray<count, Task>) {
    for place in tasks.indices.reversed() { self.tasks.append(tasks[place]) }
  }

  /// The same for tasks whose number is not the same for all nodes of their kind.
  private mutating func next(all tasks: [Task]) { self.tasks.append(contentsOf: tasks.reversed()) }

  private mutating func visit(_ id: Syntax.ID) {
    let node = syntax.nodes[id]
    let position = node.position
    if let (key, use) = lookup(node.kind) { return emit(.lookup(UInt32(key), use), at: position) }
    if let literal = literals[id] { return emit(.constant(constant(taken(literal))), at: position) }
    switch node.kind {
    case .unknown: emit(.unbound, at: position)
    case .variable(let slot): emit(.variable(use(slot, at: position)), at: position)
    case .local(let local):
      let place = (scopePlaces[local.scope] ?? 0) + (local.isSecond ? 1 : 0)
      emit(.local(UInt32(place)), at: position)
    case .select(let operand, let field, let isOptional):
      let name = name(field)
      if !isOptional, case .variable(let slot) = syntax.nodes[operand].kind {
        emit(.selectVariable(use(slot, at: position), name), at: position)
      } else {
        next([.node(operand), .emit(isOptional ? .selectOptional(name) : .select(name), position)])
      }
    case .has(let operand, let field): next([.node(operand), .emit(.has(name(field)), position)])
    case .index(let operand, let index, let isOptional):
      next([.node(operand), .node(index), .emit(isOptional ? .indexOptional : .index, position)])
    case .not(let operand): next([.node(operand), .emit(.not, position)])
    case .negate(let operand): next([.node(operand), .emit(.negate, position)])
    case .binary(let operation, let left, let right):
      if case .relation(let relation) = instruction(for: operation), let literal = literals[right] {
        return visitRelation(relation, left, constant(taken(literal)), position)
      }
      next([.node(left), .node(right), .emit(instruction(for: operation), position)])
    case .and(let left, let right):
      let end = label()
      next([.node(left), .emit(.jumpIfFalse(end), position), .node(right), .emit(.and, position), .place(end)])
    case .or(let left, let right):
      let end = label()
      next([.node(left), .emit(.jumpIfTrue(end), position), .node(right), .emit(.or, position), .place(end)])
    case .conditional(let condition, let yes, let no):
      let (otherwise, end) = (label(), label())
      next([
        .node(condition), .emit(.branch(otherwise, end), position), .node(yes), .emit(.jump(end), position),
        .place(otherwise), .depth(-1), .node(no), .place(end),
      ])
    case .list(let elements):
      next(
        all: [.emit(.newList, position)]
          + elements.flatMap { element -> [Task] in
            let place = syntax.nodes[element.value].position
            return [.node(element.value), .emit(element.isOptional ? .appendOptional : .append, place)]
          })
    case .map(let entries):
      next(
        all: [.emit(.newMap, position)]
          + entries.flatMap { entry -> [Task] in
            let place = syntax.nodes[entry.key].position
            return [
              .node(entry.key), .node(entry.value), .emit(entry.isOptional ? .insertOptional : .insert, place),
            ]
          })
    case .call(let name, let receiver, let arguments):
      visitCall(name, receiver, arguments, position)
    case .comprehension(let comprehension): visit(comprehension, position)
    case .bind(let scope, let value, let body):
      next([.node(value), .bind(scope: scope), .node(body), .emit(.dropBelow, position)])
    case .optionalMap(let scope, let value, let body, let isFlat):
      let end = label()
      next([
        .node(value), .emit(.unwrapOptional(end), position), .bind(scope: scope), .node(body),
        .emit(.wrapOptional(isFlat: isFlat), position), .emit(.dropBelow, position), .place(end),
      ])
    case .null, .bool, .int, .uint, .double, .string, .bytes, .constant, .type:
      break  // Literals; their constants have been emitted.
    }
  }

  private mutating func visitRelation(
    _ relation: Evaluator.Relation, _ left: Syntax.ID, _ constant: UInt32, _ position: Int
  ) {
    let node = syntax.nodes[left]
    switch node.kind {
    case .variable(let slot):
      emit(.relationOfVariable(use(slot, at: node.position), relation, constant), at: node.position)
      return emit(.operatorPlace, at: position)
    case .select(let operand, let field, isOptional: false):
      guard case .variable(let slot) = syntax.nodes[operand].kind, !isLookup(operand) else { break }
      emit(.relationOfField(use(slot, at: node.position), relation, name(field), constant), at: node.position)
      return emit(.operatorPlace, at: position)
    default: break
    }
    next([.node(left), .emit(.relationToConstant(relation, constant), position)])
  }

  private mutating func visitCall(
    _ name: String, _ receiver: Syntax.ID?, _ arguments: [Syntax.ID], _ position: Int
  ) {
    let all = (receiver.map { [$0] } ?? []) + arguments
    if name == "matches", all.count == 2, case .string(let text) = syntax.nodes[all[1]].kind {
      return next([.node(all[0]), .emit(.match(pattern(text, at: all[1])), position)])
    }
    let count = UInt8(truncatingIfNeeded: all.count)
    // All overloads of a name are one function; which of them is meant depends on the values.
    let overloads = Functions.overloads(name, isMember: receiver != nil)
    guard let function = overloads.first?.function, overloads.contains(where: { $0.takes(all.count) }), all.count < 256
    else { return next(all: all.map { .node($0) } + [.emit(.refuse(count), position)]) }
    if function == .or || function == .orValue {
      let end = label()
      return next([
        .node(all[0]), .emit(.jumpIfHasValue(end, unwrapping: function == .orValue), position), .node(all[1]),
        .emit(.call(function, count), position), .place(end),
      ])
    }
    next(all: all.map { .node($0) } + [.emit(.call(function, count), position)])
  }

  /// The number of a pattern that is compiled with the program.
  ///
  /// One that cannot be is remembered for the caller.
  private mutating func pattern(_ text: [UInt8], at id: Syntax.ID) -> UInt32 {
    do throws(Pattern.Failure) {
      patterns.append(try Pattern(text, limit: limits.patternSteps))
    } catch {
      badPattern = badPattern ?? (error, syntax.nodes[id].position)
    }
    return UInt32(max(0, patterns.count - 1))
  }

  private mutating func visit(_ comprehension: Syntax.Comprehension, _ position: Int) {
    let names = UInt8(syntax.scopes[comprehension.scope].names.count)
    let (start, exit, end) = (label(), label(), label())
    let macro = comprehension.macro
    var tasks: [Task] = [
      .node(comprehension.range), .emit(.loop(macro, names, end), position), .bind(scope: comprehension.scope),
      .place(start), .emit(.next(names, exit), position),
    ]
    if let filter = comprehension.filter {
      tasks += [.node(filter), .emit(.filter(names, start, exit), syntax.nodes[filter].position)]
    }
    tasks += [
      .node(comprehension.body),
      .emit(.accumulate(macro, names, start, exit), syntax.nodes[comprehension.body].position),
      .place(exit), .emit(macro == .sortBy ? .endSort(names) : .endLoop(names), position),
    ]
    if macro == .existsOne {
      // The loop has counted.
      tasks += [.emit(.constant(constant(Value(1))), position), .emit(.equal, position)]
    }
    tasks.append(.place(end))
    next(all: tasks)
  }

  /// Records a variable that is used; there are at most `CELEnvironment.variableLimit`.
  private mutating func note(_ slot: Int) {
    if !variables.contains(slot) { variables.append(slot) }
  }

  private mutating func use(_ slot: Int, at position: Int) -> UInt8 {
    note(slot)
    if environment.variables[slot].isLookup { badLookup = badLookup ?? position }
    return UInt8(truncatingIfNeeded: slot)
  }

  private func instruction(for operation: BinaryOperator) -> Instruction {
    switch operation {
    case .add: .add
    case .subtract: .subtract
    case .multiply: .multiply
    case .divide: .divide
    case .remainder: .remainder
    case .equal: .equal
    case .notEqual: .notEqual
    case .less: .relation(.less)
    case .lessEqual: .relation(.lessEqual)
    case .greater: .relation(.greater)
    case .greaterEqual: .relation(.greaterEqual)
    case .in: .in
    }
  }

  // MARK: - Instructions

  private mutating func emit(_ instruction: Instruction, at position: Int) {
    instructions.append(instruction)
    positions.append(UInt32(truncatingIfNeeded: position))
    depth += Self.effect(of: instruction)
    stackSize = max(stackSize, depth)
  }

  /// How many values more, or fewer, are on the stack after an instruction that does not jump.
  private static func effect(of instruction: Instruction) -> Int {
    switch instruction {
    case .relationOfVariable, .relationOfField, .constant, .unbound, .variable, .lookup, .local, .selectVariable,
      .newList, .newMap:
      1
    case .select, .selectOptional, .has, .match, .not, .negate, .relationToConstant, .jump, .jumpIfFalse, .jumpIfTrue,
      .next, .operatorPlace, .unwrapOptional, .jumpIfHasValue,
      .wrapOptional:
      0
    case .index, .indexOptional, .equal, .notEqual, .relation, .add, .subtract,
      .multiply, .divide, .remainder, .in, .and, .or, .branch, .append, .appendOptional, .accumulate, .filter,
      .dropBelow:
      -1
    case .insert, .insertOptional: -2
    case .call(_, let count), .refuse(let count): 1 - Int(count)
    case .loop(_, let names, _): 2 + Int(names)
    case .endLoop(let names), .endSort(let names): -2 - Int(names)
    }
  }

  /// The instruction with places for its labels.
  private func resolved(_ instruction: Instruction) -> Instruction {
    switch instruction {
    case .jump(let label): .jump(places[Int(label)])
    case .jumpIfFalse(let label): .jumpIfFalse(places[Int(label)])
    case .jumpIfTrue(let label): .jumpIfTrue(places[Int(label)])
    case .branch(let otherwise, let end): .branch(places[Int(otherwise)], places[Int(end)])
    case .loop(let macro, let names, let end): .loop(macro, names, places[Int(end)])
    case .next(let names, let exit): .next(names, places[Int(exit)])
    case .accumulate(let macro, let names, let start, let exit):
      .accumulate(macro, names, places[Int(start)], places[Int(exit)])
    case .filter(let names, let start, let exit): .filter(names, places[Int(start)], places[Int(exit)])
    case .unwrapOptional(let end): .unwrapOptional(places[Int(end)])
    case .jumpIfHasValue(let end, let unwrapping): .jumpIfHasValue(places[Int(end)], unwrapping: unwrapping)
    default: instruction
    }
  }
}
