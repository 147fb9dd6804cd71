// SPDX-License-Identifier: MIT

/// A compiled regular expression (langdef "Regular Expressions", RE2 syntax), matched in time linear in the text.
///
/// It answers one question: whether a part of the text matches. So there are no captures, and greedy and lazy are the
/// same. Left out are scripts (`\p{Greek}`) and `\C`.
struct Pattern: Sendable {
  /// Why a pattern is refused, and at which byte of it.
  struct Failure: Error {
    var message: String
    var position: Int
  }

  enum Instruction: Sendable {
    case scalar(UInt32)
    case any
    case set(Int)
    case split(Int, Int)
    case jump(Int)
    case assert(Assertion)
    case match
  }

  enum Assertion: Sendable {
    case textStart
    case textEnd
    case lineStart
    case lineEnd
    case wordBoundary
    case notWordBoundary
  }

  /// A set of code points.
  struct ScalarSet: Sendable {
    var ranges: [ClosedRange<UInt32>] = []
    var categories: [Unicode.GeneralCategory] = []
    var isNegated = false
    var ignoresCase = false
    /// Sets within this one, such as `\D` in `[\D5]`.
    var parts: [ScalarSet] = []

    func contains(_ scalar: UInt32) -> Bool {
      var isIn = containsExactly(scalar)
      if !isIn, ignoresCase { isIn = Pattern.otherCases(of: scalar).contains { containsExactly($0) } }
      return isIn != isNegated
    }

    private func containsExactly(_ scalar: UInt32) -> Bool {
      if ranges.contains(where: { $0.contains(scalar) }) { return true }
      for part in parts where part.contains(scalar) { return true }
      guard !categories.isEmpty, let scalar = Unicode.Scalar(scalar) else { return false }
      return categories.contains(scalar.properties.generalCategory)
    }
  }

  let instructions: [Instruction]
  let sets: [ScalarSet]

  /// Compiles the UTF-8 of a pattern into at most `limit` instructions.
  init(_ source: [UInt8], limit: Int) throws(Failure) {
    var parser = PatternParser(source)
    let tree = try parser.parse()
    var compiler = PatternCompiler(limit: limit)
    compiler.emit(tree)
    compiler.emit(.match)
    guard !compiler.isOver else {
      throw Failure(message: "the pattern needs more than \(limit) steps", position: 0)
    }
    instructions = compiler.instructions
    sets = compiler.sets
  }

  /// The code points that differ from one only in case.
  static func otherCases(of code: UInt32) -> [UInt32] {
    guard let scalar = Unicode.Scalar(code) else { return [] }
    let mappings = [scalar.properties.lowercaseMapping, scalar.properties.uppercaseMapping]
    return mappings.compactMap { mapping in
      let scalars = mapping.unicodeScalars
      guard scalars.count == 1, let other = scalars.first?.value, other != code else { return nil }
      return other
    }
  }
}

/// The structure of a pattern.
///
/// Nested only as deep as its parentheses, which the parser bounds.
indirect enum PatternTree {
  case empty
  case scalar(UInt32, ignoresCase: Bool)
  case any(includingNewline: Bool)
  case set(Pattern.ScalarSet)
  case assertion(Pattern.Assertion)
  case sequence([PatternTree])
  case alternatives([PatternTree])
  case repetition(PatternTree, least: Int, most: Int?)
}

/// Writes instructions for a tree.
struct PatternCompiler {
  let limit: Int
  private(set) var instructions: [Pattern.Instruction] = []
  private(set) var sets: [Pattern.ScalarSet] = []
  private(set) var isOver = false
  private var visits = 0

  init(limit: Int) { self.limit = limit }

  mutating func emit(_ instruction: Pattern.Instruction) {
    guard instructions.count < limit else {
      isOver = true
      return
    }
    instructions.append(instruction)
  }

  private mutating func emit(_ set: Pattern.ScalarSet) {
    sets.append(set)
    emit(.set(sets.count - 1))
  }

  mutating func emit(_ tree: PatternTree) {
    // Counted repetitions multiply, also those of nothing: stop as soon as a limit is reached.
    visits += 1
    if visits / 16 > limit { isOver = true }
    guard !isOver else { return }
    switch tree {
    case .empty: break
    case .scalar(let code, let ignoresCase):
      if ignoresCase, !Pattern.otherCases(of: code).isEmpty {
        emit(Pattern.ScalarSet(ranges: [code...code], ignoresCase: true))
      } else {
        emit(.scalar(code))
      }
    case .any(let includingNewline):
      if includingNewline {
        emit(.any)
      } else {
        emit(Pattern.ScalarSet(ranges: [10...10], isNegated: true))
      }
    case .set(let set): emit(set)
    case .assertion(let assertion): emit(.assert(assertion))
    case .sequence(let parts): for part in parts { emit(part) }
    case .alternatives(let branches): emitAlternatives(branches)
    case .repetition(let part, let least, let most): emitRepetition(part, least, most)
    }
  }

  private mutating func patch(_ place: Int, _ instruction: Pattern.Instruction) {
    if place < instructions.count { instructions[place] = instruction }
  }

  private mutating func emitAlternatives(_ branches: [PatternTree]) {
    var ends: [Int] = []
    for (number, branch) in branches.enumerated() {
      guard number < branches.count - 1 else {
        emit(branch)
        break
      }
      let split = instructions.count
      emit(.jump(0))
      emit(branch)
      ends.append(instructions.count)
      emit(.jump(0))
      patch(split, .split(split + 1, instructions.count))
    }
    for end in ends { patch(end, .jump(instructions.count)) }
  }

  private mutating func emitRepetition(_ part: PatternTree, _ least: Int, _ most: Int?) {
    for _ in 0..<least where !isOver { emit(part) }
    guard let most else {
      let split = instructions.count
      emit(.jump(0))
      emit(part)
      emit(.jump(split))
      patch(split, .split(split + 1, instructions.count))
      return
    }
    var splits: [Int] = []
    for _ in least..<max(least, most) where !isOver {
      splits.append(instructions.count)
      emit(.jump(0))
      emit(part)
    }
    for split in splits { patch(split, .split(split + 1, instructions.count)) }
  }
}
