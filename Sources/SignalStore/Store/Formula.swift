// SPDX-License-Identifier: MIT

public import JSON

/// How the value of a computed property follows from those of other properties.
///
/// The store knows no language: it is given the properties that a formula reads, and evaluates it when one of them
/// changes.
public final class Formula: Sendable {
  /// Reads an input as it is now; nil when there is no such property.
  public typealias Inputs = (PropertyPath) -> StoredValue?

  /// The result of a formula: a value, or a sentence that says why there is none.
  public enum Result: Sendable, Equatable {
    /// The value of the property from now on.
    case value(JSONText)
    /// There is no value: the property is `null`, and this says why.
    case failure(String)

    /// Whether the values, or the sentences, are equal byte for byte.
    public static func == (a: Result, b: Result) -> Bool {
      switch (a, b) {
      case (.value(let a), .value(let b)): a == b
      case (.failure(let a), .failure(let b)): a.utf8.elementsEqual(b.utf8)
      default: false
      }
    }
  }

  /// The source text of the formula, for display and for comparison.
  public let source: String
  /// Every property that the formula may read, each once.
  public let inputs: [PropertyPath]
  private let body: @Sendable (Inputs, inout FormulaBudget) -> Result

  /// Makes a formula.
  ///
  /// - Parameters:
  ///   - inputs: The properties that `body` reads; it is called again when one of them changes.
  ///   - body: Computes the value. It is called under the lock of the store, so it must be quick, depend on nothing but
  ///     its inputs, and not use the store. See ``FormulaBudget`` for one that can be expensive.
  public convenience init(
    source: String, inputs: [PropertyPath], _ body: @escaping @Sendable (Inputs) -> Result
  ) {
    self.init(source: source, inputs: inputs) { inputs, _ in body(inputs) }
  }

  /// Makes a formula that keeps to a budget.
  ///
  /// - Parameters:
  ///   - inputs: The properties that `body` reads; it is called again when one of them changes.
  ///   - body: As for ``init(source:inputs:_:)-(_,_,(Inputs)->Result)``. It subtracts its cost from the budget, and
  ///     stops when the budget is used up; its result then does not count. The bytes of its value are subtracted by the
  ///     store.
  public init(
    source: String, inputs: [PropertyPath], _ body: @escaping @Sendable (Inputs, inout FormulaBudget) -> Result
  ) {
    self.source = source
    var seen = Set<PropertyPath>()
    self.inputs = inputs.filter { seen.insert($0).inserted }
    self.body = body
  }

  /// A formula of which only the text is known, as read from a stored record; it is never evaluated.
  package convenience init(uncompiled source: String) {
    self.init(source: source, inputs: []) { _ in .failure("the formula is not compiled") }
  }

  /// Computes the value from the inputs.
  public func evaluate(_ inputs: Inputs) -> Result {
    var budget = FormulaBudget(units: .max, bytes: .max)
    return evaluate(inputs, &budget)
  }

  /// The same, within a budget.
  public func evaluate(_ inputs: Inputs, _ budget: inout FormulaBudget) -> Result { body(inputs, &budget) }
}

extension Formula: Equatable {
  /// Whether the texts are equal, byte for byte.
  public static func == (a: Formula, b: Formula) -> Bool { a === b || a.source.utf8.elementsEqual(b.source.utf8) }
}

/// Where the value of a computed property comes from.
public final class Computation: Sendable, Equatable {
  /// What it is computed with.
  public let formula: Formula
  /// Why there is no value, which is `null` then; nil when there is one.
  public let error: String?

  package init(_ formula: Formula, error: String?) {
    self.formula = formula
    self.error = error
  }

  /// Whether formula and error are equal, byte for byte.
  public static func == (a: Computation, b: Computation) -> Bool {
    a === b || (a.formula == b.formula && a.hasError(b.error))
  }

  /// Whether the error is this one: a sentence may quote a name, and two that look alike may differ in bytes.
  func hasError(_ other: String?) -> Bool {
    switch (error, other) {
    case (let error?, let other?): error.utf8.elementsEqual(other.utf8)
    case (nil, nil): true
    default: false
    }
  }
}
