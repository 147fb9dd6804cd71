// SPDX-License-Identifier: MIT

/// An estimate of the cost of an evaluation, made before there is a value.
extension Program {
  /// How deep the loops of macros are nested: 0 for an expression that takes the same steps for every value.
  public var loopDepth: Int {
    var depth = 0
    var deepest = 0
    for instruction in instructions {
      switch instruction {
      case .loop: depth += 1
      case .endLoop, .endSort: depth -= 1
      default: break
      }
      deepest = max(deepest, depth)
    }
    return deepest
  }

  /// An upper estimate of one evaluation in units of ``CELLimits/budget``, when no list or map has more than
  /// this number of elements and no text more than this number of bytes.
  ///
  /// Every branch is taken to run and every loop to go over all elements. O(instructions).
  public func estimatedCost(elements: Int = 100, textBytes: Int = 100) -> Int {
    var total = 0
    var repetitions = [1]
    for instruction in instructions {
      switch instruction {
      case .endLoop, .endSort: repetitions.removeLast()
      default: break
      }
      let (cost, overflow) = (repetitions.last ?? 1).multipliedReportingOverflow(
        by: cost(of: instruction, max(1, elements), max(1, textBytes)))
      let (sum, carry) = total.addingReportingOverflow(cost)
      if overflow || carry { return .max }
      total = sum
      if case .loop = instruction {
        let (product, overflow) = (repetitions.last ?? 1).multipliedReportingOverflow(by: max(1, elements))
        if overflow { return .max }
        repetitions.append(product)
      }
    }
    return total
  }

  private func cost(of instruction: Instruction, _ elements: Int, _ textBytes: Int) -> Int {
    let text = textBytes / 8
    switch instruction {
    case .select, .selectVariable, .selectOptional, .has: return 1 + elements / 16
    case .index, .indexOptional: return 1 + elements / 4
    case .in: return 1 + elements
    case .relation, .relationToConstant, .relationOfVariable: return 1 + text
    case .relationOfField: return 2 + text + elements / 16
    case .equal, .notEqual, .add: return 1 + text + elements
    case .endSort: return sortCost(elements)
    case .match(let pattern): return textBytes &* patterns[Int(pattern)].instructions.count
    case .call(.matches, _): return textBytes &* limits.patternSteps
    case .call(let function, _):
      switch function {
      case .flatten, .reverse, .slice, .join, .format, .greatest, .least: return 1 + text + elements
      case .sort: return sortCost(elements)
      case .distinct: return 1 + elements &* elements / 2
      default: return 1 + text
      }
    default: return 1
    }
  }

  private func sortCost(_ elements: Int) -> Int {
    1 + elements &* max(1, Int.bitWidth - elements.leadingZeroBitCount)
  }
}
