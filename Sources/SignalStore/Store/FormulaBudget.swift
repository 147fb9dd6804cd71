// SPDX-License-Identifier: MIT

/// The remaining budget that all formulas computed for one commit share.
///
/// Other writers and readers wait while they are computed. A formula that finds the budget used up, or uses it up, has
/// no value: the property is `null`, and ``Computation/error`` says why.
public struct FormulaBudget: Sendable, Equatable {
  /// Time, in units of 25 ns at most (``StoreLimits/formulaUnits``); negative when it is overspent.
  public var units: Int
  /// Bytes of values (``StoreLimits/formulaBytes``); negative when it is overspent.
  public var bytes: Int

  /// Makes a budget from its parts.
  public init(units: Int, bytes: Int) {
    self.units = units
    self.bytes = bytes
  }

  /// Whether the budget is used up.
  public var isUsedUp: Bool { units <= 0 || bytes < 0 }

  /// The error of a formula that exceeds the budget.
  static let failure = "the commit's budget for formulas is used up"

  /// The cost of computing one formula beside its own work: looking up its inputs and old value, storing the new one.
  static let evaluation = 35
  /// The cost of defining a formula, and each of its inputs, when all nodes have to be made.
  static let definition = 24
  /// The cost of raising the rank of a formula above that of one that it reads.
  static let lift = 6
  /// The cost of visiting one link between a formula and an input.
  static let link = 1
}
