// SPDX-License-Identifier: MIT

/// The limits of a store, each checked before the memory is taken.
///
/// How long a path may be is in ``PathLimits``; how large a value may be is decided where it is
/// parsed.
public struct StoreLimits: Equatable, Sendable {
  /// Maximum number of properties; 1 000 000 by default.
  ///
  /// A property takes about 180 bytes beside its path and its value.
  public var properties: Int
  /// Maximum number of bytes of all properties: their paths, their values, and 180 for each; no limit by default.
  public var propertyBytes: Int
  /// Maximum number of operations of one transaction; 1000 by default.
  ///
  /// Other writers and readers wait while it is applied.
  public var transactionOperations: Int
  /// Maximum number of changes that are kept for resuming; 100 000 by default.
  ///
  /// With 0, resuming is impossible.
  public var historyChanges: Int
  /// Maximum number of bytes that these changes may keep alive; 64 MiB by default.
  public var historyBytes: Int
  /// The shares of both for the changes of some properties, by the first match; all others use the rest.
  ///
  /// None by default, at most 16, and less than 100 percent together.
  public var history: [HistoryShare]
  /// Maximum number of computed properties; 5000 by default.
  ///
  /// Those that depend on a change, directly or not, are computed with it while others wait: as many as
  /// ``formulaUnits`` and ``formulaBytes`` allow.
  public var computedProperties: Int
  /// Maximum number of properties that the formula of one computed property may read; 64 by default.
  public var formulaInputs: Int
  /// Maximum number of computed properties in a chain, each reading the one before; 100 by default.
  public var formulaDepth: Int
  /// The budget that the formulas computed for one commit share, in units of 25 ns at most; 200 000 by default.
  ///
  /// Others wait meanwhile: about 5 ms with the default. A formula that no longer fits is `null`, with an error that
  /// says so; a transaction that defines more than can be ordered within it is refused.
  public var formulaUnits: Int
  /// Maximum number of bytes of their values together; 1 MiB by default.
  public var formulaBytes: Int

  /// Maximum size of the record of one commit, in bytes as ``Draft/recordBytes`` estimates it; no limit unless a log has one.
  package var commitBytes = Int.max

  /// Maximum time to live of a property, and longest time of a timer; 365 days by default.
  public var ttlLimit: Duration
  /// Maximum number of properties that one ``Holder`` may hold; 1000 by default.
  ///
  /// They end in one revision: other writers and readers wait while it is applied.
  public var heldProperties: Int
  /// Maximum number of signals whose last message is kept; 10 000 by default.
  public var rememberedSignals: Int
  /// Maximum number of bytes of these messages; 64 MiB by default.
  public var rememberedBytes: Int
  /// Maximum number of timers; 10 000 by default.
  public var timers: Int
  /// Minimum interval of a timer that fires again and again; 10 ms by default.
  public var timerInterval: Duration

  /// Limits with the defaults, except for those given.
  public init(
    properties: Int = 1_000_000, propertyBytes: Int = .max, transactionOperations: Int = 1000,
    historyChanges: Int = 100_000,
    historyBytes: Int = 64 << 20, history: [HistoryShare] = [], computedProperties: Int = 5000, formulaInputs: Int = 64,
    formulaDepth: Int = 100,
    formulaUnits: Int = 200_000, formulaBytes: Int = 1 << 20, ttlLimit: Duration = .seconds(365 * 86_400),
    heldProperties: Int = 1000, rememberedSignals: Int = 10_000, rememberedBytes: Int = 64 << 20, timers: Int = 10_000,
    timerInterval: Duration = .milliseconds(10)
  ) {
    self.properties = properties
    self.propertyBytes = propertyBytes
    self.transactionOperations = transactionOperations
    self.historyChanges = historyChanges
    self.historyBytes = historyBytes
    self.history = history
    self.computedProperties = computedProperties
    self.formulaInputs = formulaInputs
    self.formulaDepth = formulaDepth
    self.formulaUnits = formulaUnits
    self.formulaBytes = formulaBytes
    self.ttlLimit = ttlLimit
    self.heldProperties = heldProperties
    self.rememberedSignals = rememberedSignals
    self.rememberedBytes = rememberedBytes
    self.timers = timers
    self.timerInterval = timerInterval
  }
}
