// SPDX-License-Identifier: MIT

public import JSON

/// How the value of a computed property follows from those of other properties.
///
/// The store knows no language: it is told which properties a formula reads, and calls it when one of them has changed.
public final class Formula: Sendable {
  /// Reads an input as it is at this moment; nil when there is no such property.
  public typealias Inputs = (PropertyPath) -> StoredValue?

  /// What a formula makes of its inputs: a value, or a sentence on why there is none.
  public enum Result: Sendable, Equatable {
    /// The value of the property from now on.
    case value(JSONText)
    /// There is none: the property is `null`, and this says why.
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

  /// The text that it was made from, for people and for comparison.
  public let source: String
  /// Every property that it may read, each once.
  public let inputs: [PropertyPath]
  private let body: @Sendable (Inputs, inout FormulaBudget) -> Result

  /// Makes a formula.
  ///
  /// - Parameters:
  ///   - inputs: The properties that `body` reads; it is called anew when one of them has changed.
  ///   - body: Computes the value. It is called under the lock of the store, so it must be quick, depend on nothing but
  ///     its inputs, and not use the store. See ``FormulaBudget`` for one that can be expensive.
  public convenience init(
    source: String, inputs: [PropertyPath], _ body: @escaping @Sendable (Inputs) -> Result
  ) {
    self.init(source: source, inputs: inputs) { inputs, _ in body(inputs) }
  }

  /// Makes a formula that knows what it costs.
  ///
  /// - Parameters:
  ///   - inputs: The properties that `body` reads; it is called anew when one of them has changed.
  ///   - body: As for ``init(source:inputs:_:)-(_,_,(Inputs)->Result)``. It takes from the budget what it spends, and gives
  ///     up when there is nothing left; what it answers then does not count. The bytes of its value are taken by the store.
  public init(
    source: String, inputs: [PropertyPath], _ body: @escaping @Sendable (Inputs, inout FormulaBudget) -> Result
  ) {
    self.source = source
    var seen = Set<PropertyPath>()
    self.inputs = inputs.filter { seen.insert($0).inserted }
    self.body = body
  }

  /// A formula that is known by its text only, in a record that was written down; it is never evaluated.
  package convenience init(uncompiled source: String) {
    self.init(source: source, inputs: []) { _ in .failure("the formula is not compiled") }
  }

  /// Computes the value from the inputs as they are told.
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
