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
  /// Most operations of one transaction; 1000 unless told otherwise.
  ///
  /// Other writers and readers wait while it is applied.
  public var operations: Int
  /// Most changes that are kept for those who resume; 100 000 unless told otherwise.
  ///
  /// With 0 nobody can resume.
  public var historyCount: Int
  /// Most bytes that these changes may keep alive; 64 MiB unless told otherwise.
  public var historyBytes: Int
  /// Most computed properties; 10 000 unless told otherwise.
  ///
  /// Those that depend on a change, directly or not, are all computed while the change is carried out: others wait.
  public var computedProperties: Int
  /// Most properties that the formula of one computed property may read; 64 unless told otherwise.
  public var inputs: Int

  /// Limits with the defaults, or with those given instead.
  public init(
    properties: Int = 1_000_000, operations: Int = 1000, historyCount: Int = 100_000, historyBytes: Int = 64 << 20,
    computedProperties: Int = 10_000, inputs: Int = 64
  ) {
    self.properties = properties
    self.operations = operations
    self.historyCount = historyCount
    self.historyBytes = historyBytes
    self.computedProperties = computedProperties
    self.inputs = inputs
  }
}
