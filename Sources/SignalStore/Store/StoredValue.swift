// SPDX-License-Identifier: MIT

public import JSON

/// A property as it was left by one change: its path and value, and when that was.
///
/// It never changes, and it can be kept and passed between threads for as long as you like; a later
/// change of the property makes another one.
public final class StoredValue: Sendable {
  /// Where the property is.
  public let path: PropertyPath
  /// The JSON value, compact.
  public let value: JSONText
  /// The revision of the change that set it.
  public let revision: Revision
  /// The time of that change.
  public let time: Timestamp
  /// How the value was computed; nil for one that was set.
  public let computation: Computation?

  package init(
    path: PropertyPath, value: JSONText, revision: Revision, time: Timestamp, computation: Computation? = nil
  ) {
    self.path = path
    self.value = value
    self.revision = revision
    self.time = time
    self.computation = computation
  }
}

extension StoredValue: Equatable {
  /// Whether path, value, revision, time and computation are equal.
  public static func == (a: StoredValue, b: StoredValue) -> Bool {
    a === b
      || (a.revision == b.revision && a.time == b.time && a.path == b.path && a.value == b.value
        && a.computation == b.computation)
  }
}
