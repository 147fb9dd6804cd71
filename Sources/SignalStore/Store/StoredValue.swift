// SPDX-License-Identifier: MIT

public import JSON

/// A property as of one change: its path and value, and the revision and time of the change.
///
/// Immutable: it can be kept and passed between threads for any length of time; a later change of the property makes
/// another one.
public final class StoredValue: Sendable {
  /// The path of the property.
  public let path: PropertyPath
  /// The JSON value, compact.
  public let value: JSONText
  /// The revision of the change that set it.
  public let revision: Revision
  /// The time of that change.
  public let time: Timestamp
  /// Data that few properties have: one word, so that the others take no more memory.
  private let extra: Extra

  private enum Extra {
    case none
    case computed(Computation)
    case leased(Lease)
  }

  package init(
    path: PropertyPath, value: JSONText, revision: Revision, time: Timestamp, computation: Computation? = nil
  ) {
    self.path = path
    self.value = value
    self.revision = revision
    self.time = time
    extra = computation.map { .computed($0) } ?? .none
  }

  package init(path: PropertyPath, value: JSONText, revision: Revision, time: Timestamp, lease: Lease?) {
    self.path = path
    self.value = value
    self.revision = revision
    self.time = time
    extra = lease.map { .leased($0) } ?? .none
  }

  /// The same property as of another change.
  init(_ property: StoredValue, revision: Revision, time: Timestamp) {
    path = property.path
    value = property.value
    self.revision = revision
    self.time = time
    extra = property.extra
  }

  /// How the value was computed; nil for one that was set.
  public var computation: Computation? { if case .computed(let computation) = extra { computation } else { nil } }

  /// Whether it was computed.
  var isComputed: Bool { if case .computed = extra { true } else { false } }

  /// When the property expires, unless it is set before; nil when it has none.
  ///
  /// In a snapshot or a change, the time known then: a set of an equal value moves it without a change.
  public var expires: Timestamp? { lease?.term?.end }

  /// Its time to live and holder; nil for a property that stays until it is changed.
  package var lease: Lease? { if case .leased(let lease) = extra { lease } else { nil } }
}

extension StoredValue: Equatable {
  /// Whether path, value, revision, time and computation are equal.
  public static func == (a: StoredValue, b: StoredValue) -> Bool {
    a === b
      || (a.revision == b.revision && a.time == b.time && a.path == b.path && a.value == b.value
        && a.computation == b.computation)
  }
}
