// SPDX-License-Identifier: MIT

/// One step of a compiled program: a closed set, each working on a stack of values.
///
/// Where a number of `UInt32` is a place, it is an index of the instructions; jumps inside a loop are the only ones
/// that go backwards.
enum Instruction: BitwiseCopyable, Sendable {
  /// Pushes a constant.
  case constant(UInt32)
  /// Pushes the error that a name has no value.
  case unbound
  /// Pushes the variable of a slot.
  case variable(UInt8)
  /// Pushes what a key of the program leads to.
  case lookup(UInt32, Evaluator.LookupUse)
  /// Pushes a copy of a place of the stack: a variable of a macro.
  case local(UInt32)
  /// Replaces the top by its field; the name is a constant.
  case select(UInt32)
  /// The field of a variable: the two instructions that nearly every filter begins with, in one.
  case selectVariable(UInt8, UInt32)
  /// As `select`, but an optional: without a value where there is no such field.
  case selectOptional(UInt32)
  /// Replaces the top by whether it has the field.
  case has(UInt32)
  /// Replaces a container and a key by the element.
  case index
  case indexOptional
  case not
  case negate
  /// Replace two values by one.
  case equal
  case notEqual
  case relation(Evaluator.Relation)
  /// A relation of the top to a constant: two instructions in one, because filters are made of these.
  case relationToConstant(Evaluator.Relation, UInt32)
  /// A relation of a variable to a constant: a whole filter in one.
  ///
  /// Behind this and the next is the place of their operator.
  case relationOfVariable(UInt8, Evaluator.Relation, UInt32)
  /// A relation of a field of a variable, by the constants of its name and of the right side: another one.
  case relationOfField(UInt8, Evaluator.Relation, UInt32, UInt32)
  /// Is never run: its position is that of the operator of the instruction before.
  case operatorPlace
  case add
  case subtract
  case multiply
  case divide
  case remainder
  case `in`
  case and
  case or
  /// Goes on elsewhere, leaving the stack as it is.
  case jump(UInt32)
  case jumpIfFalse(UInt32)
  case jumpIfTrue(UInt32)
  /// Pops a bool: `true` continues here, `false` at the first place; an error stays, and continues at the second.
  case branch(UInt32, UInt32)
  /// Pushes an empty list or map.
  case newList
  case newMap
  /// Pops a value and adds it to the list below.
  case append
  /// As `append`, for an optional: without a value nothing is added.
  case appendOptional
  /// Pops a key and a value and adds them to the map below.
  case insert
  case insertOptional
  /// Replaces arguments by the result.
  case call(Function, UInt8)
  /// Replaces a text by whether it matches a pattern of the program.
  case match(UInt32)
  /// Replaces arguments by the error that no overload has this number of parameters.
  case refuse(UInt8)
  /// When the top is an optional that has a value, continues at the place with it, or with its value if it is to be
  /// unwrapped; and with an error, if it is not an optional.
  case jumpIfHasValue(UInt32, unwrapping: Bool)
  /// Begins a loop over the top: pushes a cursor, a result and room for one or two variables.
  ///
  /// A value that is not a list or map becomes an error, and execution continues at the place.
  case loop(Syntax.Macro, UInt8, UInt32)
  /// Sets the variables to the next element, or continues at the place.
  ///
  /// The number is that of the variables.
  case next(UInt8, UInt32)
  /// Adds the result of the body to that of the loop, and continues at the place, or ends the loop at the second.
  case accumulate(Syntax.Macro, UInt8, UInt32, UInt32)
  /// Ends a loop: replaces all that it has pushed, and what it went over, by the result.
  case endLoop(UInt8)
  /// As `endLoop`, when the result is the keys by which what it went over is to be sorted.
  case endSort(UInt8)
  /// Pops a bool.
  ///
  /// `false` continues at the place with the next element; an error becomes the result.
  case filter(UInt8, UInt32, UInt32)
  /// Replaces an optional by its value; one without a value stays, and execution continues at the place, as for an
  /// error.
  case unwrapOptional(UInt32)
  /// Makes an optional of the top, unless it is to be one already.
  case wrapOptional(isFlat: Bool)
  /// Removes the value below the top.
  case dropBelow
}
