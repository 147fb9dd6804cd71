// SPDX-License-Identifier: MIT

/// What must be true of a property for an operation on it to be executed.
///
/// The conditions are those of RFC 9110 §13.1. A cursor names one value of one property: the
/// revision of the change that set it. A cursor of another epoch matches no property.
public enum Condition: Sendable, Equatable {
  /// Nothing: the operation is unconditional.
  case any
  /// The property was last set at this cursor (`If-Match` with one entity tag).
  case matches(Cursor)
  /// The property was last set at one of these (`If-Match` with a list).
  case matchesAny([Cursor])
  /// There is a property (`If-Match: *`).
  case exists
  /// There is no property (`If-None-Match: *`).
  case absent
  /// There is no property, or it was last set at none of these (`If-None-Match` with a list).
  case noneMatch([Cursor])
  /// There is no property, or it was last set at this time or before (`If-Unmodified-Since`).
  case unmodifiedSince(Timestamp)

  /// Whether the condition holds for the property as it is, in a store of this epoch.
  package func holds(for current: StoredValue?, in epoch: Epoch) -> Bool {
    let cursor = current.map { Cursor(epoch: epoch, revision: $0.revision) }
    return switch self {
    case .any: true
    case .matches(let wanted): cursor == wanted
    case .matchesAny(let wanted): cursor.map { wanted.contains($0) } ?? false
    case .exists: cursor != nil
    case .absent: cursor == nil
    case .unmodifiedSince(let time): current.map { $0.time.milliseconds <= time.milliseconds } ?? true
    case .noneMatch(let unwanted): cursor.map { !unwanted.contains($0) } ?? true
    }
  }
}
