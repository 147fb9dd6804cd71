// SPDX-License-Identifier: MIT

/// The limits of a store, each checked before the memory is taken.
///
/// How long a path may be is in ``PathLimits``; how large a value may be is decided where it is
/// parsed.
public struct StoreLimits: Equatable, Sendable {
  /// Most properties; 1 000 000 unless told otherwise.
  ///
  /// A property takes about 180 bytes beside its path and its value.
  public var properties: Int
  /// Most bytes of all properties: their paths, their values, and 180 for each; no limit unless told otherwise.
  public var propertyBytes: Int
  /// Most operations of one transaction; 1000 unless told otherwise.
  ///
  /// Other writers and readers wait while it is applied.
  public var transactionOperations: Int
  /// Most changes that are kept for those who resume; 100 000 unless told otherwise.
  ///
  /// With 0 nobody can resume.
  public var historyChanges: Int
  /// Most bytes that these changes may keep alive; 64 MiB unless told otherwise.
  public var historyBytes: Int
  /// How much of both the changes of some properties may take, the first that matches; those of all others have the rest.
  ///
  /// None unless told otherwise, at most 16, and less than 100 percent together.
  public var history: [HistoryShare]
  /// Most computed properties; 5000 unless told otherwise.
  ///
  /// Those that depend on a change, directly or not, are computed with it while others wait: as many as ``formulaUnits``
  /// and ``formulaBytes`` allow.
  public var computedProperties: Int
  /// Most properties that the formula of one computed property may read; 64 unless told otherwise.
  public var formulaInputs: Int
  /// Most computed properties in a row of which each reads the one before; 100 unless told otherwise.
  public var formulaDepth: Int
  /// What the formulas that follow from one commit may cost together, in units of 25 ns at most; 200 000 unless told
  /// otherwise.
  ///
  /// Others wait meanwhile: about 5 ms with the default. One that no longer fits is `null`, with an error that says so; a
  /// transaction that defines more than can be put in order is refused.
  public var formulaUnits: Int
  /// How many bytes their values may have together; 1 MiB unless told otherwise.
  public var formulaBytes: Int

  /// Longest time to live of a property, and longest time of a timer; 365 days unless told otherwise.
  public var ttlLimit: Duration
  /// Most properties that one ``Holder`` may hold; 1000 unless told otherwise.
  ///
  /// They end in one revision: other writers and readers wait while it is applied.
  public var heldProperties: Int
  /// Most signals whose last message is kept; 10 000 unless told otherwise.
  public var rememberedSignals: Int
  /// Most bytes of these messages; 64 MiB unless told otherwise.
  public var rememberedBytes: Int
  /// Most timers; 10 000 unless told otherwise.
  public var timers: Int
  /// Shortest interval of a timer that fires again and again; 10 ms unless told otherwise.
  public var timerInterval: Duration

  /// Limits with the defaults, or with those given instead.
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
