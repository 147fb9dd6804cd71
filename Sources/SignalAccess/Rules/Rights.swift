// SPDX-License-Identifier: MIT

import CEL
package import JSON
package import SignalStore

/// What rules can know of a request, besides who it is from: the variable `request`.
///
/// A class, so that passing it on with every command costs one reference, and nothing where no rule asks for it.
package final class RequestFacts: Hashable, Sendable {
  /// The numeric address of the client; nil on a Unix socket.
  package let address: String?
  /// The `Origin` of the page that asks; nil without one.
  package let origin: String?
  /// Whether the connection is encrypted.
  package let isEncrypted: Bool

  package init(address: String? = nil, origin: String? = nil, isEncrypted: Bool = false) {
    self.address = address
    self.origin = origin
    self.isEncrypted = isEncrypted
  }

  package static func == (left: RequestFacts, right: RequestFacts) -> Bool {
    left.address == right.address && left.origin == right.origin && left.isEncrypted == right.isEncrypted
  }

  package func hash(into hasher: inout Hasher) {
    hasher.combine(address)
    hasher.combine(origin)
    hasher.combine(isEncrypted)
  }

  var value: CELValue {
    .map([
      (.string("ip"), address.map { .string($0) } ?? .null), (.string("origin"), origin.map { .string($0) } ?? .null),
      (.string("tls"), .bool(isEncrypted)),
    ])
  }
}

/// What the rules leave of themselves for one caller.
///
/// The part of each condition that depends on the caller alone is calculated once, when a path or pattern first asks for
/// it: of many rules a caller needs few. Used by one thread at a time.
package final class Rights {
  /// Whether something is allowed.
  package enum Decision: Equatable {
    case allowed
    /// No rule allows it, or one denies it.
    case denied
    /// It would be allowed, but the value does not satisfy a rule, whose pattern this is.
    case invalid(String)
  }

  /// What is left of one rule for one operation.
  private final class Terms {
    let rule: Int
    var allow: [RuleTerm] = []
    var deny: [RuleTerm] = []
    /// What a value must satisfy; they match what the rule matches.
    var validate: [RuleTerm] = []
    /// Whether no value is valid.
    var isInvalid = false

    init(_ rule: CompiledRule) { self.rule = rule.number }
  }

  package let identity: Identity?
  /// Whether everything is allowed.
  package let isAdministrator: Bool
  /// Whether what the server counts may be seen.
  package let maySeeMetrics: Bool
  private let index: RuleIndex
  let known: [Int: CELValue]
  /// What is known of an operation besides, the last for which rules were calculated.
  private var knownOfOperation: (operation: AccessOperation, values: [Int: CELValue])?
  /// By the number of the operation, empty before it was asked for, and by that of the rule.
  private var terms: ContiguousArray<ContiguousArray<Terms?>>

  var policy: AccessPolicy { index.policy }

  package init(_ index: RuleIndex, _ identity: Identity?, _ request: RequestFacts? = nil) {
    self.index = index
    let policy = index.policy
    self.identity = identity
    let auth = identity.map { CELValue($0.auth) } ?? .null
    let request = policy.usesRequest ? (request ?? RequestFacts()).value : nil
    var known = [RuleVariables.auth: auth]
    known[RuleVariables.request] = request
    self.known = known
    terms = ContiguousArray(repeating: [], count: AccessOperation.allCases.count)
    func holds(_ condition: CheckedExpression?) -> Bool {
      guard case .value(.bool(true))? = condition?.residual(knowing: [0: auth, 1: request ?? .null]) else {
        return false
      }
      return true
    }
    isAdministrator = holds(policy.admin)
    maySeeMetrics = isAdministrator || holds(policy.metrics)
  }

  // MARK: Judging

  /// Whether an operation on a property is allowed.
  ///
  /// - Parameter read: Reads a property with the server's eyes, for conditions that depend on others.
  package func decide(
    _ operation: AccessOperation, _ subject: AccessSubject, read: (PropertyPath) -> JSONText?
  ) -> Decision {
    if isAdministrator { return .allowed }
    let path = subject.path
    let terms = terms(of: operation, on: path)
    func holds(_ term: RuleTerm) -> Bool? {
      var budget = Int.max
      return term.holds(for: subject, &budget, read)
    }
    guard terms.contains(where: { $0.allow.contains { $0.pattern.matches(path) && holds($0) == true } }),
      !terms.contains(where: { $0.deny.contains { $0.pattern.matches(path) && holds($0) != false } })
    else { return .denied }
    let invalid = terms.first { $0.isInvalid } ?? terms.first { $0.validate.contains { holds($0) != true } }
    return invalid.map { .invalid(policy.source.rules[$0.rule].match) } ?? .allowed
  }

  /// Whether a decision about this path may depend on what is there before the operation.
  package func dependsOnOld(_ operation: AccessOperation, _ path: PropertyPath) -> Bool {
    if isAdministrator { return false }
    return terms(of: operation, on: path).contains { terms in
      [terms.allow, terms.deny, terms.validate].contains { $0.contains { $0.usesOld && $0.pattern.matches(path) } }
    }
  }

  /// Whether an operation is allowed on every path of a pattern, whatever values there are.
  package func allowsAll(_ operation: AccessOperation, _ pattern: PathPattern) -> Bool {
    if isAdministrator { return true }
    let terms = terms(of: operation, within: [pattern])
    return terms.contains { $0.allow.contains { $0.program == nil && $0.pattern.covers(pattern) } }
      && !terms.contains { $0.deny.contains { $0.pattern.overlaps(pattern) } }
  }

  /// Whether an operation on a property is allowed now whatever its value is, and was, and will be.
  ///
  /// Other properties may decide: they are asked now.
  ///
  /// - Parameter read: Reads a property with the server's eyes.
  package func allowsAnyValue(
    _ operation: AccessOperation, _ path: PropertyPath, at time: Timestamp, read: (PropertyPath) -> JSONText?
  ) -> Bool {
    if isAdministrator { return true }
    let terms = terms(of: operation, on: path)
    // No term that is evaluated uses the value.
    let subject = AccessSubject(reading: path, nil, at: time)
    func holds(_ term: RuleTerm) -> Bool? {
      var budget = Int.max
      return term.holds(for: subject, &budget, read)
    }
    return terms.contains { terms in
      terms.allow.contains { $0.pattern.matches(path) && !$0.usesProperty && holds($0) == true }
    }
      && !terms.contains { terms in
        terms.deny.contains { $0.pattern.matches(path) && ($0.usesProperty || holds($0) != false) }
      }
  }

  // MARK: Seeing

  /// What is visible of properties by their patterns: narrower ones, and who may see them; nil for the audience when
  /// whatever matches them is visible.
  ///
  /// - Returns: nil when nothing can be visible.
  package func scope(
    _ operation: AccessOperation, of patterns: [PathPattern]
  ) -> (patterns: [PathPattern], audience: Audience?)? {
    if isAdministrator { return (patterns, nil) }
    let terms = terms(of: operation, within: patterns)
    let (allowed, denied) = (terms.flatMap(\.allow), terms.flatMap(\.deny))
    var narrowed: [PathPattern] = []
    func add(_ pattern: PathPattern) { if !narrowed.contains(pattern) { narrowed.append(pattern) } }
    for pattern in patterns {
      let relevant = allowed.filter { $0.pattern.overlaps(pattern) }
      guard relevant.count <= Rights.narrowedPatterns else {
        add(pattern)
        continue
      }
      // The smaller of the two, when one contains the other. Otherwise that of the caller, which is judged.
      for term in relevant {
        add(term.pattern.covers(pattern) ? pattern : pattern.covers(term.pattern) ? term.pattern : pattern)
      }
    }
    // What another one contains need not be looked for by itself.
    narrowed = narrowed.filter { [narrowed] one in !narrowed.contains { $0 != one && $0.covers(one) } }
    guard !narrowed.isEmpty else { return nil }
    let allow = allowed.filter { term in narrowed.contains { $0.overlaps(term.pattern) } }
    let deny = denied.filter { term in narrowed.contains { $0.overlaps(term.pattern) } }
    let isAll =
      deny.isEmpty && narrowed.allSatisfy { one in allow.contains { $0.program == nil && $0.pattern.covers(one) } }
    return (narrowed, isAll ? nil : Audience(allow: allow, deny: deny))
  }

  /// The patterns that one of a subscription can become at most; with more, it stays as it is.
  private static let narrowedPatterns = 64

  // MARK: Calculating

  /// What is left of the rules that match a path, in their order; nothing is allocated when it is known.
  private func terms(of operation: AccessOperation, on path: PropertyPath) -> LazyMapSequence<[Int], Terms> {
    index.rules(matching: path).lazy.map { self.terms(of: operation, $0) }
  }

  /// What is left of the rules that match something of what a pattern matches, in their order.
  private func terms(of operation: AccessOperation, within patterns: [PathPattern]) -> [Terms] {
    index.rules(within: patterns).map { terms(of: operation, $0) }
  }

  private func terms(of operation: AccessOperation, _ number: Int) -> Terms {
    if terms[operation.number].isEmpty {
      terms[operation.number] = ContiguousArray(repeating: nil, count: policy.rules.count)
    }
    if let known = terms[operation.number][number] { return known }
    let found = calculated(operation, policy.rules[number])
    terms[operation.number][number] = found
    return found
  }

  private func calculated(_ operation: AccessOperation, _ rule: CompiledRule) -> Terms {
    let terms = Terms(rule)
    let known = known(of: operation)
    for condition in rule.conditions where condition.operations.contains(operation) {
      let found = residuals(rule, condition.expression, known)
      if condition.denies {
        terms.deny += found.terms + found.failing
      } else {
        terms.allow += found.terms
      }
    }
    if let validate = rule.validate, operation == .set || operation == .send {
      switch validate.residual(knowing: known) {
      case .value(.bool(true)): break
      case .program(let program, let key):
        terms.validate.append(RuleTerm(rule, pattern: rule.match.pattern, program, key: key, identity: identity))
      case .value, .failed: terms.isInvalid = true
      }
    }
    return terms
  }

  /// What conditions know of an operation, whatever it is about.
  private func known(of operation: AccessOperation) -> [Int: CELValue] {
    if let last = knownOfOperation, last.operation == operation { return last.values }
    var values = known
    values[RuleVariables.operation] = .string(operation.rawValue)
    if operation.isReading { values[RuleVariables.oldValue] = .null }
    knownOfOperation = (operation, values)
    return values
  }

  /// What is left of a condition, nothing when it is false, and where it fails.
  ///
  /// A condition that holds only for one text of a capture becomes a pattern with that text: `auth.sub == id` on
  /// `users/{id}/**` is `users/ann/**`.
  private func residuals(
    _ rule: CompiledRule, _ expression: CheckedExpression, _ known: [Int: CELValue]
  ) -> (terms: [RuleTerm], failing: [RuleTerm]) {
    var terms: [RuleTerm] = []
    var failing: [RuleTerm] = []
    var open: [(texts: [String], known: [Int: CELValue])] = [(rule.match.texts, known)]
    while let (texts, known) = open.popLast() {
      let program: Program
      let programKey: [UInt8]
      switch expression.residual(knowing: known) {
      case .value(.bool(false)): continue
      case .value(.bool(true)):
        if let term = term(rule, texts, nil, []) { terms.append(term) }
        continue
      case .value, .failed:
        if let term = term(rule, texts, nil, []) { failing.append(term) }
        continue
      case .program(let rest, let key): (program, programKey) = (rest, key)
      }
      if let (capture, choices) = choice(program, rule.match, known), terms.count + open.count + choices.count <= 256 {
        for text in choices {
          guard let narrowed = rule.match.segments(texts, where: capture, is: text) else { continue }
          var known = known
          known[RuleVariables.captures + capture] = .string(text)
          open.append((narrowed, known))
        }
      } else if let term = term(rule, texts, program, programKey) {
        terms.append(term)
      }
    }
    return (terms, failing)
  }

  private func term(
    _ rule: CompiledRule, _ texts: [String], _ program: Program?, _ key: [UInt8]
  ) -> RuleTerm? {
    // Most are not narrowed; and one that is longer than paths can be matches none.
    let pattern =
      texts == rule.match.texts
      ? rule.match.pattern : try? PathPattern(texts.joined(separator: "/"), limits: policy.paths)
    return pattern.map { RuleTerm(rule, pattern: $0, program, key: key, identity: identity) }
  }

  /// A capture that has one of a few texts wherever the program is true.
  private func choice(
    _ program: Program, _ match: CapturePattern, _ known: [Int: CELValue]
  ) -> (capture: Int, texts: [String])? {
    for conjunct in program.conjuncts where conjunct.subject.fields.isEmpty {
      guard let capture = match.captures.firstIndex(where: { $0.name == conjunct.subject.variable }),
        match.isSingle(capture), known[RuleVariables.captures + capture] == nil
      else { continue }
      switch conjunct.test {
      case .equal(.text(let text)): return (capture, [String(decoding: text, as: UTF8.self)])
      case .isIn(let scalars):
        return (
          capture,
          scalars.compactMap { if case .text(let text) = $0 { String(decoding: text, as: UTF8.self) } else { nil } }
        )
      default: continue
      }
    }
    return nil
  }
}
