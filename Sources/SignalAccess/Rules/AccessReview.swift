// SPDX-License-Identifier: MIT

import CEL
import SignalStore

/// What can be said of rules without anybody asking for something: what they cost, and what of them is probably not
/// meant.
package struct AccessReview {
  /// Which claims callers may have.
  package enum Claims: Sendable, Equatable {
    /// Others decide.
    case any
    /// These, as far as is known.
    case named(Set<String>)
    /// Nobody can prove who he is.
    case nobody
  }

  /// A condition of a rule.
  package struct Condition: Sendable {
    /// The number of the rule, from 1.
    package let rule: Int
    /// What it is for: `read`, `deny-set`, `validate`.
    package let name: String
    package let source: String
    /// An upper estimate, in units of ``AccessPolicy/budget``, for lists of 100 elements and texts of 100 bytes.
    package let cost: Int
  }

  package struct Finding: Sendable {
    /// Whether the rule can be left out, or a part of it, and nothing changes; otherwise it is worth a look.
    package let isError: Bool
    /// From 1; nil for the condition of administrators.
    package let rule: Int?
    package let text: String
    /// The claim that nobody is known to have.
    package var claim: String?
  }

  package private(set) var conditions: [Condition] = []
  package private(set) var findings: [Finding] = []

  private let policy: AccessPolicy
  private let claims: Claims

  package init(_ policy: AccessPolicy, claims: Claims) {
    self.policy = policy
    self.claims = claims
    if let admin = policy.admin { reviewClaims(used(by: admin), nil, "admin") }
    for rule in policy.rules { review(rule) }
  }

  private mutating func find(_ rule: CompiledRule, isError: Bool, _ text: String) {
    findings.append(Finding(isError: isError, rule: rule.number + 1, text: text))
  }

  private mutating func review(_ rule: CompiledRule) {
    let source = policy.source.rules[rule.number]
    // They were compiled in this order.
    for (name, condition) in zip(source.conditions.keys.sorted(), rule.conditions) {
      review(condition.expression, rule, name)
      if !reviewDemand(condition, rule, name) { reviewEffect(of: condition, rule, name) }
    }
    if let validate = rule.validate {
      review(validate, rule, "validate")
      let outcomes = [AccessOperation.set, .send].map { outcome(of: validate, $0, rule) }
      if outcomes.allSatisfy({ $0 == .always }) { find(rule, isError: true, "validate: takes every value") }
      if outcomes.allSatisfy({ $0 == .never || $0 == .fails }) {
        find(rule, isError: false, "validate: takes no value")
      }
    }
    reviewNames(of: rule, source)
  }

  // MARK: One condition

  private mutating func review(_ expression: CheckedExpression, _ rule: CompiledRule, _ name: String) {
    let cost = expression.program.estimatedCost()
    conditions.append(Condition(rule: rule.number + 1, name: name, source: expression.program.source, cost: cost))
    if cost > AccessPolicy.budget {
      find(
        rule, isError: false,
        "\(name): may cost \(cost) units for lists of 100 elements and texts of 100 bytes; beyond \(AccessPolicy.budget) it "
          + "fails")
    }
    reviewClaims(used(by: expression), rule.number + 1, name)
  }

  /// The claims that an expression uses.
  private func used(by expression: CheckedExpression) -> [String] {
    expression.uses.filter { $0.subject.variable == "auth" }.map { use in
      use.subject.fields.first.map { String(decoding: $0, as: UTF8.self) } ?? ""
    }
  }

  /// - Parameter names: Claims; an empty one for `auth` as a whole.
  private mutating func reviewClaims(_ names: [String], _ rule: Int?, _ place: String) {
    switch claims {
    case .any: return
    case .nobody where !names.isEmpty:
      findings.append(
        Finding(
          isError: false, rule: rule,
          text: "\(place): auth is always null, as no setting of auth lets anybody prove who he is"))
    case .nobody: return
    case .named(let known):
      for name in Set(names).sorted() where !name.isEmpty && !known.contains(name) {
        findings.append(
          Finding(
            isError: false, rule: rule, text: "\(place): nobody is known to have the claim auth.\(name)", claim: name))
      }
    }
  }

  // MARK: Effects

  /// What comes of a condition whoever asks and whatever there is.
  private enum Outcome { case always, never, fails, depends }

  private func outcome(
    of expression: CheckedExpression, _ operation: AccessOperation, _ rule: CompiledRule
  ) -> Outcome {
    switch expression.residual(knowing: [RuleVariables.operation: .string(operation.rawValue)]) {
    case .value(.bool(let value)): value ? .always : .never
    case .value, .failed: .fails
    case .program(let program, _): program.conjuncts.contains { isImpossible($0, rule) } ? .never : .depends
    }
  }

  /// Whether it asks for a path, or a segment of one, that there cannot be.
  private func isImpossible(_ conjunct: FilterConjunct, _ rule: CompiledRule) -> Bool {
    guard conjunct.subject.fields.isEmpty, case .equal(.text(let text)) = conjunct.test else { return false }
    let name = conjunct.subject.variable
    if name == "path" { return (try? PropertyPath(bytes: text.span, limits: policy.paths)) == nil }
    guard let capture = rule.match.captures.firstIndex(where: { $0.name == name }), rule.match.isSingle(capture) else {
      return false
    }
    return rule.match.segments(rule.match.texts, where: capture, is: String(decoding: text, as: UTF8.self)) == nil
  }

  private mutating func reviewEffect(
    of condition: CompiledRule.Condition, _ rule: CompiledRule, _ name: String
  ) {
    let outcomes = condition.operations.map { outcome(of: condition.expression, $0, rule) }
    if outcomes.allSatisfy({ $0 == .never || $0 == .fails && !condition.denies }) {
      return find(rule, isError: true, "\(name): \(condition.denies ? "denies" : "allows") nothing, whoever asks")
    }
    if condition.denies, outcomes.contains(.fails) {
      find(rule, isError: false, "\(name): denies everything, as it always fails")
    }
    // What another rule decides for everybody, on all paths of this one.
    var deciding: Set<Int> = []
    for operation in condition.operations {
      let other = policy.rules.first { decides($0, operation, insteadOf: rule, condition) }
      guard let other else { return }
      deciding.insert(other.number + 1)
    }
    let numbers = deciding.sorted().map(String.init).joined(separator: ", ")
    find(
      rule, isError: true, "\(name): has no effect, as rule \(numbers) decides that for everybody on all of its paths")
  }

  private func decides(
    _ other: CompiledRule, _ operation: AccessOperation, insteadOf rule: CompiledRule,
    _ condition: CompiledRule.Condition
  ) -> Bool {
    guard other.number != rule.number, other.match.pattern.covers(rule.match.pattern) else { return false }
    // Of two that say the same the first counts.
    let isSame = rule.match.pattern.covers(other.match.pattern) && other.number > rule.number
    return other.conditions.contains { one in
      guard one.operations.contains(operation), outcome(of: one.expression, operation, other) == .always else {
        return false
      }
      if one.denies { return !condition.denies || !isSame }
      guard !condition.denies else { return false }
      return !isSame || outcome(of: condition.expression, operation, rule) != .always
    }
  }

  /// Finds a condition for demand that depends on what may change, though demand is told without asking again.
  ///
  /// - Returns: Whether it can be met by nobody.
  private mutating func reviewDemand(
    _ condition: CompiledRule.Condition, _ rule: CompiledRule, _ name: String
  ) -> Bool {
    guard condition.operations == [.demand], !condition.denies else { return false }
    func blocking(_ slots: some Sequence<Int>) -> String? {
      let used = Set(condition.expression.uses.map(\.slot)).intersection(slots)
      guard !condition.expression.canHold(without: used) else { return nil }
      return used.sorted().map { "'\(rule.environment.variables[$0].name)'" }.joined(separator: ", ")
    }
    let own = [RuleVariables.value, RuleVariables.oldValue, RuleVariables.exists]
    if let names = blocking(own) {
      find(rule, isError: true, "\(name): allows nothing, whoever asks, as it depends on \(names)")
      return true
    }
    let firstName = RuleVariables.captures + rule.match.captures.count
    let changing = own + [RuleVariables.path, RuleVariables.segments, RuleVariables.now]
    if let names = blocking(changing + Array(firstName..<firstName + rule.with.count)) {
      find(
        rule, isError: false,
        "\(name): allows numbers of watchers, and subscriptions to demand to nobody, as it depends on \(names)")
    }
    return false
  }

  // MARK: Names

  private mutating func reviewNames(of rule: CompiledRule, _ source: AccessRule) {
    let expressions = rule.conditions.map(\.expression) + [rule.validate].compactMap(\.self)
    let used = Set(expressions.flatMap { $0.uses.map(\.subject.variable) })
    for (name, template) in rule.with {
      if !used.contains(name) { find(rule, isError: false, "with: no condition uses '\(name)'") }
      let names = template.segments.compactMap { part in
        if case .claim(let names) = part { names.first } else { nil }
      }
      reviewClaims(names, rule.number + 1, "with: \(name)")
    }
    let captured = rule.with.flatMap { _, template in
      template.segments.compactMap { part in if case .capture(let number) = part { number } else { nil } }
    }
    for (number, capture) in rule.match.captures.enumerated() {
      guard !used.contains(capture.name), !captured.contains(number) else { continue }
      let plain = rule.match.isSingle(number) ? "*" : "**"
      find(rule, isError: false, "nothing uses the capture '\(capture.name)'; \(plain) matches the same")
    }
  }
}
