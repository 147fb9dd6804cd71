// SPDX-License-Identifier: MIT

public import JSON

extension PropertyStore {
  /// One step of a transaction.
  public struct Operation: Sendable, Equatable {
    /// What a step does to its property.
    public enum Action: Sendable, Equatable {
      /// Sets this value; with `always`, also makes a change when the property already has that value.
      ///
      /// With `ttl`, the property expires after that time, unless it is set again before; without, it stays. With
      /// `holder`, it ends with its holder (``PropertyStore/release(_:)``), unless it is set again before.
      case set(JSONText, always: Bool, ttl: Duration? = nil, holder: Holder? = nil)
      /// Removes it, if it exists.
      case delete
      /// Makes it a computed property: its value is that of the formula, now and after every change of an input.
      case define(Formula)

      /// The value that is set; nil when none is.
      var value: JSONText? { if case .set(let value, _, _, _) = self { value } else { nil } }

      /// Whether it sets this value.
      func sets(_ value: JSONText) -> Bool { if case .set(let new, _, _, _) = self { new == value } else { false } }
    }

    /// The property.
    public var path: PropertyPath
    /// What is done to it.
    public var action: Action
    /// What must be true of it before the transaction.
    public var condition: Condition
    /// What must be true of other properties before it, because the decision to execute it depends on them.
    package var premises: [Premise] = []

    /// A condition on another property.
    package struct Premise: Sendable, Equatable {
      package let path: PropertyPath
      package let condition: Condition

      package init(_ path: PropertyPath, _ condition: Condition) {
        self.path = path
        self.condition = condition
      }
    }

    var isDefinition: Bool {
      if case .define = action { true } else { false }
    }

    /// Makes a step from its parts.
    public init(_ action: consuming Action, _ path: consuming PropertyPath, if condition: consuming Condition = .any) {
      self.path = path
      self.action = action
      self.condition = condition
    }

    /// A step that gives the property a value.
    public static func set(
      _ path: consuming PropertyPath, _ value: consuming JSONText, if condition: consuming Condition = .any,
      always: Bool = false, ttl: Duration? = nil, holder: Holder? = nil
    ) -> Operation {
      Operation(.set(value, always: always, ttl: ttl, holder: holder), path, if: condition)
    }

    /// The time to live of the property, if it is given one.
    package var ttl: Duration? { if case .set(_, _, let ttl, _) = action { ttl } else { nil } }

    /// The holder of the property, if it is given one.
    var holder: Holder? { if case .set(_, _, _, let holder) = action { holder } else { nil } }

    /// A step that removes the property, if it exists.
    public static func delete(_ path: PropertyPath, if condition: Condition = .any) -> Operation {
      Operation(.delete, path, if: condition)
    }

    /// A step that makes the property a computed one.
    public static func define(_ path: PropertyPath, _ formula: Formula, if condition: Condition = .any) -> Operation {
      Operation(.define(formula), path, if: condition)
    }
  }
}

/// The result of an operation.
public struct OperationResult: Sendable, Equatable {
  /// The kinds of effect.
  public enum Outcome: Sendable, Equatable {
    /// The property is new.
    case created
    /// The property had another value, or the same one and `always` was asked for.
    case replaced
    /// The property is gone.
    case deleted
    /// Nothing changed: it had that value already, or there was none to remove. Its time to live and its holder may
    /// still have been renewed or replaced.
    case unchanged
  }

  /// The kind of effect.
  public let outcome: Outcome
  /// The property as it is now; after ``Outcome/deleted`` as it was.
  ///
  /// Nil when there was none to remove.
  public let value: StoredValue?
  /// The revision of the store after the operation.
  public let revision: Revision

  /// Whether the property was changed, also where ``outcome`` must not tell.
  package let isChange: Bool

  /// - Parameter isChange: With nil as the outcome says.
  package init(outcome: Outcome, value: StoredValue?, revision: Revision, isChange: Bool? = nil) {
    self.outcome = outcome
    self.value = value
    self.revision = revision
    self.isChange = isChange ?? (outcome != .unchanged)
  }
}

/// The result of a transaction.
public struct TransactionResult: Sendable, Equatable {
  /// The revision of the store after the transaction.
  ///
  /// It is that of the changes, if any were made.
  public let revision: Revision
  /// The result of each operation, in their order.
  public let results: [OperationResult]

  package init(revision: Revision, results: [OperationResult]) {
    self.revision = revision
    self.results = results
  }
}
