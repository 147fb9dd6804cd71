// SPDX-License-Identifier: MIT

package import CEL
import JSON
package import SignalStore

/// One compiled rule.
///
/// A class, as every judgement walks the rules, and a copy of each would cost more than to match its pattern.
final class CompiledRule: Sendable {
  /// A condition, and the operations that it allows or denies.
  struct Condition: Sendable {
    let operations: [AccessOperation]
    let denies: Bool
    let expression: CheckedExpression
  }

  /// From 0, in the order of the settings.
  let number: Int
  let match: CapturePattern
  let with: [(name: String, template: PathTemplate)]
  let conditions: [Condition]
  let validate: CheckedExpression?
  let environment: CELEnvironment
  /// Rules whose captures stand at the same places have equal ones.
  let placesKey: [UInt8]

  init(
    number: Int, match: CapturePattern, with: [(name: String, template: PathTemplate)], conditions: [Condition],
    validate: CheckedExpression?, environment: CELEnvironment
  ) {
    self.number = number
    self.match = match
    self.with = with
    self.conditions = conditions
    self.validate = validate
    self.environment = environment
    placesKey = Array("\(match.captures)".utf8)
  }
}

/// The compiled rules of a server: who may do what.
///
/// Allowed is what a matching rule allows, none denies, and all that match find valid; what a rule fails on is not
/// allowed. Immutable, for any number of threads.
package final class AccessPolicy: Sendable {
  /// What one evaluation of a condition may cost, in the units of `CELLimits.budget`.
  package static let budget = 10_000

  let rules: [CompiledRule]
  let admin: CheckedExpression?
  let metrics: CheckedExpression?
  /// Whether a condition uses the variable `request`, so that rights are not the same for all requests of a caller.
  package let usesRequest: Bool
  let paths: PathLimits
  /// How the rules were written.
  package let source: AccessRules

  /// Compiles rules.
  ///
  /// - Throws: A line that names the first rule that cannot be used, and why.
  package init(
    _ source: AccessRules, expressions: CELLimits = CELLimits(), paths: PathLimits = PathLimits()
  ) throws(AccessFault) {
    var limits = expressions
    limits.budget = min(limits.budget, AccessPolicy.budget)
    self.source = source
    self.paths = paths
    guard source.rules.count <= AccessRules.mostRules else {
      throw AccessFault(description: "there are more than \(AccessRules.mostRules) rules")
    }
    let environment = CELEnvironment(variables: [CELVariable("auth"), CELVariable("request")])
    admin = try source.admin.map { admin throws(AccessFault) in
      try AccessPolicy.expression(admin, "admin", environment, limits)
    }
    metrics = try source.metrics.map { metrics throws(AccessFault) in
      try AccessPolicy.expression(metrics, "metrics", environment, limits)
    }
    var rules: [CompiledRule] = []
    for (number, rule) in source.rules.enumerated() {
      do throws(AccessFault) {
        rules.append(try AccessPolicy.compile(rule, number, limits, paths))
      } catch {
        throw AccessFault(description: "rule \(number + 1), '\(rule.match)': \(error.description)")
      }
    }
    self.rules = rules
    let expressions = rules.flatMap { $0.conditions.map(\.expression) + ($0.validate.map { [$0] } ?? []) }
    usesRequest = (expressions + [admin, metrics].compactMap(\.self)).contains {
      $0.program.variables.contains("request")
    }
  }

  private static func compile(
    _ rule: AccessRule, _ number: Int, _ limits: CELLimits, _ paths: PathLimits
  ) throws(AccessFault) -> CompiledRule {
    let match: CapturePattern
    do throws(RuleFault) {
      match = try CapturePattern(rule.match, limits: paths)
    } catch {
      throw AccessFault(description: error.reason)
    }
    let singles = match.captures.indices.filter { match.isSingle($0) }
    let captures = Dictionary(uniqueKeysWithValues: singles.map { (match.captures[$0].name, $0) })
    var with: [(name: String, template: PathTemplate)] = []
    for (name, text) in rule.with.sorted(by: { $0.key < $1.key }) {
      guard CapturePattern.isName(name) else { throw AccessFault(description: "with: '\(name)' is no name") }
      guard !match.captures.contains(where: { $0.name == name }) else {
        throw AccessFault(description: "with: '\(name)' is the name of a capture")
      }
      do throws(AccessFault) {
        with.append((name, try PathTemplate(text, captures: captures, limits: paths)))
      } catch {
        throw AccessFault(description: "with: \(name): \(error.description)")
      }
    }
    let names = match.captures.map(\.name) + with.map(\.name)
    guard names.count <= RuleVariables.mostNames else {
      throw AccessFault(description: "it has more than \(RuleVariables.mostNames) captures and names of 'with'")
    }
    for name in names where RuleVariables.common.contains(where: { $0.name == name }) {
      throw AccessFault(description: "'\(name)' is the name of a variable that all rules have")
    }
    let environment = CELEnvironment(
      variables: RuleVariables.common + match.captures.map { CELVariable($0.name, .string) }
        + with.map { CELVariable($0.name) })
    var conditions: [CompiledRule.Condition] = []
    for (name, text) in rule.conditions.sorted(by: { $0.key < $1.key }) {
      let denies = name.hasPrefix("deny-")
      guard let operations = AccessOperation.named(denies ? name.dropFirst(5) : name[...]) else {
        throw AccessFault(description: "there is nothing to allow or deny that is called '\(name)'")
      }
      conditions.append(
        CompiledRule.Condition(
          operations: operations, denies: denies, expression: try expression(text, name, environment, limits)))
    }
    guard !conditions.isEmpty || rule.validate != nil else {
      throw AccessFault(description: "it allows and denies nothing")
    }
    let validate = try rule.validate.map { text throws(AccessFault) in
      try expression(text, "validate", environment, limits)
    }
    return CompiledRule(
      number: number, match: match, with: with, conditions: conditions, validate: validate, environment: environment)
  }

  private static func expression(
    _ text: String, _ name: String, _ environment: CELEnvironment, _ limits: CELLimits
  ) throws(AccessFault) -> CheckedExpression {
    do throws(CELError) {
      return try CheckedExpression(condition: text, environment: environment, limits: limits)
    } catch {
      throw AccessFault(description: "\(name): \(error.description)")
    }
  }
}

extension AccessPolicy: Equatable {
  /// Whether both were written the same.
  package static func == (a: AccessPolicy, b: AccessPolicy) -> Bool { a === b || a.source == b.source }
}
