// SPDX-License-Identifier: MIT

/// Why a store refused to change anything.
///
/// Nothing has been changed, also not by the other operations of the transaction. `operation` is
/// the index of the operation at fault, 0 for a single `set` or `delete`.
public enum StoreError: Error, Equatable, Sendable {
  /// The condition of an operation does not hold.
  ///
  /// `current` is the property as it is, nil when there is none, and `revision` the revision of the
  /// store at which that was so.
  case conditionFailed(operation: Int, current: StoredValue?, revision: Revision)
  /// The path of the operation is also that of an earlier one in the same transaction.
  case repeatedPath(operation: Int)
  /// There would be more properties than ``StoreLimits/properties`` allows.
  case tooManyProperties(limit: Int)
  /// The transaction has more operations than ``StoreLimits/operations``.
  case tooManyOperations(limit: Int)
}

extension StoreError: CustomStringConvertible {
  /// One sentence for the person whose request it was.
  public var description: String {
    switch self {
    case .conditionFailed(let operation, let current, _):
      if let current {
        "The condition of operation \(operation) does not hold: \"\(current.path)\" is at revision \(current.revision)."
      } else {
        "The condition of operation \(operation) does not hold: there is no such property."
      }
    case .repeatedPath(let operation):
      "Operation \(operation) has the path of an earlier operation of the same transaction."
    case .tooManyProperties(let limit):
      "The store is full: it holds at most \(limit) properties."
    case .tooManyOperations(let limit):
      "The transaction has more than \(limit) operations."
    }
  }
}
