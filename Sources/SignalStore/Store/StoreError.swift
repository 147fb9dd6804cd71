// SPDX-License-Identifier: MIT

/// Why a store refused to change anything.
///
/// Nothing has been changed, not even by the other operations of the transaction. `operation` is
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
  /// The properties would take more bytes than ``StoreLimits/propertyBytes`` allows.
  case tooManyBytes(limit: Int)
  /// There would be more beneath a path than a quota of the server allows.
  case quotaExceeded(operation: Int, QuotaExcess)
  /// The transaction has more operations than ``StoreLimits/transactionOperations``.
  case tooManyOperations(limit: Int)
  /// The property is computed, so it cannot be set; deleting it makes its path free.
  case isComputed(operation: Int)
  /// The formula would read its own value, through these properties: the first and the last are the one to be defined.
  case cycle(operation: Int, [PropertyPath])
  /// There would be more computed properties than ``StoreLimits/computedProperties`` allows.
  case tooManyComputed(operation: Int, limit: Int)
  /// The formula has more inputs than ``StoreLimits/formulaInputs``.
  case tooManyInputs(operation: Int, limit: Int)
  /// The formula would make a chain of computed properties, each reading the one before, that is longer than
  /// ``StoreLimits/formulaDepth``.
  case tooDeep(operation: Int, limit: Int)
  /// Ordering the computed properties would exceed ``StoreLimits/formulaUnits``: the transaction defines too many, or
  /// too many depend on them.
  case tooMuchFormulaWork(operation: Int)
  /// The time to live of the operation is not positive, or longer than ``StoreLimits/ttlLimit``.
  case badTimeToLive(operation: Int, limit: Duration)
  /// The holder would hold more properties than ``StoreLimits/heldProperties``.
  case tooManyHeld(operation: Int, limit: Int)
  /// There is no room to keep the last message of another signal: ``StoreLimits/rememberedSignals``,
  /// ``StoreLimits/rememberedBytes``.
  case tooManyRemembered(limit: Int)
  /// There would be more timers than ``StoreLimits/timers``.
  case tooManyTimers(limit: Int)
  /// The operations, and what is computed because of them, would be a larger record than ``StoreLimits/commitBytes``.
  case commitTooLarge(limit: Int)
  /// The change could not be recorded.
  case notKept(StorageRefusal)
  /// A timer would fire too soon, too often or too late: ``StoreLimits/timerInterval``, ``StoreLimits/ttlLimit``.
  case badTimer(shortest: Duration, longest: Duration)
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
    case .tooManyBytes(let limit):
      "The store is full: its properties have at most \(limit) bytes."
    case .quotaExceeded(_, let excess): excess.description
    case .tooManyOperations(let limit):
      "The transaction has more than \(limit) operations."
    case .isComputed(let operation):
      "Operation \(operation) sets a computed property; its value follows from others."
    case .cycle(_, let cycle):
      "The formula would depend on its own value: \(cycle.map(\.description).joined(separator: " → "))."
    case .tooManyComputed(_, let limit):
      "There are at most \(limit) computed properties."
    case .tooManyInputs(_, let limit):
      "A formula reads at most \(limit) properties."
    case .tooDeep(_, let limit):
      "A formula may depend on others over at most \(limit) steps."
    case .tooMuchFormulaWork(let operation):
      "What is defined up to operation \(operation), and what depends on it, is too much for one step; define it in parts."
    case .tooManyHeld(_, let limit):
      "One client holds at most \(limit) properties."
    case .tooManyRemembered(let limit):
      "There is no room for another message that is to be kept; there may be \(limit), and not too large together."
    case .tooManyTimers(let limit):
      "There may be at most \(limit) timers."
    case .badTimer(let shortest, let longest):
      "A timer fires in \(shortest.milliseconds) ms at the earliest and in \(longest.components.seconds) s at the latest."
    case .commitTooLarge(let limit):
      "What changes at once, with what is computed from it, may have about \(limit) bytes in a cluster; change it in parts."
    case .notKept(.full): "There is no room on the disk; it is tried again every second."
    case .notKept(.slow): "The disk is slower than the writers."
    case .notKept(.failed): "The disk has failed."
    case .notKept(.readOnly): "The store was opened for reading only."
    case .notKept(.elsewhere): "Another node of the cluster decides changes now, or none does yet."
    case .badTimeToLive(_, let limit):
      "A time to live is longer than nothing and at most \(limit.components.seconds) seconds."
    }
  }
}
