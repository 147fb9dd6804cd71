// SPDX-License-Identifier: MIT

import JSON

extension Evaluator {
  /// What one evaluation works with.
  ///
  /// It stays where it is until the evaluation has ended; evaluators are two addresses, so that passing one on copies
  /// nothing.
  @safe struct State {
    // Whoever calls `Program.run` keeps the program and the parts of it that these point to until that returns.
    // Retaining them would cost more than a comparison, and threads that share a program would wait for each other at
    // its reference count.
    fileprivate unowned(unsafe) let program: Program
    fileprivate let instructions: UnsafeBufferPointer<Instruction>
    fileprivate let values: UnsafeBufferPointer<Value>
    fileprivate let texts: UnsafeBufferPointer<UInt8>
    fileprivate var workspace: Workspace?
    fileprivate var budget: Int
    fileprivate var room: Int
    fileprivate var fatal: EvaluationError.Reason?
    fileprivate var checkedObject: (object: Value, hasDuplicates: Bool)?
    fileprivate var counter = 0
    fileprivate var top = 0

    /// Everything at its beginning, with `budget` units to spend; the pointers are valid as long as the state is in use.
    @unsafe init(
      _ program: Program, _ instructions: UnsafeBufferPointer<Instruction>, _ values: UnsafeBufferPointer<Value>,
      _ texts: UnsafeBufferPointer<UInt8>, budget: Int
    ) {
      unsafe self.program = program
      unsafe self.instructions = instructions
      unsafe self.values = values
      unsafe self.texts = texts
      self.budget = budget
      room = program.limits.created
    }
  }

  /// What a program creates and fetches.
  struct Workspace {
    var created = Pool()
    /// The trees that lookups have fetched, and the value for each key of the program that has been asked for.
    var trees: [JSONTree] = []
    var fetched: [Value?] = []
  }

  // The state is valid as long as the evaluator is (`init`), and one thread uses it.

  /// The program that is evaluated.
  var program: Program { unsafe state.pointee.program }

  var instructions: UnsafeBufferPointer<Instruction> { unsafe state.pointee.instructions }

  /// The texts of the program's constants.
  var texts: UnsafeBufferPointer<UInt8> { unsafe state.pointee.texts }

  /// A constant; instructions are made together with the constants that they name.
  @inline(__always)
  func constant(_ index: UInt32) -> Value { unsafe state.pointee.values[Int(index)] }

  /// What has been created and fetched; nil until there is something, because most filters only read.
  var workspace: Workspace? { unsafe state.pointee.workspace }

  /// Changes the workspace, which is made if there is none.
  func withWorkspace<Outcome>(_ body: (inout Workspace) -> Outcome) -> Outcome {
    // Taken out and put back, which moves it, so that what it has is changed in place.
    var workspace = unsafe state.pointee.workspace.take() ?? Workspace()
    defer { unsafe state.pointee.workspace = workspace }
    return body(&workspace)
  }

  /// What may still be spent, in units of ``CELLimits/budget``.
  var budget: Int {
    @inline(__always) get { unsafe state.pointee.budget }
    @inline(__always) nonmutating set { unsafe state.pointee.budget = newValue }
  }

  /// How many bytes and elements may still be created.
  var room: Int {
    get { unsafe state.pointee.room }
    nonmutating set { unsafe state.pointee.room = newValue }
  }

  /// Why the evaluation ends at once, whatever the operators around would absorb.
  var fatal: EvaluationError.Reason? {
    @inline(__always) get { unsafe state.pointee.fatal }
    @inline(__always) nonmutating set { unsafe state.pointee.fatal = newValue }
  }

  /// The object of JSON that was last asked for duplicate names, and whether it has some.
  var checkedObject: (object: Value, hasDuplicates: Bool)? {
    get { unsafe state.pointee.checkedObject }
    nonmutating set { unsafe state.pointee.checkedObject = newValue }
  }

  /// The instruction that runs, which its error points to.
  var counter: Int {
    @inline(__always) get { unsafe state.pointee.counter }
    @inline(__always) nonmutating set { unsafe state.pointee.counter = newValue }
  }

  /// The number of values on the stack.
  var top: Int {
    @inline(__always) get { unsafe state.pointee.top }
    @inline(__always) nonmutating set { unsafe state.pointee.top = newValue }
  }
}
