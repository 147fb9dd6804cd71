// SPDX-License-Identifier: MIT

import CEL
package import JSON
package import SignalStore

extension AccessSubject {
  /// What of it is the property as the store has it.
  package enum StoredPart: Sendable {
    /// Nothing: its values are given by the caller.
    case none
    /// The value that is read.
    case value
    /// The value before a write.
    case oldValue
  }

  /// What a request for an operation is judged by.
  ///
  /// - Parameters:
  ///   - value: What is set or sent; of what is read, a value instead of the one that is there.
  ///   - found: The property as it is; nil when there is none.
  package init(
    _ operation: AccessOperation, _ path: PropertyPath, _ value: JSONText?, found: JSONText?, at time: Timestamp
  ) {
    let value = value.map { JSONTree($0) }
    let found = found.map { JSONTree($0) }
    switch operation {
    case .get, .list, .watch, .listen: self.init(reading: path, value ?? found, at: time)
    case .set, .delete, .define: self.init(writing: path, value, replacing: found, at: time)
    case .send, .timer, .demand: self.init(writing: path, value, replacing: nil, at: time)
    }
  }
}

/// Explaining what is decided.
///
/// Each condition is evaluated by itself with what may be told, and no more: what depends on the rest is unknown, so
/// that an explanation cannot tell it. Whether all together allow something, ``decide(_:_:read:)`` says.
extension Rights {
  /// Explains the decision about an operation on a property.
  ///
  /// - Parameters:
  ///   - stored: What of the subject may not be told to somebody who may not get the property.
  ///   - mayTell: Whether the listener may read a property; nil when it may know everything.
  ///   - read: Reads a property with the server's eyes.
  package func explain(
    _ operation: AccessOperation, _ subject: AccessSubject, stored: AccessSubject.StoredPart = .none,
    mayTell: ((PropertyPath) -> Bool)? = nil, read: (PropertyPath) -> JSONText?
  ) -> AccessExplanation {
    if isAdministrator { return .administrator }
    var bindings = bindings(of: operation)
    bindings.bind(subject)
    if stored != .none, mayTell?(subject.path) == false {
      bindings.withhold(stored == .value ? RuleVariables.value : RuleVariables.oldValue)
      bindings.withhold(RuleVariables.exists)
    }
    var entries: [AccessExplanation.Entry] = []
    for rule in policy.rules where rule.match.pattern.matches(subject.path) {
      var bindings = bindings
      let captures = rule.match.captures.map { ($0.name, CapturePattern.text(at: $0.place, of: subject.path)) }
      for (index, capture) in captures.enumerated() {
        bindings.bind(RuleVariables.captures + index, to: .string(capture.1))
      }
      for (index, name) in rule.with.enumerated() {
        let slot = RuleVariables.captures + captures.count + index
        // Without a path it has no value, as everywhere.
        guard let path = name.template.path(identity, captures: { captures[$0].1 }) else { continue }
        guard mayTell?(path) != false else {
          bindings.withhold(slot)
          continue
        }
        if let text = read(path) { bindings.bind(slot, to: JSONTree(text)) } else { bindings.bind(slot, to: .null) }
      }
      entries += self.entries(rule, operation, captures, bindings)
    }
    let isAllowed = decide(operation, subject, read: read) == .allowed
    return explanation(
      told(operation, isAllowed, by: entries, subject, stored, tellsAll: mayTell == nil), operation, entries)
  }

  /// Whether it is allowed, as far as that may be told.
  private func told(
    _ operation: AccessOperation, _ isAllowed: Bool, by entries: [AccessExplanation.Entry], _ subject: AccessSubject,
    _ stored: AccessSubject.StoredPart, tellsAll: Bool
  ) -> Bool? {
    if tellsAll || Self.decides(entries) { return isAllowed }
    guard stored == .value else { return nil }
    switch operation {
    // Asking for it tells as much.
    case .get: return isAllowed
    // What is there is in the list when it is visible. What is not there and what is hidden are told alike.
    case .list, .watch: return subject.exists && isAllowed
    default: return nil
    }
  }

  /// Whether the conditions that are known decide, whatever becomes of the others.
  private static func decides(_ entries: [AccessExplanation.Entry]) -> Bool {
    let unknown = entries.filter { $0.result == .unknown }
    let isDenied = entries.contains { $0.result == .denies || $0.result == .invalid }
    let isAllowed = entries.contains { $0.result == .allows }
    let mayBeAllowed = isAllowed || unknown.contains { !$0.condition.isGuard }
    let mayBeDenied = isDenied || unknown.contains { $0.condition.isGuard }
    return isDenied || !mayBeAllowed || (isAllowed && !mayBeDenied)
  }

  // MARK: Patterns

  /// Explains what of a pattern is visible, or whether an operation is allowed on all of it.
  ///
  /// - Parameter read: Reads properties that decide about others; nil when what they are may not be told.
  package func explain(
    _ operation: AccessOperation, of pattern: PathPattern, read: ((PropertyPath) -> JSONText?)?
  ) -> AccessExplanation {
    if isAdministrator {
      var explanation = AccessExplanation.administrator
      if operation.isReading { explanation.visibility = .whole }
      return explanation
    }
    var entries: [AccessExplanation.Entry] = []
    for rule in policy.rules where rule.match.pattern.overlaps(pattern) {
      var bindings = bindings(of: operation)
      var captures: [(name: String, text: String)] = []
      for (index, capture) in rule.match.captures.enumerated() {
        guard let text = CapturePattern.text(at: capture.place, ofAll: pattern) else { continue }
        captures.append((capture.name, text))
        bindings.bind(RuleVariables.captures + index, to: .string(text))
      }
      for (index, name) in rule.with.enumerated() {
        let path = name.template.path(identity) { capture in
          // What is no path has none.
          CapturePattern.text(at: rule.match.captures[capture].place, ofAll: pattern) ?? "*"
        }
        // What is allowed of demand is allowed for all time, whatever other properties are.
        guard let read, let path, operation.isReading else { continue }
        let slot = RuleVariables.captures + rule.match.captures.count + index
        if let text = read(path) { bindings.bind(slot, to: JSONTree(text)) } else { bindings.bind(slot, to: .null) }
      }
      bindings.withholdRest(of: rule)
      entries += self.entries(rule, operation, captures, bindings)
    }
    guard operation.isReading else {
      let isAllowed = allowsAll(operation, pattern)
      var explanation = explanation(isAllowed, operation, entries)
      if !isAllowed, entries.contains(where: { $0.result == .unknown }) {
        explanation.reason =
          "A subscription to demand has to be allowed for all that matches, whatever properties there are. The number of "
          + "watchers of one property is told where the condition holds now."
      }
      return explanation
    }
    var visibility = AccessExplanation.Visibility.nothing
    let scope = scope(operation, of: [pattern])
    if let scope {
      if let audience = scope.audience {
        visibility = audience.visibility(of: pattern, within: scope.patterns, read: read)
      } else {
        visibility = scope.patterns.contains { $0.covers(pattern) } ? .whole : .part(scope.patterns)
      }
    }
    var explanation = explanation(scope != nil, operation, entries)
    explanation.visibility = visibility
    switch visibility {
    case .whole: explanation.reason = "Whatever matches is visible."
    case .part(let patterns) where patterns != [pattern]:
      explanation.reason = "A part of it can be visible: \(patterns.map(\.description).joined(separator: ", "))."
    case .part: explanation.reason = "A part of it can be visible."
    case .nothing: explanation.reason = "Nothing of it is visible."
    }
    return explanation
  }

  // MARK: Conditions

  private func bindings(of operation: AccessOperation) -> Bindings {
    var bindings = Bindings()
    for (slot, value) in known { bindings.bind(slot, to: value) }
    bindings.bind(RuleVariables.operation, to: .string(operation.rawValue))
    if operation.isReading { bindings.bind(RuleVariables.oldValue, to: .null) }
    return bindings
  }

  /// What the conditions of a rule for an operation say.
  private func entries(
    _ rule: CompiledRule, _ operation: AccessOperation, _ captures: [(name: String, text: String)],
    _ bindings: Bindings
  ) -> [AccessExplanation.Entry] {
    let source = policy.source.rules[rule.number]
    // They were compiled in this order.
    let names = source.conditions.keys.sorted()
    var conditions = zip(names, rule.conditions).filter { $1.operations.contains(operation) }
      .map { ($0, $1.expression) }
    if let validate = rule.validate, operation == .set || operation == .send {
      conditions.append(("validate", validate))
    }
    return conditions.map { name, expression in
      var entry = AccessExplanation.Entry(
        rule: rule.number + 1, match: source.match, captures: captures, condition: name,
        because: expression.program.source,
        result: .unknown)
      (entry.result, entry.failure) = bindings.result(of: expression, name)
      for use in expression.uses {
        switch bindings.told(use) {
        case .value(let value): entry.values.append((use.subject.description, value))
        case .withheld: entry.withheld.append(use.subject.description)
        case .nothing: break
        }
      }
      return entry
    }
  }

  private func explanation(
    _ isAllowed: Bool?, _ operation: AccessOperation, _ entries: [AccessExplanation.Entry]
  ) -> AccessExplanation {
    let denying = entries.first { $0.result == .denies }
    let invalid = entries.first { $0.result == .invalid }
    let reason =
      switch isAllowed {
      case true?:
        if let allowing = entries.first(where: { $0.result == .allows }) {
          "Rule \(allowing.rule) allows it."
        } else {
          "It is allowed; by what depends on what may not be told."
        }
      case false?:
        if let denying {
          "Rule \(denying.rule) denies it\(denying.failure == nil ? "." : ", as its condition fails.")"
        } else if !entries.contains(where: { !$0.condition.isGuard }) {
          "No rule is about this operation on this path."
        } else if entries.contains(where: { $0.result == .unknown }) {
          "It is not allowed; by what depends on what may not be told."
        } else if !entries.contains(where: { $0.result == .allows }) {
          "No rule allows it."
        } else if let invalid {
          "Rule \(invalid.rule) does not take this value."
        } else {
          "No rule allows it."
        }
      case nil: "It depends on what may not be told."
      }
    var explanation = AccessExplanation(isAllowed: isAllowed, reason: reason)
    explanation.entries = Array(entries.prefix(AccessExplanation.mostEntries))
    explanation.more = entries.count - explanation.entries.count
    return explanation
  }
}

extension String {
  /// Whether it is the name of a condition that can only refuse.
  fileprivate var isGuard: Bool { self == "validate" || hasPrefix("deny-") }
}

/// What is known of the variables of conditions, and which of them may not be told.
private struct Bindings {
  enum Told {
    case value(JSONText)
    case withheld
    /// There is no such field, or no value.
    case nothing
  }

  private enum Binding {
    case value(CELValue)
    case tree(JSONTree)
  }

  private var bound: [Int: Binding] = [:]
  private var withheld: Set<Int> = []

  mutating func bind(_ slot: Int, to value: CELValue) { bound[slot] = .value(value) }
  mutating func bind(_ slot: Int, to tree: JSONTree) { bound[slot] = .tree(tree) }

  mutating func withhold(_ slot: Int) {
    bound[slot] = nil
    withheld.insert(slot)
  }

  /// All variables of a rule that are not known.
  mutating func withholdRest(of rule: CompiledRule) {
    for slot in rule.environment.variables.indices where bound[slot] == nil { withheld.insert(slot) }
  }

  /// A property, and what is written.
  mutating func bind(_ subject: AccessSubject) {
    bind(RuleVariables.path, to: .string("\(subject.path)"))
    bind(
      RuleVariables.segments,
      to: .list(subject.path.segments.map { .string(String(decoding: $0, as: UTF8.self)) }))
    for (slot, tree) in [(RuleVariables.value, subject.value), (RuleVariables.oldValue, subject.oldValue)] {
      if let tree { bind(slot, to: tree) } else { bind(slot, to: .null) }
    }
    bind(RuleVariables.exists, to: .bool(subject.exists))
    let (seconds, rest) = subject.milliseconds.quotientAndRemainder(dividingBy: 1000)
    let isBefore = rest < 0
    bind(
      RuleVariables.now,
      to: .timestamp(
        seconds: isBefore ? seconds - 1 : seconds, nanoseconds: Int32(isBefore ? rest + 1000 : rest) * 1_000_000))
  }

  /// What comes of a condition, and why it has no value.
  func result(
    of expression: CheckedExpression, _ name: String
  ) -> (AccessExplanation.Result, failure: String?) {
    let program = expression.program
    var activation = Activation()
    for (slot, binding) in bound {
      switch binding {
      case .value(let value): activation.bind(slot, to: value)
      case .tree(let tree): activation.bind(slot, to: tree)
      }
    }
    let denies = name.hasPrefix("deny-")
    switch program.match(activation) {
    case .yes: return (name == "validate" ? .valid : denies ? .denies : .allows, nil)
    case .no: return (name == "validate" ? .invalid : .nothing, nil)
    case .failed(let error):
      let variables = program.environment.variables
      if withheld.contains(where: { program.variables.contains(variables[$0].name) }) { return (.unknown, nil) }
      let sentence =
        error.reason == .unboundVariable
        ? "a property of 'with' has no path, as the caller lacks a claim" : error.reason.sentence
      return (name == "validate" ? .invalid : denies ? .denies : .nothing, "\(sentence), at byte \(error.position)")
    }
  }

  /// What may be told of something that a condition uses.
  func told(_ use: CheckedExpression.Use) -> Told {
    if withheld.contains(use.slot) { return .withheld }
    switch bound[use.slot] {
    case .value(let variable):
      guard let value = use.value(in: variable) else { return .nothing }
      let limits = JSONLimits(bytes: AccessExplanation.valueBytes)
      return value.json(limits: limits).map { .value($0) } ?? .withheld
    case .tree(let tree):
      var node = JSONTree.Node.root
      for field in use.subject.fields {
        guard tree.kind(of: node) == .object, let member = tree.member(field.span, of: node) else { return .nothing }
        node = member
      }
      return tree.range(of: node).count > AccessExplanation.valueBytes ? .withheld : .value(tree.text(of: node))
    case nil: return .nothing
    }
  }
}
