// SPDX-License-Identifier: MIT

/// What all formulas that follow from one commit may still spend together.
///
/// Other writers and readers wait while they are computed. A formula that finds it used up, or uses it up, has no value: the
/// property is `null`, and ``Computation/error`` says why.
public struct FormulaBudget: Sendable, Equatable {
  /// Time, in units of 25 ns at most (``StoreLimits/formulaUnits``); below zero when more was spent than there was.
  public var units: Int
  /// Bytes of values (``StoreLimits/formulaBytes``); below zero when there were more.
  public var bytes: Int

  /// Makes a budget of its parts.
  public init(units: Int, bytes: Int) {
    self.units = units
    self.bytes = bytes
  }

  /// Whether there is nothing left.
  public var isUsedUp: Bool { units <= 0 || bytes < 0 }

  /// What a formula that does not fit any more fails with.
  static let failure = "the commit's budget for formulas is used up"

  /// What computing one formula costs beside its own work: finding its inputs and the present value, and noting the new one.
  static let evaluation = 35
  /// What it costs to take in a formula, and each of its inputs, when all have to be made.
  static let definition = 24
  /// What it costs to lift a formula above another one that it reads.
  static let lift = 6
  /// What it costs to look at one link between a formula and an input.
  static let link = 1
}
