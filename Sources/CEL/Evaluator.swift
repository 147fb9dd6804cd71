// SPDX-License-Identifier: MIT

import JSON

/// One evaluation: runs the instructions of a program over a stack of values.
///
/// An error is a value like others, so that `&&` and `||` can absorb it. Only exceeding the budget ends the evaluation
/// at once: `fatal` then says so.
@safe struct Evaluator: ~Copyable {
  let state: UnsafeMutablePointer<State>
  /// Room for as many values as the compiler has counted.
  let stack: UnsafeMutableBufferPointer<Value>

  /// An evaluator over memory that is valid as long as it is in use.
  @unsafe init(_ state: UnsafeMutablePointer<State>, _ stack: UnsafeMutableBufferPointer<Value>) {
    unsafe self.state = state
    unsafe self.stack = stack
  }

  // MARK: - Stack

  /// The value `depth` places below the top.
  subscript(below depth: Int) -> Value {
    @inline(__always) get { unsafe stack[top - 1 - depth] }
    @inline(__always) nonmutating set { unsafe stack[top - 1 - depth] = newValue }
  }

  @inline(__always)
  func push(_ value: Value) {
    unsafe stack[top] = value
    top += 1
  }

  @inline(__always)
  func pop() -> Value {
    top -= 1
    return unsafe stack[top]
  }

  // MARK: - Errors and cost

  /// An error of the instruction that runs.
  func error(_ reason: EvaluationError.Reason) -> Value { .error(reason, at: counter) }

  /// Pays for work that is more than one step.
  @inline(__always)
  func charge(_ units: Int) {
    budget -= units
    if budget < 0 { fatal = fatal ?? .budgetExceeded }
  }

  /// Pays for bytes or elements that are to be created; false when they are too many.
  func reserve(_ size: Int) -> Bool {
    charge(size / 8)
    room -= size
    if room < 0 { fatal = fatal ?? .tooLarge }
    return fatal == nil
  }

  /// Ends the evaluation because it would create too much.
  func exceeded() -> Value {
    fatal = fatal ?? .tooLarge
    return error(.tooLarge)
  }

  // MARK: - Instructions

  /// Runs the program; the result is a value or an error.
  func run(_ activation: borrowing Activation) -> Value {
    // In a register; the member only tells errors where they are.
    var place = 0
    let instructions = unsafe self.instructions
    while place < instructions.count {
      counter = place
      let instruction = unsafe instructions[place]
      switch instruction {
      case .constant(let index): push(constant(index))
      case .variable(let slot): push(variable(activation, slot))
      case .local(let index): push(unsafe stack[Int(index)])
      case .selectVariable(let slot, let name):
        let operand = variable(activation, slot)
        push(select(activation, constant(name), of: operand))
      case .select(let name): self[below: 0] = select(activation, constant(name), of: self[below: 0])
      case .selectOptional(let name):
        self[below: 0] = selectOptional(activation, constant(name), of: self[below: 0])
      case .has(let name): self[below: 0] = has(activation, constant(name), in: self[below: 0])
      case .index:
        let key = pop()
        self[below: 0] = element(activation, at: key, of: self[below: 0])
      case .indexOptional:
        let key = pop()
        self[below: 0] = optionalElement(activation, at: key, of: self[below: 0])
      case .not: self[below: 0] = not(self[below: 0])
      case .negate: self[below: 0] = negate(self[below: 0])
      case .equal: replaceTwo { equality(activation, $0, $1, negated: false) }
      case .notEqual: replaceTwo { equality(activation, $0, $1, negated: true) }
      case .relation(let relation): replaceTwo { self.relation(activation, $0, $1, relation) }
      case .relationToConstant(let relation, let index):
        self[below: 0] = self.relation(activation, self[below: 0], constant(index), relation)
      case .relationOfVariable(let slot, let relation, let index):
        let variable = variable(activation, slot)
        place += 1
        counter = place
        push(self.relation(activation, variable, constant(index), relation))
      case .relationOfField(let slot, let relation, let name, let index):
        let field = select(activation, constant(name), of: variable(activation, slot))
        place += 1
        counter = place
        push(self.relation(activation, field, constant(index), relation))
      case .add: replaceTwo { add(activation, $0, $1) }
      case .subtract: replaceTwo { subtract($0, $1) }
      case .multiply: replaceTwo { multiply($0, $1) }
      case .divide: replaceTwo { divide($0, $1) }
      case .remainder: replaceTwo { remainder($0, $1) }
      case .in: replaceTwo { membership(activation, $0, in: $1) }
      case .and: replaceTwo { and($0, $1) }
      case .or: replaceTwo { or($0, $1) }
      case .jump(let target):
        place = Int(target)
        continue
      case .jumpIfFalse(let target):
        if self[below: 0].isFalse {
          place = Int(target)
          continue
        }
      case .jumpIfTrue(let target):
        if self[below: 0].isTrue {
          place = Int(target)
          continue
        }
      case .branch(let otherwise, let end):
        if let target = branch(Int(otherwise), Int(end)) {
          place = target
          continue
        }
      default:
        if let target = runOther(activation, instruction) {
          place = target
          continue
        }
      }
      if let fatal { return error(fatal) }
      place += 1
    }
    return self[below: 0]
  }

  /// The instructions that make lists and maps, call functions and loop.
  ///
  /// Returns where to continue, if not after it.
  private func runOther(_ activation: borrowing Activation, _ instruction: Instruction) -> Int? {
    switch instruction {
    case .unbound: push(error(.unboundVariable))
    case .lookup(let key, let use): push(lookup(activation, Int(key), use))
    case .newList: push(newList(.list))
    case .newMap: push(newList(.map))
    case .append:
      let value = pop()
      self[below: 0] = append(value, to: self[below: 0])
    case .appendOptional:
      let value = pop()
      self[below: 0] = appendOptional(activation, value, to: self[below: 0])
    case .insert:
      let value = pop()
      let key = pop()
      self[below: 0] = insert(activation, key, value, into: self[below: 0])
    case .insertOptional:
      let value = pop()
      let key = pop()
      self[below: 0] = insertOptional(activation, key, value, into: self[below: 0])
    case .call(let function, let count):
      let first = top - Int(count)
      let result = call(activation, function, first: first, count: Int(count))
      top = first
      push(result)
    case .match(let index): self[below: 0] = match(activation, self[below: 0], program.patterns[Int(index)])
    case .refuse(let count):
      top -= Int(count)
      push(error(.noMatchingOverload))
    case .jumpIfHasValue(let end, let unwrapping):
      return jumpIfHasValue(activation, end: Int(end), unwrapping: unwrapping)
    case .loop(let macro, let names, let end): return beginLoop(macro, Int(names), end: Int(end))
    case .next(let names, let exit): return nextElement(activation, Int(names), exit: Int(exit))
    case .accumulate(let macro, let names, let start, let exit):
      return accumulate(activation, macro, Int(names), start: Int(start), exit: Int(exit))
    case .filter(let names, let start, let exit): return filter(Int(names), start: Int(start), exit: Int(exit))
    case .endLoop(let names):
      let result = self[below: Int(names)]
      top -= 2 + Int(names)
      self[below: 0] = result
    case .endSort(let names):
      let result = sorted(activation, self[below: Int(names) + 2], by: self[below: Int(names)])
      top -= 2 + Int(names)
      self[below: 0] = result
    case .unwrapOptional(let end): return unwrapOptional(activation, end: Int(end))
    case .wrapOptional(let isFlat): self[below: 0] = wrapOptional(self[below: 0], isFlat: isFlat)
    case .dropBelow:
      let value = pop()
      self[below: 0] = value
    default: break
    }
    return nil
  }

  @inline(__always)
  private func replaceTwo(_ operation: (Value, Value) -> Value) {
    let right = pop()
    let left = self[below: 0]
    self[below: 0] = operation(left, right)
  }

  @inline(__always)
  private func variable(_ activation: borrowing Activation, _ slot: UInt8) -> Value {
    let value = activation.value(of: slot)
    return value.isError ? error(value.errorReason) : value
  }

  // MARK: - Logic (langdef "Logical Operators")

  private func branch(_ otherwise: Int, _ end: Int) -> Int? {
    let condition = pop()
    guard condition.kind == .bool else {
      push(condition.isError ? condition : error(.noMatchingOverload))
      return end
    }
    return condition.bool ? nil : otherwise
  }

  private func not(_ operand: Value) -> Value {
    if operand.kind == .bool { return Value(!operand.bool) }
    return operand.isError ? operand : error(.noMatchingOverload)
  }

  /// One operand that is `false` decides, whatever the other is.
  private func and(_ left: Value, _ right: Value) -> Value {
    if left.isFalse || right.isFalse { return .false }
    if left.isTrue, right.isTrue { return .true }
    return firstError(left, right)
  }

  /// One operand that is `true` decides, whatever the other is.
  private func or(_ left: Value, _ right: Value) -> Value {
    if left.isTrue || right.isTrue { return .true }
    if left.isFalse, right.isFalse { return .false }
    return firstError(left, right)
  }

  /// The error of one of two operands; when neither is one, that they do not fit.
  func firstError(_ left: Value, _ right: Value) -> Value {
    if left.isError { return left }
    if right.isError { return right }
    return error(.noMatchingOverload)
  }
}
